# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Accesses per second, and shares of accesses between loops of different speed.
if(NOT TARGET libomp OR NOT TARGET libomptier_preload OR NOT TARGET libomptier_ompt)
  return()
endif()
foreach(compiler IN ITEMS GCC CLANG)
  string(TOLOWER ${compiler} name)
  omptier_test_program(record_rates/${name} ${OMPTIER_TEST_${compiler}} record_rates.c)
  omptier_record_test(record-rates.${name} record_rates.py TIMEOUT 240
                      --program ${CMAKE_BINARY_DIR}/tests/record_rates/${name})
  omptier_test_program(record_rates/runs-${name} ${OMPTIER_TEST_${compiler}} record_rates_runs.c)
  omptier_record_test(record-rates.runs-${name} record_rates_runs.py TIMEOUT 240
                      --program ${CMAKE_BINARY_DIR}/tests/record_rates/runs-${name})
endforeach()
