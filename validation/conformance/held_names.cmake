# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Profiles hold their names: what a report says does not depend on the program's files.
if(NOT TARGET libomp OR NOT TARGET libomptier_preload OR NOT TARGET libomptier_ompt)
  return()
endif()
find_program(OMPTIER_TEST_GFORTRAN NAMES gfortran-12 gfortran REQUIRED)
# held_names_test(<name> <case> <compiler> <source>)
function(held_names_test name case compiler source)
  omptier_record_test(held-names.${name} held_names.py TIMEOUT 120
                      ${case} --compiler ${compiler} --source ${CMAKE_CURRENT_LIST_DIR}/${source} TEST BESIDE)
endfunction()
held_names_test(gcc moved ${OMPTIER_TEST_GCC} held_names_cases.c)
held_names_test(clang moved ${OMPTIER_TEST_CLANG} held_names_cases.c)
held_names_test(gfortran moved ${OMPTIER_TEST_GFORTRAN} held_names_cases.f90)
held_names_test(ends ends ${OMPTIER_TEST_GCC} held_names_cases.c)
held_names_test(full full ${OMPTIER_TEST_GCC} held_names_cases.c)
