# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(compare SOURCES compare_test.cpp profile_pairs_test.cpp LINK omptier_cli TEST BESIDE)
