# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Allocators on the patched runtime, on this machine; validation/virtual/allocators.cmake runs the same
# program where there are several kinds of memory. NUMA node 0 of the machine is taken for DRAM.
if(NOT TARGET libomp OR NOT TARGET libomptier)
  return()
endif()
find_program(OMPTIER_TEST_CLANG NAMES clang-19 REQUIRED DOC "Compiler of the OpenMP test programs")
set(allocators_cases ${CMAKE_BINARY_DIR}/tests/allocators_cases)
add_custom_command(
  OUTPUT ${allocators_cases}
  COMMAND ${OMPTIER_TEST_CLANG} -std=gnu11 -O2 -g -Wall -Wextra -fopenmp
          -I${CMAKE_BINARY_DIR}/include-omp -I${OMPTIER_SOURCE_DIR}/include
          ${CMAKE_CURRENT_LIST_DIR}/allocators_cases.c -o ${allocators_cases}
          -L${CMAKE_BINARY_DIR}/lib -lomptier -Wl,-rpath,${CMAKE_BINARY_DIR}/lib
  DEPENDS ${CMAKE_CURRENT_LIST_DIR}/allocators_cases.c ${CMAKE_CURRENT_LIST_DIR}/allocators_cases.h
          ${OMPTIER_SOURCE_DIR}/include/ompx_memory.h libomp libomptier
  COMMENT "allocators_cases" VERBATIM)
add_custom_target(allocators_cases ALL DEPENDS ${allocators_cases})

function(allocators_case name)
  add_test(NAME conformance.allocators.${name} COMMAND ${allocators_cases} ${name} dram=0)
  set_tests_properties(conformance.allocators.${name} PROPERTIES TIMEOUT 60 LABELS conformance
                       ENVIRONMENT "KMP_WARNINGS=1")
endfunction()
foreach(name IN ITEMS required lacking semantics threads)
  allocators_case(${name})
endforeach()
