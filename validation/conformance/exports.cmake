# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What omptier report prints for other tools: collapsed stacks, trace events, a data frame; and two
# profiles side by side. The tools themselves are fetched for ./test --all only.
if(NOT TARGET libomp OR NOT TARGET libomptier_preload OR NOT TARGET libomptier_ompt OR NOT TARGET libomptier_exact)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
foreach(case IN ITEMS flame trace csv refused)
  omptier_record_test(exports.${case} exports.py ${case} --clang ${OMPTIER_TEST_CLANG} TIMEOUT 60 TEST BESIDE)
endforeach()
omptier_record_test(exports.viewers exports.py viewers --clang ${OMPTIER_TEST_CLANG} TIMEOUT 300 LABELS "conformance;all"
                    TEST SKIP_RETURN_CODE 77)
foreach(case IN ITEMS changed same rebuilt refused)
  omptier_record_test(diff-profiles.${case} diff_profiles.py ${case} --gcc ${OMPTIER_TEST_GCC} TIMEOUT 60 TEST BESIDE)
endforeach()
