# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# How a test is declared: one function for all of them, and one for each kind of program under test
# that calls it. A test says where it is declared what may run beside it. Who says nothing runs
# alone: nearly everything here measures something (times, samples, rates, memory in use), or starts
# as many threads as there are processors.

# omptier_test(<name> COMMAND … [BESIDE] [RESOURCE_LOCK …] [PROCESSORS n] [COST seconds]
#              [TIMEOUT seconds] [LABELS …] [ENVIRONMENT A=b …] [WORKING_DIRECTORY folder]
#              [SKIP_RETURN_CODE status] [PRINTS regular expression])
#   BESIDE         others may run at the same time: it measures nothing that load changes, and keeps
#                  its files in a folder of its own
#   RESOURCE_LOCK  what it shares with some tests only: those run one after the other
#   PROCESSORS     how many it keeps busy
#   COST           seconds of a long one: the longest begin first, so that no processor waits for one
#                  of them at the end
#   TIMEOUT        on a quiet machine with two processors; others are given three times that
#   PRINTS         what its output must match, beside an exit status of 0
# The rest is ctest's own. Labels are those of the kind of test: unit, conformance, virtual; with all
# or soak beside them it runs in that form of ./test only.
function(omptier_test name)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "BESIDE"
                        "TIMEOUT;COST;PROCESSORS;WORKING_DIRECTORY;SKIP_RETURN_CODE;PRINTS"
                        "COMMAND;LABELS;ENVIRONMENT;RESOURCE_LOCK")
  if(ARG_UNPARSED_ARGUMENTS OR NOT ARG_COMMAND)
    message(FATAL_ERROR "${name}: no COMMAND, or not understood: ${ARG_UNPARSED_ARGUMENTS}")
  endif()
  if(DEFINED ARG_PRINTS)
    list(PREPEND ARG_COMMAND ${OMPTIER_SOURCE_DIR}/validation/prints "${ARG_PRINTS}")
  endif()
  set(directory)
  if(ARG_WORKING_DIRECTORY)
    set(directory WORKING_DIRECTORY ${ARG_WORKING_DIRECTORY})
  endif()
  add_test(NAME ${name} COMMAND ${ARG_COMMAND} ${directory})
  if(ARG_TIMEOUT)
    math(EXPR ARG_TIMEOUT "${ARG_TIMEOUT} * 3")
  endif()
  set(alone ON)
  if(ARG_BESIDE)
    set(alone OFF)
  endif()
  set_tests_properties(${name} PROPERTIES RUN_SERIAL ${alone})
  foreach(property IN ITEMS TIMEOUT COST PROCESSORS SKIP_RETURN_CODE LABELS ENVIRONMENT RESOURCE_LOCK)
    if(DEFINED ARG_${property})
      set_tests_properties(${name} PROPERTIES ${property} "${ARG_${property}}")
    endif()
  endforeach()
  set_property(GLOBAL APPEND PROPERTY OMPTIER_TESTS ${name})
endfunction()

# A GoogleTest program, test "unit.<area>":
# omptier_unit_test(<area> SOURCES a_test.cpp … LINK … [TEST options of omptier_test…])
# Sources are named relative to the file that declares the test.
function(omptier_unit_test area)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;TEST" ${ARGN})
  list(TRANSFORM ARG_SOURCES PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
  add_executable(unit_${area} ${ARG_SOURCES})
  target_link_libraries(unit_${area} PRIVATE omptier_flags ${ARG_LINK} GTest::gtest GTest::gtest_main)
  target_compile_options(unit_${area} PRIVATE ${OMPTIER_LINES_ONLY})
  omptier_join_sources(unit_${area})
  target_compile_definitions(unit_${area} PRIVATE
    OMPTIER_FIXTURES="${OMPTIER_SOURCE_DIR}/validation/fixtures")
  set_target_properties(unit_${area} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  omptier_test(unit.${area} COMMAND unit_${area} TIMEOUT 120 LABELS unit ${ARG_TEST})
endfunction()

# A command run inside the virtual machine, test "virtual.<name>":
# omptier_machine_test(<name> MACHINE <preset> [TIMED [DILATION n]] [TIMEOUT s] [LABELS …] COMMAND …
#                      [TEST options of omptier_test…])
# The time is the machine's; the test has a minute more.
function(omptier_machine_test name)
  cmake_parse_arguments(ARG "TIMED" "MACHINE;TIMEOUT;DILATION" "COMMAND;LABELS;TEST" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS virtual)
  endif()
  set(options --machine ${ARG_MACHINE} --timeout ${ARG_TIMEOUT})
  if(ARG_DILATION)
    list(APPEND options --timed=${ARG_DILATION})
  elseif(ARG_TIMED)
    list(APPEND options --timed)
  endif()
  math(EXPR limit "${ARG_TIMEOUT} + 60")
  omptier_test(virtual.${name}
    COMMAND ${CMAKE_BINARY_DIR}/bin/omptier sandbox ${options} -- ${ARG_COMMAND}
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR} TIMEOUT ${limit} LABELS ${ARG_LABELS} ${ARG_TEST})
endfunction()

# A script of conformance/ that tests omptier record, test "conformance.<name>":
# omptier_record_test(<name> <script> [TIMEOUT seconds] [LABELS "a;b"] [arguments of the script…]
#                     [TEST options of omptier_test…])
function(omptier_record_test name script)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "" "TIMEOUT;LABELS" "TEST")
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(NOT ARG_LABELS)
    set(ARG_LABELS conformance)
  endif()
  omptier_test(conformance.${name}
    COMMAND ${Python3_EXECUTABLE} ${OMPTIER_SOURCE_DIR}/validation/conformance/${script}
            --omptier ${CMAKE_BINARY_DIR}/bin/omptier ${ARG_UNPARSED_ARGUMENTS}
    TIMEOUT ${ARG_TIMEOUT} LABELS ${ARG_LABELS} ${ARG_TEST})
endfunction()
