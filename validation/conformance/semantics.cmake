# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What OpenMP says of memory allocators, as named cases: one program a theme, compiled by clang-19 and,
# where gcc 12 has the construct, by gcc; one test a program, which names each case that fails.
# validation/virtual/semantics.cmake runs them where there are several kinds of memory.
if(NOT TARGET libomp OR NOT TARGET libomptier)
  return()
endif()
set(semantics_dir ${CMAKE_CURRENT_LIST_DIR})

# semantics_program(<source> <clang|gcc>): a program, a target and a test; its file in the variable
# semantics_<theme>_<compiler>.
function(semantics_program source compiler)
  get_filename_component(theme ${source} NAME_WE)
  get_filename_component(extension ${source} EXT)
  string(REPLACE semantics_ "" theme ${theme})
  if(compiler STREQUAL clang)
    set(command ${OMPTIER_TEST_CLANG})
  else()
    set(command ${OMPTIER_TEST_GCC})
  endif()
  set(flags -Werror)
  set(libraries)
  if(extension STREQUAL .cpp)
    list(APPEND flags -std=c++17 -xc++)
    set(libraries -lstdc++)
  endif()
  set(name semantics_${theme}_${compiler})
  omptier_openmp_program(${name} SOURCE ${source} COMPILER ${command} FLAGS ${flags}
                         LIBRARIES ${libraries} DEPENDS semantics.h allocators_cases.h)
  set(${name} ${${name}} PARENT_SCOPE)
  omptier_test(conformance.semantics.${theme}.${compiler} COMMAND ${${name}} dram=0
               BESIDE TIMEOUT 120 LABELS conformance ENVIRONMENT OMP_WAIT_POLICY=passive)
endfunction()

foreach(source IN ITEMS semantics_traits.c semantics_pools.c semantics_blocks.c semantics_threads.c
                      semantics_clauses.c semantics_environment.c semantics_pages.c)
  semantics_program(${source} clang)
  semantics_program(${source} gcc)
endforeach()
semantics_program(semantics_cpp.cpp clang)
semantics_program(semantics_cpp.cpp gcc)

find_program(OMPTIER_TEST_GFORTRAN NAMES gfortran REQUIRED DOC "Fortran compiler of the OpenMP test programs")
find_program(OMPTIER_TEST_FLANG NAMES flang-new-19 flang-19 REQUIRED DOC "The other one")
foreach(compiler IN ITEMS gfortran flang)
  string(TOUPPER ${compiler} upper)
  set(file ${CMAKE_BINARY_DIR}/tests/semantics_${compiler})
  add_custom_command(
    OUTPUT ${file}
    COMMAND ${OMPTIER_TEST_${upper}} -O1 -g -fopenmp ${semantics_dir}/semantics_fortran.F90 -o ${file}
            -L${CMAKE_BINARY_DIR}/lib -Wl,-rpath,${CMAKE_BINARY_DIR}/lib
    DEPENDS ${semantics_dir}/semantics_fortran.F90 libomp libomptier
    COMMENT "semantics_${compiler}" VERBATIM)
  add_custom_target(semantics_${compiler} ALL DEPENDS ${file})
  omptier_test(conformance.semantics.fortran.${compiler} COMMAND ${file}
               BESIDE TIMEOUT 60 LABELS conformance ENVIRONMENT OMP_WAIT_POLICY=passive)
endforeach()
