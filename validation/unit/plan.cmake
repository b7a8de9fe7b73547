# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(plan SOURCES plan_test.cpp plan_hostile_test.cpp LINK omptier_plan TEST BESIDE)
