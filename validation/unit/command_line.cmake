# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(command_line SOURCES command_line_test.cpp LINK omptier_cli TEST BESIDE)
