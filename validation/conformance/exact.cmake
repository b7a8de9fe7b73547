# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A program built by omptier-cc counts its accesses exactly: bytes known on paper are reported.
if(NOT TARGET libomp OR NOT TARGET libomptier_ompt OR NOT TARGET libomptier_exact)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(exact_cases ${CMAKE_BINARY_DIR}/tests/exact_cases)
foreach(width IN ITEMS x86-64-v3 x86-64)
  add_custom_command(
    OUTPUT ${exact_cases}-${width}
    COMMAND ${CMAKE_BINARY_DIR}/bin/omptier-cc -std=gnu11 -O3 -march=${width} -g -Wall -Wextra -fopenmp
            -I${CMAKE_BINARY_DIR}/include-omp ${CMAKE_CURRENT_LIST_DIR}/exact_cases.c
            -L${CMAKE_BINARY_DIR}/lib -o ${exact_cases}-${width}
    DEPENDS ${CMAKE_CURRENT_LIST_DIR}/exact_cases.c libomp libomptier_exact
            ${OMPTIER_EXT_DIR}/sampling/exact/check.c
            ${OMPTIER_EXT_DIR}/sampling/exact/omptier-cc.in
    COMMENT "exact_cases, ${width}" VERBATIM)
  list(APPEND exact_programs ${exact_cases}-${width})
endforeach()
add_custom_target(exact_cases ALL DEPENDS ${exact_programs})
omptier_record_test(exact exact.py TIMEOUT 200 --compiler ${CMAKE_BINARY_DIR}/bin/omptier-cc ${exact_programs})
