# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(recorder SOURCES recorder_test.cpp recorder_stretches_test.cpp recorder_capacity_test.cpp recorder_mappings_test.cpp LINK omptier_recorder)
# A recorder is never destroyed, as in the tool.
set_tests_properties(unit.recorder PROPERTIES ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
