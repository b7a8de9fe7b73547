# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Programs that know what they do with their memory, for measure.py to hold reports against. Whether the
# figures are right is no test; that the programs build, agree with themselves and can be measured is.
if(NOT TARGET libomp OR NOT TARGET libomptier_preload OR NOT TARGET libomptier_ompt)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
omptier_test(conformance.programs
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/measure.py --check
          --omptier ${CMAKE_BINARY_DIR}/bin/omptier
  BESIDE COST 15 TIMEOUT 60 LABELS conformance)

# Names of arrays, from programs of both compilers that print what they should be.
find_program(OMPTIER_TEST_CLANGXX NAMES clang++-19 REQUIRED)
find_program(OMPTIER_TEST_GXX NAMES g++-12 g++ REQUIRED)
find_program(OMPTIER_TEST_GFORTRAN NAMES gfortran-12 gfortran REQUIRED)
set(programs)
# names_program(<source> <name> <compiler> [flags…])
function(names_program source name compiler)
  cmake_path(GET source STEM stem)
  omptier_test_program(names/${stem}-${name} ${compiler} ../programs/names/${source} ${ARGN})
  set(programs ${programs} ${CMAKE_BINARY_DIR}/tests/names/${stem}-${name} PARENT_SCOPE)
endfunction()
foreach(source structs.cpp declarators.cpp containers.cpp wild.cpp)
  names_program(${source} gcc ${OMPTIER_TEST_GXX} -std=c++17)
  names_program(${source} clang ${OMPTIER_TEST_CLANGXX} -std=c++17)
endforeach()
names_program(helpers.c gcc ${OMPTIER_TEST_GCC})
names_program(helpers.c clang ${OMPTIER_TEST_CLANG})
# gcc lists the address ranges of its units, clang does not: one of each in a program.
set(apart ${CMAKE_BINARY_DIR}/tests/names/apart.o)
add_custom_command(OUTPUT ${apart}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${CMAKE_BINARY_DIR}/tests/names
  COMMAND ${OMPTIER_TEST_GCC} -O2 -g -c ${CMAKE_CURRENT_LIST_DIR}/names/apart.c -o ${apart}
  DEPENDS ${CMAKE_CURRENT_LIST_DIR}/names/apart.c COMMENT "names/apart.o" VERBATIM)
names_program(structs.cpp both ${OMPTIER_TEST_CLANGXX} -std=c++17 ${apart})
names_program(declarators.cpp lines ${OMPTIER_TEST_CLANGXX} -std=c++17 -O3 -g1)
foreach(source modules.f90 wild.f90)
  cmake_path(GET source STEM folder)
  set(folder ${CMAKE_BINARY_DIR}/tests/names/${folder}.modules)
  file(MAKE_DIRECTORY ${folder})
  names_program(${source} gfortran ${OMPTIER_TEST_GFORTRAN} -J ${folder})
endforeach()
omptier_test(conformance.names
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/names.py --omptier ${CMAKE_BINARY_DIR}/bin/omptier ${programs}
  BESIDE COST 5 TIMEOUT 60 LABELS conformance)
