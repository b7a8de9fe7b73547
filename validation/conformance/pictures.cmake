# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The pages of omptier report --html and diff --html, in a browser; one of its programs is record_phases.cmake's.
if(NOT TARGET libomp OR NOT TARGET libomptier_preload OR NOT TARGET libomptier_ompt)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
foreach(case IN ITEMS phases ranks many compared unsampled refused)
  omptier_record_test(pictures.${case} pictures.py ${case} --gcc ${OMPTIER_TEST_GCC}
                      --phases ${CMAKE_BINARY_DIR}/tests/record_phases/clang TIMEOUT 60 TEST SKIP_RETURN_CODE 77)
endforeach()
