# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What calibrate measures on the timed machine decides kinds as the firmware's figures do. How near
# the figures come: benchmarks/published/calibrate.py.
omptier_machine_test(calibrate MACHINE dram-cxl TIMED DILATION 100
  COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/calibrate_kinds.sh ${CMAKE_BINARY_DIR}/bin/omptier)
