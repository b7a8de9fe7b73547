# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Placement per region, end to end: alternating is recorded, advised, run with its pages moved when its
# regions begin, and compared with both placements that are fixed for the whole run. Wants the
# processors for itself.
if(TARGET omptier_time_model)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  omptier_test(virtual.phases
    COMMAND ${Python3_EXECUTABLE} ${OMPTIER_SOURCE_DIR}/benchmarks/alternating/alternating.py --proof
            --build ${CMAKE_BINARY_DIR} --folder ${CMAKE_BINARY_DIR}/tests/alternating
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR} TIMEOUT 180 LABELS virtual)
endif()
