# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# omptier record of programs that fork, exec, handle signals, and of a world that refuses things.
if(NOT TARGET libomp OR NOT TARGET libomptier_preload OR NOT TARGET libomptier_ompt)
  return()
endif()
set(record_faults_folder ${CMAKE_BINARY_DIR}/tests/record_faults)
set(record_faults_programs "")
# record_faults_program(<name> <source> <compiler> [flags…])
function(record_faults_program name source compiler)
  add_custom_command(OUTPUT ${record_faults_folder}/${name}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${record_faults_folder}
    COMMAND ${compiler} -std=gnu11 -O2 -g -Wall -Wextra -fno-builtin-malloc
            ${CMAKE_CURRENT_LIST_DIR}/${source} -o ${record_faults_folder}/${name} ${ARGN}
    DEPENDS ${CMAKE_CURRENT_LIST_DIR}/${source} COMMENT "record_faults ${name}" VERBATIM)
  set(record_faults_programs ${record_faults_programs} ${record_faults_folder}/${name} PARENT_SCOPE)
endfunction()
record_faults_program(plain record_faults.c ${OMPTIER_TEST_GCC} -pthread -ldl)
record_faults_program(openmp record_faults.c ${OMPTIER_TEST_GCC} -fopenmp -ldl)
record_faults_program(own-tool record_faults.c ${OMPTIER_TEST_CLANG} -fopenmp -ldl -DOWN_TOOL)
record_faults_program(shim.so record_faults_shim.c ${OMPTIER_TEST_GCC} -shared -fPIC -ldl)
add_custom_target(record_faults_programs ALL DEPENDS ${record_faults_programs})
foreach(case IN ITEMS children children_named children_chosen execs unseen daemon killed full folder proc perf
                      threads library privileged debugger timeout signals own_tool)
  add_test(NAME conformance.record-faults.${case}
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/record_faults.py ${case}
                   --omptier ${CMAKE_BINARY_DIR}/bin/omptier --programs ${record_faults_folder})
  set_tests_properties(conformance.record-faults.${case} PROPERTIES TIMEOUT 120 LABELS conformance)
endforeach()
