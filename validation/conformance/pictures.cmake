# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The page of omptier report --html, in a browser.
if(NOT TARGET libomp OR NOT TARGET libomptier_preload OR NOT TARGET libomptier_ompt OR NOT TARGET record_phases)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
foreach(case IN ITEMS phases ranks many refused)
  omptier_record_test(pictures.${case} pictures.py ${case} --gcc ${OMPTIER_TEST_GCC}
                      --phases ${record_phases_folder}/clang TIMEOUT 60 TEST BESIDE SKIP_RETURN_CODE 77)
endforeach()
