# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(declare SOURCES declare_test.cpp LINK omptier_allocators)
