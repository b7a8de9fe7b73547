# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(advisor
  SOURCES advisor_test.cpp advisor_kinds_test.cpp advisor_estimates_test.cpp
  advisor_blocks_test.cpp advisor_ranges_test.cpp advisor_kept_test.cpp advisor_in_step_test.cpp advisor_earlier_test.cpp
  advisor_first_touch_test.cpp
  advisor_strategies_test.cpp advisor_toss_ups_test.cpp advisor_questions_test.cpp LINK omptier_advisor omptier_cli TEST BESIDE)

# Hundred thousand objects take a minute: only in ./test --all.
omptier_unit_test(advisor_scale SOURCES advisor_scale_test.cpp LINK omptier_advisor
                  TEST ENVIRONMENT GTEST_FILTER=Scale.*)
omptier_test(all.advisor_scale COMMAND unit_advisor_scale --gtest_filter=ScaleOfAll.*
             TIMEOUT 600 COST 60 LABELS unit all)

find_library(OMPTIER_GLPK glpk)
find_path(OMPTIER_GLPK_HEADER glpk.h)
if(OMPTIER_GLPK AND OMPTIER_GLPK_HEADER)
  omptier_unit_test(advisor_judge SOURCES advisor_judge_test.cpp LINK omptier_advisor ${OMPTIER_GLPK} TEST BESIDE)
  target_include_directories(unit_advisor_judge SYSTEM PRIVATE ${OMPTIER_GLPK_HEADER})
else()
  message(STATUS "No libglpk-dev: unit.advisor_judge is not built")
endif()
