# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# omptier record and report, end to end on this machine, with the patched runtime.
if(NOT TARGET libomp OR NOT TARGET libomptier OR NOT TARGET libomptier_ompt)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(record_cases ${CMAKE_BINARY_DIR}/tests/record_cases)
add_custom_command(
  OUTPUT ${record_cases}
  COMMAND ${OMPTIER_TEST_CLANG} -std=gnu11 -O2 -g -Wall -Wextra -fopenmp
          -I${CMAKE_BINARY_DIR}/include-omp ${CMAKE_CURRENT_LIST_DIR}/record_cases.c
          -o ${record_cases}
  DEPENDS ${CMAKE_CURRENT_LIST_DIR}/record_cases.c libomp
  COMMENT "record_cases" VERBATIM)
add_custom_target(record_cases ALL DEPENDS ${record_cases})
foreach(case IN ITEMS objects regions waiting ends faults alone)
  omptier_record_test(record.${case} record.py ${case} --program ${record_cases})
endforeach()
omptier_test_program(record_regions ${OMPTIER_TEST_GXX} record_regions.cpp -fopenmp)
omptier_record_test(record.region-names record.py region_names --program ${CMAKE_BINARY_DIR}/tests/record_regions)
