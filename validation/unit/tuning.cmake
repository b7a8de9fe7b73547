# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(tuning SOURCES tuning_search_test.cpp tuning_groups_test.cpp tuning_run_list_test.cpp
                  tuning_learned_test.cpp
                  tuning_metric_test.cpp
                  LINK omptier_tuning omptier_cli TEST BESIDE)
