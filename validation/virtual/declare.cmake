# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The decisions of ompx_commit and ompx_apply where there are several kinds of memory
# (validation/conformance/declare_cases.c).
if(NOT TARGET declare_cases)
  return()
endif()
foreach(name IN ITEMS basics threads orders traits group apply)
  omptier_machine_test(declare.${name} MACHINE dram-hbm-nvm
    COMMAND env OMP_WAIT_POLICY=passive OMPTIER_CAPACITY=hbm:64M
            ${declare_cases} ${name} dram=0 hbm=1 nvm=2 TEST BESIDE)
endforeach()

# Two full kinds change their blocks: with a third kind for what has no room meanwhile, and without.
foreach(nvm IN ITEMS 0 64M)
  omptier_machine_test(declare.exchange-${nvm} MACHINE dram-hbm-nvm
    COMMAND env OMP_WAIT_POLICY=passive OMPTIER_CAPACITY=hbm:40M,dram:40M,nvm:${nvm}
            ${declare_cases} exchange dram=0 hbm=1 nvm=2 TEST BESIDE)
endforeach()

# The example: with 96 MiB of HBM the field is there at first, the history after ompx_apply.
if(TARGET example_declare)
  omptier_machine_test(declare.example MACHINE dram-hbm-nvm
    COMMAND env OMP_WAIT_POLICY=passive OMPTIER_CAPACITY=hbm:96M ${CMAKE_BINARY_DIR}/bin/declare 64
    TEST BESIDE PRINTS
    "field *67108864 bytes: 67108864 in HBM.*bytes moved, .*history *67108864 bytes: 67108864 in HBM")
endif()
