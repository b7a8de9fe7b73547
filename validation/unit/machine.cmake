# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(machine SOURCES machine_test.cpp machine_file_test.cpp LINK omptier_machine)
