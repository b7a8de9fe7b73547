# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(recorder SOURCES recorder_test.cpp LINK omptier_recorder)
