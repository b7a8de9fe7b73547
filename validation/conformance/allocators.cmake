# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Allocators on the patched runtime, on this machine; validation/virtual/allocators.cmake runs the same
# program where there are several kinds of memory. NUMA node 0 of the machine is taken for DRAM.
if(NOT TARGET libomp OR NOT TARGET libomptier)
  return()
endif()
omptier_openmp_program(allocators_cases SOURCE allocators_cases.c DEPENDS allocators_cases.h)

function(allocators_case name)
  omptier_test(conformance.allocators.${name} COMMAND ${allocators_cases} ${name} dram=0
               BESIDE TIMEOUT 60 LABELS conformance ENVIRONMENT KMP_WARNINGS=1)
endfunction()
foreach(name IN ITEMS required lacking semantics threads)
  allocators_case(${name})
endforeach()

omptier_openmp_program(allocators_pairs SOURCE allocators_pairs.c)
omptier_test(conformance.pair-cost
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/allocators_cost.py --program ${allocators_pairs}
  BESIDE TIMEOUT 120 LABELS conformance)

omptier_openmp_program(offload_free SOURCE offload_free.c FLAGS -rdynamic)
omptier_test(conformance.offload-free COMMAND ${offload_free} BESIDE TIMEOUT 60 LABELS conformance
  ENVIRONMENT OMPTIER_CAPACITY=nvm:0)
