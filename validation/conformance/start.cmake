# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What a program's start opens, bare and by omptier run and record. See start.py.
if(NOT TARGET libomp OR NOT TARGET libomptier_preload)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(start_folder ${CMAKE_BINARY_DIR}/tests/start)
set(start_trace ${CMAKE_CURRENT_LIST_DIR}/start_trace.c)
omptier_test_program(start/start_cases ${OMPTIER_TEST_CLANG} start_cases.c -fopenmp
                     -I${CMAKE_BINARY_DIR}/include-omp -L${CMAKE_BINARY_DIR}/lib)
add_dependencies(start-start_cases libomp)
add_custom_command(OUTPUT ${start_folder}/libmemkind.so ${start_folder}/plug-ins/hwloc_trace.so
  COMMAND ${CMAKE_COMMAND} -E make_directory ${start_folder}/plug-ins
  COMMAND ${OMPTIER_TEST_GCC} -shared -fPIC "-DNAME=\"memkind\"" ${start_trace} -o ${start_folder}/libmemkind.so
  COMMAND ${OMPTIER_TEST_GCC} -shared -fPIC "-DNAME=\"hwloc_trace\"" ${start_trace}
          -o ${start_folder}/plug-ins/hwloc_trace.so
  DEPENDS ${start_trace} COMMENT "start_trace" VERBATIM)
add_custom_target(start_trace ALL
  DEPENDS ${start_folder}/libmemkind.so ${start_folder}/plug-ins/hwloc_trace.so)

omptier_test(conformance.start
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/start.py
          --omptier ${CMAKE_BINARY_DIR}/bin/omptier --program ${start_folder}/start_cases
          --traces ${start_folder} --folder ${start_folder}/run
  BESIDE TIMEOUT 60 LABELS conformance)
