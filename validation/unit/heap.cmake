# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(heap SOURCES heap_test.cpp LINK omptier_placement)
