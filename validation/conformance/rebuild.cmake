# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# A plan made for one build of a program, applied to other builds of it; with and without debug
# information, by both compilers.
if(NOT TARGET libomp OR NOT TARGET libomptier OR NOT TARGET libomptier_ompt)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(rebuild_folder ${CMAKE_BINARY_DIR}/tests/rebuild)
set(rebuild_programs "")
foreach(compiler IN ITEMS clang gcc)
  string(TOUPPER ${compiler} upper)
  foreach(build IN ITEMS 0-debug 1-debug 2-debug 1-plain 2-plain)
    string(SUBSTRING ${build} 0 1 change)
    set(debug $<IF:$<STREQUAL:${build},${change}-debug>,-g,-g0>)
    set(program ${rebuild_folder}/${compiler}-${build}/solver)
    add_custom_command(
      OUTPUT ${program}
      COMMAND ${CMAKE_COMMAND} -E make_directory ${rebuild_folder}/${compiler}-${build}
      COMMAND ${OMPTIER_TEST_${upper}} -std=gnu11 -O2 ${debug} -Wall -Wextra -fopenmp
              -DCHANGE=${change} -I${CMAKE_BINARY_DIR}/include-omp -I${OMPTIER_SOURCE_DIR}/include
              ${CMAKE_CURRENT_LIST_DIR}/rebuild_cases.c $<TARGET_FILE:libomptier> -o ${program}
      DEPENDS ${CMAKE_CURRENT_LIST_DIR}/rebuild_cases.c libomp libomptier
      COMMENT "rebuild_cases ${compiler} ${build}" VERBATIM)
    list(APPEND rebuild_programs ${program})
  endforeach()
endforeach()
add_custom_target(rebuild_cases ALL DEPENDS ${rebuild_programs})
foreach(compiler IN ITEMS clang gcc)
  omptier_test(conformance.rebuild.${compiler}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/rebuild.py
            --omptier ${CMAKE_BINARY_DIR}/bin/omptier --builds ${rebuild_folder}/${compiler}
            --machine ${OMPTIER_SOURCE_DIR}/validation/fixtures/machines/dram-hbm-nvm.xml
    BESIDE TIMEOUT 120 LABELS conformance)
endforeach()
