# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Phases in the report: clang's program and gcc's on our runtime, gcc's on its own libgomp.
if(NOT TARGET libomp OR NOT TARGET libomptier_preload OR NOT TARGET libomptier_ompt)
  return()
endif()
set(record_phases_folder ${CMAKE_BINARY_DIR}/tests/record_phases)
set(record_phases_flags -std=gnu11 -O2 -g -Wall -Wextra -fopenmp ${CMAKE_CURRENT_LIST_DIR}/record_phases.c)
add_custom_command(OUTPUT ${record_phases_folder}/clang ${record_phases_folder}/gcc
  COMMAND ${CMAKE_COMMAND} -E make_directory ${record_phases_folder}
  COMMAND ${OMPTIER_TEST_CLANG} ${record_phases_flags} -DNAMED_PHASES -I${OMPTIER_SOURCE_DIR}/include
          -I${CMAKE_BINARY_DIR}/include-omp -o ${record_phases_folder}/clang $<TARGET_FILE:libomptier>
  COMMAND ${OMPTIER_TEST_GCC} ${record_phases_flags} -o ${record_phases_folder}/gcc
  DEPENDS ${CMAKE_CURRENT_LIST_DIR}/record_phases.c libomp libomptier
  COMMENT "record_phases" VERBATIM)
add_custom_target(record_phases ALL DEPENDS ${record_phases_folder}/clang ${record_phases_folder}/gcc)
# record_phases_case(<name> <case> <program> [options of record_phases.py…])
function(record_phases_case name case program)
  omptier_record_test(record-phases.${name} record_phases.py ${case} --program ${record_phases_folder}/${program} ${ARGN})
endfunction()
record_phases_case(stretches stretches clang)
record_phases_case(serial serial clang)
record_phases_case(named named clang)
record_phases_case(storm storm clang)
if(TARGET libomptier_exact)
  add_custom_command(OUTPUT ${record_phases_folder}/exact
    COMMAND ${CMAKE_COMMAND} -E make_directory ${record_phases_folder}
    COMMAND ${CMAKE_BINARY_DIR}/bin/omptier-cc ${record_phases_flags} -I${CMAKE_BINARY_DIR}/include-omp
            -L${CMAKE_BINARY_DIR}/lib -o ${record_phases_folder}/exact
    DEPENDS ${CMAKE_CURRENT_LIST_DIR}/record_phases.c libomp libomptier_exact
            ${OMPTIER_EXT_DIR}/sampling/exact/omptier-cc.in
    COMMENT "record_phases, every access counted" VERBATIM)
  add_custom_target(record_phases_exact ALL DEPENDS ${record_phases_folder}/exact)
  record_phases_case(exact exact exact)
endif()
record_phases_case(gcc stretches gcc)
record_phases_case(libgomp stretches gcc --stock /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
record_phases_case(libgomp-storm storm gcc --stock /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
record_phases_case(libgomp-serial serial gcc --stock /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
# Python's packages bring copies of libgomp under other names, each seen by its own library only.
omptier_record_test(record-phases.private-runtimes private_runtimes.py
                    --preload $<TARGET_FILE:libomptier_preload> --compiler ${OMPTIER_TEST_GCC})
