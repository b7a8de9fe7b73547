# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# omptier record of small blocks.
if(NOT TARGET libomp OR NOT TARGET libomptier_preload OR NOT TARGET libomptier_ompt)
  return()
endif()
omptier_test_program(record_small ${OMPTIER_TEST_GXX} record_small.cpp -fno-builtin -pthread)
foreach(case IN ITEMS rows memory temporaries threads resized forked ending)
  omptier_record_test(record-small.${case} record_small.py ${case} --program ${CMAKE_BINARY_DIR}/tests/record_small)
endforeach()
