# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(profile SOURCES profile_log_test.cpp profile_metrics_test.cpp LINK omptier_profile)
