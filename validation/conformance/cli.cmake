# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The omptier command says what it does not do, and refuses what it cannot.
if(NOT TARGET libomp OR NOT TARGET libomptier_preload OR NOT TARGET libomptier_ompt)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
foreach(case IN ITEMS plan strategy online profile exact advise explain whatif diff time joined running check values)
  omptier_record_test(cli.${case} cli.py ${case} --clang ${OMPTIER_TEST_CLANG} --gcc ${OMPTIER_TEST_GCC}
                      TIMEOUT 60 TEST BESIDE)
endforeach()
