# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# omptier record of programs that fork, exec, handle signals, and of a world that refuses things.
if(NOT TARGET libomp OR NOT TARGET libomptier_preload OR NOT TARGET libomptier_ompt)
  return()
endif()
# record_faults_program(<name> <source> <compiler> [flags…])
function(record_faults_program name source compiler)
  omptier_test_program(record_faults/${name} ${compiler} ${source} -fno-builtin-malloc ${ARGN} -ldl)
endfunction()
record_faults_program(plain record_faults.c ${OMPTIER_TEST_GCC} -pthread)
record_faults_program(openmp record_faults.c ${OMPTIER_TEST_GCC} -fopenmp)
record_faults_program(own-tool record_faults.c ${OMPTIER_TEST_CLANG} -fopenmp -DOWN_TOOL)
record_faults_program(shim.so record_faults_shim.c ${OMPTIER_TEST_GCC} -shared -fPIC)
foreach(case IN ITEMS children children_named children_chosen execs unseen daemon killed full folder proc perf
                      threads library privileged debugger timeout signals mapping_signals asking_signals own_tool)
  omptier_record_test(record-faults.${case} record_faults.py ${case} --programs ${CMAKE_BINARY_DIR}/tests/record_faults)
endforeach()
