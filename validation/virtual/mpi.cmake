# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# validation/conformance/mpi.cmake where four ranks share a node of high-bandwidth memory. Open MPI's
# half of it in the long form only: loading it under emulation takes 20 s.
if(NOT TARGET mpi_cases)
  return()
endif()
# virtual_mpi(<case> <launcher> [option of omptier_machine_test…])
function(virtual_mpi case mpi)
  omptier_machine_test(mpi.${case}-${mpi} MACHINE dram-hbm-nvm TIMEOUT 300
                       COMMAND python3 ${mpi_test} ${case} ${mpi} ${mpi_cases_${mpi}} hbm 8 ${ARGN})
endfunction()
virtual_mpi(share mpich TEST BESIDE COST 15)
virtual_mpi(share openmpi LABELS virtual soak)
virtual_mpi(killed_rank openmpi LABELS virtual soak)
