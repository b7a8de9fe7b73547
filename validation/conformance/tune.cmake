# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# omptier tune measures programs under plans. See tune.py.
if(NOT TARGET libomp OR NOT TARGET libomptier_preload OR NOT TARGET libomptier_ompt)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
foreach(case IN ITEMS best again failures refusals interrupted)
  omptier_record_test(tune.${case} tune.py ${case} --gcc ${OMPTIER_TEST_GCC} TIMEOUT 60 TEST BESIDE)
endforeach()
