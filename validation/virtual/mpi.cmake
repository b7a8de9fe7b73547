# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# validation/conformance/mpi.cmake where four ranks share a node of high-bandwidth memory.
if(NOT TARGET mpi_cases)
  return()
endif()
foreach(mpi IN ITEMS openmpi mpich)
  omptier_machine_test(mpi.share-${mpi} MACHINE dram-hbm-nvm
                       COMMAND python3 ${mpi_test} share ${mpi} ${mpi_cases_${mpi}} hbm 8)
endforeach()
omptier_machine_test(mpi.killed_rank-openmpi MACHINE dram-hbm-nvm
                     COMMAND python3 ${mpi_test} killed_rank openmpi ${mpi_cases_openmpi} hbm 8)
# Beyond the other two it shows Open MPI's variables only, which the host shows.
set_tests_properties(virtual.mpi.share-openmpi PROPERTIES LABELS "virtual;soak")
