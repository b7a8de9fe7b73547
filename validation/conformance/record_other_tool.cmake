# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Recording beside another OMPT tool. Archer comes with clang's OpenMP package.
if(NOT TARGET record_cases)
  return()
endif()
set(other_tool_client ${CMAKE_BINARY_DIR}/tests/libother_tool_client.so)
set(other_tool_races ${CMAKE_BINARY_DIR}/tests/other_tool_races)
add_custom_command(
  OUTPUT ${other_tool_client}
  COMMAND ${OMPTIER_TEST_CLANG} -std=gnu11 -O2 -Wall -Wextra -shared -fPIC
          -idirafter ${OMPTIER_OMPT_HEADER} ${CMAKE_CURRENT_LIST_DIR}/record_other_tool_client.c
          -o ${other_tool_client}
  DEPENDS ${CMAKE_CURRENT_LIST_DIR}/record_other_tool_client.c libomp VERBATIM)
add_custom_command(
  OUTPUT ${other_tool_races}
  COMMAND ${OMPTIER_TEST_CLANG} -std=gnu11 -O1 -g -fopenmp -fsanitize=thread
          ${CMAKE_CURRENT_LIST_DIR}/record_other_tool_races.c -o ${other_tool_races}
  DEPENDS ${CMAKE_CURRENT_LIST_DIR}/record_other_tool_races.c VERBATIM)
add_custom_target(other_tool_cases ALL DEPENDS ${other_tool_client} ${other_tool_races})
foreach(case IN ITEMS tracer declines archer)
  omptier_record_test(other_tool.${case} record_other_tool.py ${case} --program ${record_cases}
                      --client ${other_tool_client} --races ${other_tool_races})
endforeach()
