# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Size of log and recorder with many threads, live blocks and allocations: a short form, and one as large as
# is promised (256 threads, a million live blocks, ten million allocations).
if(NOT TARGET libomptier_preload OR NOT TARGET libomptier_ompt)
  return()
endif()
omptier_test_program(record_capacity/program ${OMPTIER_TEST_GCC} record_capacity.c -fno-builtin -lpthread)
function(record_capacity_case name labels threads live allocations)
  omptier_record_test(record-capacity.${name} record_capacity.py TIMEOUT 900 LABELS ${labels}
                      --program ${CMAKE_BINARY_DIR}/tests/record_capacity/program
                      --threads ${threads} --live ${live} --allocations ${allocations})
endfunction()
add_test(NAME conformance.record-capacity.stacks
         COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/record_capacity_stacks.py
                 --omptier ${CMAKE_BINARY_DIR}/bin/omptier --program ${record_capacity_folder}/program
                 --stacks 200000)
set_tests_properties(conformance.record-capacity.stacks PROPERTIES TIMEOUT 300 LABELS conformance)
record_capacity_case(short conformance 64 100000 200000)
record_capacity_case(full soak 256 1000000 10000000)
