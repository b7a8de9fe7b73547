# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Jobs of four ranks by the real launchers of Debian's Open MPI and MPICH; see mpi.py.
# validation/virtual/mpi.cmake runs the same where high-bandwidth memory is to be shared.
if(NOT TARGET libomp OR NOT TARGET libomptier)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(mpi_programs "")
foreach(mpi IN ITEMS openmpi mpich)
  find_program(OMPTIER_MPICC_${mpi} NAMES mpicc.${mpi} REQUIRED DOC "Compiler of MPI programs (${mpi})")
  set(mpi_cases_${mpi} ${CMAKE_BINARY_DIR}/tests/mpi_cases-${mpi})
  add_custom_command(OUTPUT ${mpi_cases_${mpi}}
    COMMAND ${OMPTIER_MPICC_${mpi}} -std=gnu11 -O2 -g -Wall -Wextra -fopenmp -I${OMPTIER_SOURCE_DIR}/include
            ${CMAKE_CURRENT_LIST_DIR}/mpi_cases.c -o ${mpi_cases_${mpi}}
            -L${CMAKE_BINARY_DIR}/lib -lomptier -Wl,--enable-new-dtags -Wl,-rpath,${CMAKE_BINARY_DIR}/lib
    DEPENDS ${CMAKE_CURRENT_LIST_DIR}/mpi_cases.c ${OMPTIER_SOURCE_DIR}/include/ompx_memory.h libomp libomptier
    COMMENT "mpi_cases for ${mpi}" VERBATIM)
  add_custom_command(OUTPUT ${mpi_cases_${mpi}}-record
    COMMAND ${OMPTIER_MPICC_${mpi}} -std=gnu11 -O2 -g -Wall -Wextra -fopenmp ${CMAKE_CURRENT_LIST_DIR}/mpi_record.c
            -o ${mpi_cases_${mpi}}-record
    DEPENDS ${CMAKE_CURRENT_LIST_DIR}/mpi_record.c
    COMMENT "mpi_record for ${mpi}" VERBATIM)
  list(APPEND mpi_programs ${mpi_cases_${mpi}} ${mpi_cases_${mpi}}-record)
endforeach()
add_custom_target(mpi_cases ALL DEPENDS ${mpi_programs})
set(mpi_test ${CMAKE_CURRENT_LIST_DIR}/mpi.py)
# mpi_case(<case> <launcher>)
function(mpi_case case mpi)
  omptier_test(conformance.mpi.${case}-${mpi}
    COMMAND ${Python3_EXECUTABLE} ${mpi_test} ${case} ${mpi} ${mpi_cases_${mpi}} dram 4 24
    TIMEOUT 120 LABELS conformance)
endfunction()
foreach(mpi IN ITEMS openmpi mpich)
  foreach(case IN ITEMS share jobs killed_job)
    mpi_case(${case} ${mpi})
  endforeach()
endforeach()
mpi_case(killed_rank openmpi)
if(TARGET libomptier_ompt)
  foreach(mpi IN ITEMS openmpi mpich)
    omptier_test(conformance.mpi.record-${mpi}
      COMMAND ${Python3_EXECUTABLE} ${mpi_test} record ${mpi} ${mpi_cases_${mpi}}-record
              ${CMAKE_BINARY_DIR}/bin/omptier -
      TIMEOUT 120 LABELS conformance)
  endforeach()
endif()
