# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(traits SOURCES traits_test.cpp LINK omptier_traits)
