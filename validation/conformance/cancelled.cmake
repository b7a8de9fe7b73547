# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# omp_alloc and malloc are no points where a thread is cancelled. See cancelled.c.
if(NOT TARGET libomp OR NOT TARGET libomptier_preload)
  return()
endif()
omptier_openmp_program(cancelled SOURCE cancelled.c)
set(cancelled_prints "^came back, then cancelled, 2 of 2 blocks placed")
omptier_test(conformance.cancelled.omp-alloc COMMAND ${cancelled} omp_alloc
  BESIDE TIMEOUT 60 LABELS conformance PRINTS "${cancelled_prints}")
omptier_test(conformance.cancelled.malloc
  COMMAND ${CMAKE_BINARY_DIR}/bin/omptier run --strategy only-dram -- ${cancelled} malloc
  BESIDE TIMEOUT 60 LABELS conformance PRINTS "${cancelled_prints}")
