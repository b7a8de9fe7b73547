# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# validation/conformance/mpi.cmake where four ranks share a node of high-bandwidth memory. Open MPI's
# half of it in the long form only: loading it under emulation takes 20 s.
if(NOT TARGET mpi_cases)
  return()
endif()
# virtual_mpi(<case> <launcher>)
function(virtual_mpi case mpi)
  omptier_machine_test(mpi.${case}-${mpi} MACHINE dram-hbm-nvm TIMEOUT 300
                       COMMAND python3 ${mpi_test} ${case} ${mpi} ${mpi_cases_${mpi}} hbm 8)
endfunction()
virtual_mpi(share mpich)
virtual_mpi(share openmpi)
virtual_mpi(killed_rank openmpi)
set_tests_properties(virtual.mpi.share-openmpi virtual.mpi.killed_rank-openmpi PROPERTIES
                     LABELS "virtual;soak")
