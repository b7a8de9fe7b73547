# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(online SOURCES online_state_test.cpp LINK omptier_cli)
