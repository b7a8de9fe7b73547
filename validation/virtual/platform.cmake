# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What the kernel of each virtual machine shows must be what the captured fixtures say, and omptier
# check must find everything in order there, moving a page between nodes included.
foreach(machine IN ITEMS dram-hbm-nvm icelake-optane xeon-max-flat dram-cxl knl-snc4-flat
        xeon-max-snc4-2s nvdimm)
  omptier_machine_test(platform.${machine} MACHINE ${machine}
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/platform_topology ${CMAKE_BINARY_DIR}/bin/omptier
            ${OMPTIER_SOURCE_DIR}/validation/fixtures/machines/${machine}.expected
    TEST BESIDE)
endforeach()
