# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(analysis SOURCES log_test.cpp log_versions_test.cpp log_names_test.cpp analysis_metrics_test.cpp
  analysis_working_set_test.cpp analysis_cache_test.cpp analysis_totals_test.cpp analysis_pattern_test.cpp
  analysis_streams_test.cpp analysis_loop_nests_test.cpp analysis_loop_traffic_test.cpp
  analysis_rates_test.cpp analysis_advance_test.cpp analysis_accesses_test.cpp analysis_areas_test.cpp
  analysis_blocks_test.cpp analysis_runtime_test.cpp analysis_manners_test.cpp
  analysis_first_touch_test.cpp analysis_growth_test.cpp analysis_unplaced_test.cpp
  analysis_miss_steps_test.cpp analysis_timeline_test.cpp analysis_latest_test.cpp analysis_over_time_test.cpp
  analysis_stretches_test.cpp
  LINK omptier_analysis omptier_advisor omptier_cli)

# Names need debug information, whatever the kind of build.
omptier_unit_test(symbols SOURCES symbols_test.cpp objects_calls.cpp LINK omptier_symbols)
target_compile_options(unit_symbols PRIVATE -g)
# The source is asked for the variable of a call: it must be where the debug information says.
set_property(SOURCE ${CMAKE_CURRENT_LIST_DIR}/objects_calls.cpp APPEND PROPERTY
  COMPILE_OPTIONS -ffile-prefix-map=${OMPTIER_SOURCE_DIR}=${OMPTIER_SOURCE_DIR})
