# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(profile SOURCES profile_log_test.cpp profile_metrics_test.cpp LINK omptier_profile)

# Names need debug information, whatever the kind of build.
omptier_unit_test(symbols SOURCES profile_symbols_test.cpp objects_calls.cpp LINK omptier_symbols)
target_compile_options(unit_symbols PRIVATE -g)
