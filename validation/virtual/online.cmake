# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# omptier run --online moves what a running program uses out of slow memory.
if(TARGET omptier_time_model AND TARGET libomptier_ompt)
  add_executable(online_cases ${CMAKE_CURRENT_LIST_DIR}/online_cases.c)
  find_package(OpenMP REQUIRED COMPONENTS C)
  target_link_libraries(online_cases PRIVATE omptier_flags OpenMP::OpenMP_C numa)
  set_target_properties(online_cases PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  omptier_test(virtual.online
    COMMAND ${CMAKE_BINARY_DIR}/bin/omptier sandbox --machine icelake-optane --timed=50 --memory-events
            --timeout 180 --env OMPTIER_EVENTS=machine -- ${CMAKE_BINARY_DIR}/bin/omptier run --online --
            ${CMAKE_BINARY_DIR}/tests/online_cases 2
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR} TIMEOUT 240 LABELS virtual
    PRINTS "--online: moved [0-9.]+ MiB into DRAM")
endif()
