# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Size of log and recorder with many threads, live blocks and allocations: a short form, and one as large as
# is promised (256 threads, a million live blocks, ten million allocations).
if(NOT TARGET libomptier_preload OR NOT TARGET libomptier_ompt)
  return()
endif()
set(record_capacity_folder ${CMAKE_BINARY_DIR}/tests/record_capacity)
add_custom_command(OUTPUT ${record_capacity_folder}/program
  COMMAND ${CMAKE_COMMAND} -E make_directory ${record_capacity_folder}
  COMMAND ${OMPTIER_TEST_GCC} -O2 -g -Wall -Wextra -fno-builtin ${CMAKE_CURRENT_LIST_DIR}/record_capacity.c
          -o ${record_capacity_folder}/program -lpthread
  DEPENDS ${CMAKE_CURRENT_LIST_DIR}/record_capacity.c COMMENT "record_capacity" VERBATIM)
add_custom_target(record_capacity_program ALL DEPENDS ${record_capacity_folder}/program)
function(record_capacity_case name labels threads live allocations)
  add_test(NAME conformance.record-capacity.${name}
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/record_capacity.py
                   --omptier ${CMAKE_BINARY_DIR}/bin/omptier --program ${record_capacity_folder}/program
                   --threads ${threads} --live ${live} --allocations ${allocations})
  set_tests_properties(conformance.record-capacity.${name} PROPERTIES TIMEOUT 900 LABELS "${labels}")
endfunction()
add_test(NAME conformance.record-capacity.stacks
         COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/record_capacity_stacks.py
                 --omptier ${CMAKE_BINARY_DIR}/bin/omptier --program ${record_capacity_folder}/program
                 --stacks 200000)
set_tests_properties(conformance.record-capacity.stacks PROPERTIES TIMEOUT 300 LABELS conformance)
record_capacity_case(short conformance 64 100000 200000)
record_capacity_case(full soak 256 1000000 10000000)
