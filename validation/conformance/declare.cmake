# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Declare and commit on this machine; validation/virtual/declare.cmake has the decisions between kinds.
if(NOT TARGET libomp OR NOT TARGET libomptier)
  return()
endif()
set(declare_cases ${CMAKE_BINARY_DIR}/tests/declare_cases)
add_custom_command(
  OUTPUT ${declare_cases}
  COMMAND ${OMPTIER_TEST_CLANG} -std=gnu11 -O2 -g -Wall -Wextra -Wno-unused-function -fopenmp
          -I${CMAKE_BINARY_DIR}/include-omp -I${OMPTIER_SOURCE_DIR}/include
          ${CMAKE_CURRENT_LIST_DIR}/declare_cases.c -o ${declare_cases}
          -L${CMAKE_BINARY_DIR}/lib -lomptier -Wl,-rpath,${CMAKE_BINARY_DIR}/lib
  DEPENDS ${CMAKE_CURRENT_LIST_DIR}/declare_cases.c ${CMAKE_CURRENT_LIST_DIR}/allocators_cases.h
          ${OMPTIER_SOURCE_DIR}/include/ompx_memory.h libomp libomptier
  COMMENT "declare_cases" VERBATIM)
add_custom_target(declare_cases ALL DEPENDS ${declare_cases})
foreach(name IN ITEMS basics threads)
  add_test(NAME conformance.declare.${name} COMMAND ${declare_cases} ${name} dram=0)
  set_tests_properties(conformance.declare.${name} PROPERTIES TIMEOUT 60 LABELS conformance)
endforeach()
