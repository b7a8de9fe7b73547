# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# omptier record of statics, mappings and stacks, in C and Fortran.
if(NOT TARGET libomp OR NOT TARGET libomptier_preload OR NOT TARGET libomptier_ompt)
  return()
endif()
find_program(OMPTIER_TEST_GFORTRAN NAMES gfortran-12 gfortran REQUIRED)
omptier_test_program(record_memory/gcc ${OMPTIER_TEST_GCC} record_memory.c -pthread)
omptier_test_program(record_memory/clang ${OMPTIER_TEST_CLANG} record_memory.c -pthread)
omptier_test_program(record_memory/gfortran ${OMPTIER_TEST_GFORTRAN} record_memory.f90 -fstack-arrays
                     -J ${CMAKE_BINARY_DIR}/tests)
# record_memory_case(<name> <program> <rows> [options of record_memory.py…])
function(record_memory_case name program rows)
  omptier_record_test(record-memory.${name} record_memory.py TIMEOUT 240
                      --program ${CMAKE_BINARY_DIR}/tests/record_memory/${program} --rows ${rows} ${ARGN})
endfunction()
set(named "arena (record_memory.c=1,remapped (record_memory.c=1,block (record_memory.c=1,stack=3")
set(statics "static grid (record_memory.c:=1,static initialised (record_memory.c:=1,static table=1,static local=1")
record_memory_case(gcc gcc "${named},${statics}" --env)
record_memory_case(clang clang "${named},${statics}")
record_memory_case(stripped gcc "statics of gcc=3,code and constants of gcc=1,gcc+0x=3,stack=3" --stripped)
record_memory_case(gfortran gfortran
  "static fields::rho (record_memory.f90=1,static /shared/ (record_memory.f90=1,static kept=1,dynamic=1,stack=1")
