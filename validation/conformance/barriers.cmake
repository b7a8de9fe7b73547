# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Moves at barriers inside one parallel region: on the real libomp, with nodes that are made up
# (barriers_runtime.cpp), in programs of both compilers; and what barriers cost where no plan names them.
# validation/virtual/barriers.cmake runs the same on nodes that are there.
if(NOT TARGET libomp OR NOT TARGET libomptier OR OMPTIER_SANITIZE)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(barriers_folder ${CMAKE_BINARY_DIR}/tests/barriers)
add_library(barriers_runtime SHARED ${CMAKE_CURRENT_LIST_DIR}/barriers_runtime.cpp
                                    $<TARGET_OBJECTS:omptier_exports>)
target_link_libraries(barriers_runtime PRIVATE omptier_allocators)
target_link_options(barriers_runtime PRIVATE
                    -Wl,--version-script=${OMPTIER_EXT_DIR}/allocators/libomptier.map)
set_target_properties(barriers_runtime PROPERTIES OUTPUT_NAME omptier
                      LIBRARY_OUTPUT_DIRECTORY ${barriers_folder})
foreach(compiler IN ITEMS clang gcc)
  string(TOUPPER ${compiler} upper)
  omptier_test_program(barriers/${compiler}/barriers_cases ${OMPTIER_TEST_${upper}} barriers_cases.c
    -std=gnu11 -fopenmp -rdynamic -I${CMAKE_BINARY_DIR}/include-omp -I${OMPTIER_SOURCE_DIR}/include
    -L${CMAKE_BINARY_DIR}/lib -lomptier)
  add_dependencies(barriers-${compiler}-barriers_cases libomp libomptier)
  omptier_test(conformance.barriers.${compiler}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/barriers.py
            --omptier ${CMAKE_BINARY_DIR}/bin/omptier --runtime ${CMAKE_BINARY_DIR}/lib/libomp.so
            --made-up ${barriers_folder}/libomptier.so
            --program ${barriers_folder}/${compiler}/barriers_cases
            --barrier $<IF:$<STREQUAL:${compiler},gcc>,GOMP_barrier,__kmpc_barrier>
            --folder ${barriers_folder}/${compiler}-runs
    BESIDE PROCESSORS 2 TIMEOUT 60 LABELS conformance)
endforeach()
list(JOIN OMPTIER_BUILD_RUNTIME " " barriers_builder)
omptier_test(conformance.barriers.cost
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/barriers_cost.py
          --runtime ${CMAKE_BINARY_DIR}/lib/libomp.so --builder ${barriers_builder}
          --compiler ${OMPTIER_TEST_CLANG} --folder ${barriers_folder}/cost
  TIMEOUT 120 LABELS conformance)
