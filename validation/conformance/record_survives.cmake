# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Programs that a recorder could stumble over: they end as without it, and leave a profile that can be read.
if(NOT TARGET libomptier_preload OR NOT TARGET libomptier_ompt)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(record_survives ${CMAKE_BINARY_DIR}/tests/record_survives)
set(record_survives_malloc ${CMAKE_BINARY_DIR}/tests/librecord_survives_malloc.so)
set(record_survives_library ${CMAKE_BINARY_DIR}/tests/librecord_survives_library.so)
set(record_joined ${CMAKE_BINARY_DIR}/tests/record_joined)
set(record_joined_library ${CMAKE_BINARY_DIR}/tests/librecord_joined.so)
add_custom_command(
  OUTPUT ${record_survives} ${record_survives_malloc} ${record_survives_library} ${record_joined}
         ${record_joined_library}
  COMMAND ${OMPTIER_TEST_GCC} -O1 -g -Wall -Wextra -fno-builtin -Wl,--build-id=none
          ${CMAKE_CURRENT_LIST_DIR}/record_survives.c -o ${record_survives} -lpthread -ldl
          -Wl,-rpath,${CMAKE_BINARY_DIR}/tests
  COMMAND ${OMPTIER_TEST_GCC} -O1 -Wall -Wextra -fno-builtin -shared -fPIC
          ${CMAKE_CURRENT_LIST_DIR}/record_survives_malloc.c -o ${record_survives_malloc}
  COMMAND ${OMPTIER_TEST_GCC} -O1 -Wall -Wextra -shared -fPIC
          ${CMAKE_CURRENT_LIST_DIR}/record_survives_library.c -o ${record_survives_library} -lpthread
  COMMAND ${OMPTIER_TEST_GCC} -O1 -Wall -Wextra -fno-builtin -shared -fPIC -DLIBRARY
          ${CMAKE_CURRENT_LIST_DIR}/record_joined.c -o ${record_joined_library} -lpthread
  COMMAND ${OMPTIER_TEST_GCC} -O1 -Wall -Wextra ${CMAKE_CURRENT_LIST_DIR}/record_joined.c -o ${record_joined}
          ${record_joined_library}
  DEPENDS ${CMAKE_CURRENT_LIST_DIR}/record_survives.c ${CMAKE_CURRENT_LIST_DIR}/record_survives_malloc.c
          ${CMAKE_CURRENT_LIST_DIR}/record_survives_library.c ${CMAKE_CURRENT_LIST_DIR}/record_joined.c
  COMMENT "record_survives" VERBATIM)
add_custom_target(record_survives ALL DEPENDS ${record_survives} ${record_survives_malloc}
                  ${record_survives_library} ${record_joined})
# record_survives_case(<name> [PROGRAM file] [HOLDS Python expression of the report] [ENVIRONMENT …])
function(record_survives_case name)
  cmake_parse_arguments(ARG "" "PROGRAM;HOLDS;ENVIRONMENT" "" ${ARGN})
  set(profile ${CMAKE_BINARY_DIR}/tests/record_survives-${name}.profile)
  if(NOT ARG_PROGRAM)
    set(ARG_PROGRAM ${record_survives})
  endif()
  if(NOT ARG_HOLDS)
    set(ARG_HOLDS True)
  endif()
  string(CONCAT judge "import json, sys; report = json.load(sys.stdin); "
                      "objects = sum(site['objects'] for site in report['sites']); assert ${ARG_HOLDS}, report")
  omptier_test(conformance.record-survives.${name}
    COMMAND sh -c "\"$0\" record -o \"$1\" -- \"$2\" ${name} && \"$0\" report --json \"$1\" | \"$3\" -c \"$4\""
            ${CMAKE_BINARY_DIR}/bin/omptier ${profile} ${ARG_PROGRAM} ${Python3_EXECUTABLE} "${judge}"
    TIMEOUT 60 LABELS conformance ENVIRONMENT ${ARG_ENVIRONMENT})
endfunction()
# Neither allocates what is told.
record_survives_case(descriptors)
record_survives_case(threads-of-constructor)
record_survives_case(loaders-lock HOLDS "objects > 1000")
record_survives_case(cancelled HOLDS "objects == 20000")
record_survives_case(child HOLDS "objects == 10000")
record_survives_case(small-stack HOLDS "objects >= 128")
record_survives_case(frame-pointer HOLDS "objects >= 1")
record_survives_case(own-sbrk HOLDS "objects == 300")
record_survives_case(short-threads HOLDS "1000 < report['small_objects']['objects'] < 5000")
record_survives_case(sizes-untold ENVIRONMENT LD_PRELOAD=${record_survives_malloc})
record_survives_case(unmapping-malloc ENVIRONMENT LD_PRELOAD=${record_survives_malloc})
record_survives_case(signals ENVIRONMENT OMPTIER_EVENTS=timer)
record_survives_case(joined-at-fork PROGRAM ${record_joined})
record_survives_case(freed-by-handle HOLDS "objects > 90000")
