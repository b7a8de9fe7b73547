# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(base SOURCES base_test.cpp base_options_test.cpp base_notices_test.cpp
                          sized_struct_test.cpp LINK omptier_base)
