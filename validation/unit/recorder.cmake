# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# A recorder is never destroyed, as in the tool; a forked child starts its helper thread anew.
set(never_destroyed ASAN_OPTIONS=detect_leaks=0:quarantine_size_mb=1 TSAN_OPTIONS=die_after_fork=0)
omptier_unit_test(recorder
  SOURCES recorder_test.cpp recorder_stretches_test.cpp recorder_capacity_test.cpp recorder_mappings_test.cpp
  LINK omptier_recorder omptier_analysis TEST ENVIRONMENT ${never_destroyed})
# A long run in fast motion: hours in seconds, and a whole day with 10^8 regions.
add_executable(recorder_day ${CMAKE_CURRENT_LIST_DIR}/recorder_day.cpp)
target_link_libraries(recorder_day PRIVATE omptier_recorder omptier_analysis)
set_target_properties(recorder_day PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
if(OMPTIER_SANITIZE)
  target_compile_definitions(recorder_day PRIVATE SANITIZED)
endif()
foreach(form IN ITEMS "unit 3000 1000000 1048576" "soak 86400 100000000 268435456")
  separate_arguments(form)
  list(POP_FRONT form label)
  set(folder ${CMAKE_BINARY_DIR}/tests/recorder_day_${label})
  file(MAKE_DIRECTORY ${folder})
  omptier_test(${label}.recorder-day COMMAND recorder_day ${form} ${folder}
               TIMEOUT 3600 LABELS ${label} ENVIRONMENT ${never_destroyed})
endforeach()
