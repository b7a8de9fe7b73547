# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
if(TARGET omptier_time_model)
  omptier_unit_test(timing SOURCES timing_test.cpp timing_core_test.cpp timing_pages_test.cpp LINK omptier_time_model
    # The model lives as long as the QEMU it is loaded into: it has no end to test.
    TEST ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
  add_executable(unit_timing_model ${CMAKE_CURRENT_LIST_DIR}/timing_model.c)
  target_link_libraries(unit_timing_model PRIVATE omptier_time_model)
  set_target_properties(unit_timing_model PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  omptier_test(unit.timing_model COMMAND unit_timing_model TIMEOUT 10 LABELS unit ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
endif()
