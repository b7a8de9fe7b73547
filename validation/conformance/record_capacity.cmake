# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Size of log and recorder with many threads, live blocks and allocations: a short form, and one as large as
# is promised (256 threads, a million live blocks, ten million allocations). With many call stacks, with many mappings.
if(NOT TARGET libomptier_preload OR NOT TARGET libomptier_ompt)
  return()
endif()
foreach(suffix IN ITEMS "" _mappings)
  omptier_test_program(record_capacity/program${suffix} ${OMPTIER_TEST_GCC} record_capacity${suffix}.c
                       -fno-builtin -lpthread)
endforeach()
set(record_capacity_program ${CMAKE_BINARY_DIR}/tests/record_capacity/program)
function(record_capacity_case name labels threads live allocations)
  omptier_record_test(record-capacity.${name} record_capacity.py TIMEOUT 900 LABELS ${labels}
                      --program ${record_capacity_program}
                      --threads ${threads} --live ${live} --allocations ${allocations})
endfunction()
record_capacity_case(short conformance 64 100000 200000)
record_capacity_case(full soak 256 1000000 10000000)
omptier_record_test(record-capacity.stacks record_capacity_stacks.py
                    --program ${record_capacity_program} --stacks 200000)
omptier_record_test(record-capacity.mappings record_capacity_mappings.py
                    --program ${record_capacity_program}_mappings)
