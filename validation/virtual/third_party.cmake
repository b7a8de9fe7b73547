# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# validation/conformance/third_party.cmake where the plan's kind is another one: all pixels in HBM.
if(NOT third_party_gm)
  return()
endif()
omptier_test(virtual.third_party.gm
  COMMAND ${third_party_test} --folder ${third_party_folder}/gm-virtual --machine dram-hbm-nvm
          --cold hbm=1 --runtime own ${third_party_gm}
  BESIDE TIMEOUT 300 LABELS virtual)
