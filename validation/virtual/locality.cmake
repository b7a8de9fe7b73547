# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The choice of nodes within a tier, on the machines of clusters.
if(NOT TARGET libomp OR NOT TARGET libomptier)
  return()
endif()
omptier_openmp_program(locality_cases SOURCE locality_cases.c)
foreach(name IN ITEMS next_to_thread first_touch blocked interleaved nearest spill)
  omptier_machine_test(locality.${name}.knl-snc4-flat MACHINE knl-snc4-flat
                       COMMAND ${locality_cases} ${name} 4 TEST BESIDE)
  omptier_machine_test(locality.${name}.xeon-max-snc4-2s MACHINE xeon-max-snc4-2s
                       COMMAND ${locality_cases} ${name} 8 TEST BESIDE)
endforeach()

# Memory of an NVDIMM, and the kinds beside it.
omptier_machine_test(locality.required.nvdimm MACHINE nvdimm
                     COMMAND ${allocators_cases} required dram=0 nvm=1 TEST BESIDE)

# An NVDIMM's folder as NVM, where no node is (the machine's NVM node is taken for something else).
omptier_openmp_program(folder_cases SOURCE folder_cases.c)
omptier_machine_test(locality.folder.nvdimm MACHINE nvdimm
                     COMMAND env OMPTIER_PMEM=/run/pmem0 OMPTIER_NODES=cxl:1 OMPTIER_DECAY=0
                             ${folder_cases} /run/pmem0 TEST BESIDE)
