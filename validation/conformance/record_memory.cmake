# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# omptier record of statics, mappings and stacks, in C and Fortran.
if(NOT TARGET libomp OR NOT TARGET libomptier_preload OR NOT TARGET libomptier_ompt)
  return()
endif()
set(record_memory_folder ${CMAKE_BINARY_DIR}/tests/record_memory)
find_program(OMPTIER_TEST_GFORTRAN NAMES gfortran-12 gfortran REQUIRED)
set(record_memory_programs "")
# record_memory_program(<name> <source suffix> <compiler> [flags…])
function(record_memory_program name suffix)
  add_custom_command(OUTPUT ${record_memory_folder}/${name}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${record_memory_folder}
    COMMAND ${ARGN} -O2 -g -Wall -Wextra ${CMAKE_CURRENT_LIST_DIR}/record_memory.${suffix}
            -o ${record_memory_folder}/${name}
    DEPENDS ${CMAKE_CURRENT_LIST_DIR}/record_memory.${suffix}
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR}/tests
    COMMENT "record_memory ${name}" VERBATIM)
  set(record_memory_programs ${record_memory_programs} ${record_memory_folder}/${name} PARENT_SCOPE)
endfunction()
record_memory_program(gcc c ${OMPTIER_TEST_GCC} -pthread)
record_memory_program(clang c ${OMPTIER_TEST_CLANG} -pthread)
record_memory_program(gfortran f90 ${OMPTIER_TEST_GFORTRAN} -fstack-arrays -J ${CMAKE_BINARY_DIR}/tests)
add_custom_target(record_memory_programs ALL DEPENDS ${record_memory_programs})

# record_memory_case(<name> <program> <rows> [options of record_memory.py…])
function(record_memory_case name program rows)
  add_test(NAME conformance.record-memory.${name}
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/record_memory.py
                   --omptier ${CMAKE_BINARY_DIR}/bin/omptier --program ${record_memory_folder}/${program}
                   --rows ${rows} ${ARGN})
  set_tests_properties(conformance.record-memory.${name} PROPERTIES TIMEOUT 240 LABELS conformance)
endfunction()
set(named "arena (record_memory.c=1,remapped (record_memory.c=1,block (record_memory.c=1,stack=3")
set(statics "static grid (record_memory.c:=1,static initialised (record_memory.c:=1,static table=1,static local=1")
record_memory_case(gcc gcc "${named},${statics}" --env)
record_memory_case(clang clang "${named},${statics}")
record_memory_case(stripped gcc "statics of gcc=3,code and constants of gcc=1,gcc+0x=3,stack=3" --stripped)
record_memory_case(gfortran gfortran
  "static fields::rho (record_memory.f90=1,static /shared/ (record_memory.f90=1,static kept=1,dynamic=1,stack=1")
