# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Moves at barriers on nodes that are there (validation/conformance/barriers_cases.c): its plan names barriers by
# function and callee. Then alternating with both visits in one region, advised and run, as in virtual.phases.
if(NOT TARGET barriers_runtime)
  return()
endif()
set(barriers_run env OMPTIER_VERBOSE=1 ${CMAKE_BINARY_DIR}/bin/omptier run --capacity hbm:10M
    --plan ${OMPTIER_SOURCE_DIR}/validation/conformance/barriers.plan
    -- ${CMAKE_BINARY_DIR}/tests/barriers/clang/barriers_cases 40 300) # moving takes longer there
omptier_machine_test(barriers.moves MACHINE dram-hbm-nvm COMMAND ${barriers_run} TEST BESIDE
  PRINTS "in place [23][0-9] and [23][0-9] of 40\n[^\n]*\nvalues right")
if(TARGET omptier_time_model)
  omptier_test(virtual.barriers.advised
    COMMAND ${Python3_EXECUTABLE} ${OMPTIER_SOURCE_DIR}/benchmarks/alternating/alternating.py --proof --barriers
            --sweeps 24 # longer visits: moving is clearly better than an array and a quarter
            --build ${CMAKE_BINARY_DIR} --folder ${CMAKE_BINARY_DIR}/tests/alternating-barriers
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR} TIMEOUT 180 LABELS virtual)
endif()
