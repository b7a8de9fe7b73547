# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The public headers: what must compile does, what must not does not, containers of the C++ header and
# arrays of the Fortran module hold, and every declaration is documented.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
omptier_test(conformance.headers.documented
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/headers_documented.py ${OMPTIER_SOURCE_DIR}/include
  BESIDE TIMEOUT 30 LABELS conformance)
if(NOT TARGET libomp OR NOT TARGET libomptier)
  return()
endif()
omptier_test(conformance.headers.compile
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/headers_compile.py
          ${OMPTIER_SOURCE_DIR}/include ${CMAKE_BINARY_DIR}/include-omp
  BESIDE COST 10 TIMEOUT 300 LABELS conformance)

# headers_program(<name> COMPILER … SOURCES …): built against the build's runtime, test
# "conformance.headers.<name>".
function(headers_program name)
  cmake_parse_arguments(ARG "" "" "COMPILER;SOURCES" ${ARGN})
  set(program ${CMAKE_BINARY_DIR}/tests/headers_${name})
  add_custom_command(
    OUTPUT ${program}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/tests/headers_${name}.modules
    COMMAND ${CMAKE_COMMAND} -E chdir ${CMAKE_BINARY_DIR}/tests/headers_${name}.modules
            ${ARG_COMPILER} -O1 -g -fopenmp -I${OMPTIER_SOURCE_DIR}/include ${ARG_SOURCES}
            -o ${program} -L${CMAKE_BINARY_DIR}/lib -lomptier -Wl,-rpath,${CMAKE_BINARY_DIR}/lib
    DEPENDS ${ARG_SOURCES} ${OMPTIER_SOURCE_DIR}/include/ompx_memory.h
            ${OMPTIER_SOURCE_DIR}/include/ompx_memory.hpp libomp libomptier
    COMMENT "headers_${name}" VERBATIM)
  add_custom_target(headers_${name} ALL DEPENDS ${program})
  omptier_test(conformance.headers.${name} COMMAND ${program} BESIDE TIMEOUT 60 LABELS conformance)
endfunction()
set(containers ${CMAKE_CURRENT_LIST_DIR}/headers_containers.cpp)
headers_program(containers SOURCES ${containers}
                COMPILER clang++-19 -std=c++17 -Wall -Wextra -Wshadow -I${CMAKE_BINARY_DIR}/include-omp)
headers_program(containers-gcc SOURCES ${containers} COMPILER g++-12 -std=c++17 -Wall -Wextra -Wshadow)
set(arrays ${CMAKE_BINARY_DIR}/include/ompx_memory.f90
           ${CMAKE_CURRENT_LIST_DIR}/headers_arrays.f90)
headers_program(arrays-gfortran SOURCES ${arrays} COMPILER gfortran -std=f2018 -Wall -Wextra -Wno-compare-reals)
find_program(OMPTIER_FLANG NAMES flang-new-19 flang-19)
if(OMPTIER_FLANG)
  headers_program(arrays-flang SOURCES ${arrays} COMPILER ${OMPTIER_FLANG})
endif()
