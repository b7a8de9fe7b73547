# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(advisor
  SOURCES advisor_test.cpp advisor_kinds_test.cpp advisor_estimates_test.cpp
  advisor_blocks_test.cpp advisor_ranges_test.cpp advisor_kept_test.cpp
  advisor_strategies_test.cpp LINK omptier_advisor omptier_cli)
