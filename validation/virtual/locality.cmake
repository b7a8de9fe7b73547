# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The choice of nodes within a tier, on the machines of clusters.
if(NOT TARGET libomp OR NOT TARGET libomptier)
  return()
endif()
set(locality_cases ${CMAKE_BINARY_DIR}/tests/locality_cases)
add_custom_command(
  OUTPUT ${locality_cases}
  COMMAND ${OMPTIER_TEST_CLANG} -std=gnu11 -O2 -g -Wall -Wextra -fopenmp
          -I${CMAKE_BINARY_DIR}/include-omp -I${OMPTIER_SOURCE_DIR}/include
          ${CMAKE_CURRENT_LIST_DIR}/locality_cases.c -o ${locality_cases}
          -L${CMAKE_BINARY_DIR}/lib -lomptier -Wl,-rpath,${CMAKE_BINARY_DIR}/lib
  DEPENDS ${CMAKE_CURRENT_LIST_DIR}/locality_cases.c ${OMPTIER_SOURCE_DIR}/include/ompx_memory.h
          libomp libomptier
  COMMENT "locality_cases" VERBATIM)
add_custom_target(locality_cases ALL DEPENDS ${locality_cases})
foreach(name IN ITEMS next_to_thread first_touch blocked interleaved nearest spill)
  omptier_machine_test(locality.${name}.knl-snc4-flat MACHINE knl-snc4-flat
                       COMMAND ${locality_cases} ${name} 4)
  omptier_machine_test(locality.${name}.xeon-max-snc4-2s MACHINE xeon-max-snc4-2s
                       COMMAND ${locality_cases} ${name} 8)
endforeach()

# Memory of an NVDIMM, and the kinds beside it.
omptier_machine_test(locality.required.nvdimm MACHINE nvdimm
                     COMMAND ${allocators_cases} required dram=0 nvm=1)

# An NVDIMM's folder as NVM, where no node is (the machine's NVM node is taken for something else).
set(folder_cases ${CMAKE_BINARY_DIR}/tests/folder_cases)
add_custom_command(
  OUTPUT ${folder_cases}
  COMMAND ${OMPTIER_TEST_CLANG} -std=gnu11 -O2 -g -Wall -Wextra -fopenmp
          -I${CMAKE_BINARY_DIR}/include-omp -I${OMPTIER_SOURCE_DIR}/include
          ${CMAKE_CURRENT_LIST_DIR}/folder_cases.c -o ${folder_cases}
          -L${CMAKE_BINARY_DIR}/lib -lomptier -Wl,-rpath,${CMAKE_BINARY_DIR}/lib
  DEPENDS ${CMAKE_CURRENT_LIST_DIR}/folder_cases.c ${OMPTIER_SOURCE_DIR}/include/ompx_memory.h
          libomp libomptier
  COMMENT "folder_cases" VERBATIM)
add_custom_target(folder_cases ALL DEPENDS ${folder_cases})
omptier_machine_test(locality.folder.nvdimm MACHINE nvdimm
                     COMMAND env OMPTIER_PMEM=/run/pmem0 OMPTIER_NODES=cxl:1 OMPTIER_DECAY=0
                             ${folder_cases} /run/pmem0)
