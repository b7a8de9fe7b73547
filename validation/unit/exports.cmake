# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(exports SOURCES exports_test.cpp LINK omptier_cli TEST BESIDE)
