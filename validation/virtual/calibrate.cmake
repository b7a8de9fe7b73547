# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# calibrate on a machine with several kinds. Its memory is as fast as this computer's, so only that
# every node is measured is looked at; how near figures come on the timed machine:
# benchmarks/published/calibrate.py.
omptier_machine_test(calibrate MACHINE dram-hbm-nvm
  COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/calibrate_nodes.sh ${CMAKE_BINARY_DIR}/bin/omptier)
