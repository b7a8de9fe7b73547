# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(profile SOURCES profile_log_test.cpp profile_metrics_test.cpp
  profile_working_set_test.cpp profile_totals_test.cpp profile_pattern_test.cpp profile_streams_test.cpp profile_rates_test.cpp profile_areas_test.cpp LINK omptier_analysis)

# Names need debug information, whatever the kind of build.
omptier_unit_test(symbols SOURCES profile_symbols_test.cpp objects_calls.cpp LINK omptier_symbols)
target_compile_options(unit_symbols PRIVATE -g)
# The source is asked for the variable of a call: it must be where the debug information says.
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/objects_calls.cpp PROPERTIES
  COMPILE_OPTIONS -ffile-prefix-map=${OMPTIER_SOURCE_DIR}=${OMPTIER_SOURCE_DIR})
