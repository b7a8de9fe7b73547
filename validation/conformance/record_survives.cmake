# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Programs that a recorder could stumble over: they end as without it, and leave a profile that can be read.
if(NOT TARGET libomptier_preload OR NOT TARGET libomptier_ompt)
  return()
endif()
set(record_survives ${CMAKE_BINARY_DIR}/tests/record_survives)
add_custom_command(
  OUTPUT ${record_survives}
  COMMAND ${OMPTIER_TEST_GCC} -O1 -g -Wall -Wextra -fno-builtin -Wl,--build-id=none
          ${CMAKE_CURRENT_LIST_DIR}/record_survives.c -o ${record_survives} -lpthread
  DEPENDS ${CMAKE_CURRENT_LIST_DIR}/record_survives.c
  COMMENT "record_survives" VERBATIM)
add_custom_target(record_survives ALL DEPENDS ${record_survives})
foreach(case IN ITEMS loaders-lock cancelled child small-stack frame-pointer)
  set(profile ${CMAKE_BINARY_DIR}/tests/record_survives-${case}.profile)
  add_test(NAME conformance.record-survives.${case}
           COMMAND sh -c "\"$0\" record -o \"$1\" -- \"$2\" ${case} && exec \"$0\" report --json \"$1\""
                   ${CMAKE_BINARY_DIR}/bin/omptier ${profile} ${record_survives})
  set_tests_properties(conformance.record-survives.${case} PROPERTIES TIMEOUT 60 LABELS conformance)
endforeach()
