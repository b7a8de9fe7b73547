# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# omptier record of a vector that grows, by both compilers, on our runtime and on those of the distribution.
if(NOT TARGET libomp OR NOT TARGET libomptier_preload OR NOT TARGET libomptier_ompt)
  return()
endif()
find_program(OMPTIER_TEST_CLANGXX NAMES clang++-19 REQUIRED)
omptier_test_program(record_growth/gcc ${OMPTIER_TEST_GXX} record_growth.cpp -fopenmp)
omptier_test_program(record_growth/clang ${OMPTIER_TEST_CLANGXX} record_growth.cpp -fopenmp)
function(record_growth_case name program)
  omptier_record_test(record-growth.${name} record_growth.py TIMEOUT 120
                      --program ${CMAKE_BINARY_DIR}/tests/record_growth/${program}
                      --xml ${CMAKE_CURRENT_LIST_DIR}/../fixtures/machines/dram-hbm-nvm.xml ${ARGN})
endfunction()
record_growth_case(gcc gcc)
record_growth_case(debian-libomp clang --runtime own --stock /usr/lib/llvm-19/lib)
