# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# omptier record of malloc: on our runtime, Debian's libomp, GCC's libgomp and without OpenMP; with glibc's
# malloc, with others linked in, and with a program's own.
if(NOT TARGET libomp OR NOT TARGET libomptier_preload OR NOT TARGET libomptier_ompt)
  return()
endif()
set(record_malloc_folder ${CMAKE_BINARY_DIR}/tests/record_malloc)
set(record_malloc_programs "")
# record_malloc_program(<name> <compiler> <source suffix> [flags and libraries…])
function(record_malloc_program name compiler suffix)
  add_custom_command(OUTPUT ${record_malloc_folder}/${name}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${record_malloc_folder}
    COMMAND ${compiler} -O2 -g -Wall -Wextra -fno-builtin ${CMAKE_CURRENT_LIST_DIR}/record_malloc.${suffix}
            -o ${record_malloc_folder}/${name} ${ARGN}
    DEPENDS ${CMAKE_CURRENT_LIST_DIR}/record_malloc.${suffix}
    COMMENT "record_malloc ${name}" VERBATIM)
  set(record_malloc_programs ${record_malloc_programs} ${record_malloc_folder}/${name} PARENT_SCOPE)
endfunction()
record_malloc_program(threads ${OMPTIER_TEST_GCC} c -lpthread)
record_malloc_program(gcc ${OMPTIER_TEST_GCC} c -fopenmp)
record_malloc_program(clang ${OMPTIER_TEST_CLANG} c -fopenmp)
record_malloc_program(jemalloc ${OMPTIER_TEST_GCC} c -lpthread -Wl,--no-as-needed -ljemalloc)
record_malloc_program(mimalloc ${OMPTIER_TEST_GCC} c -lpthread -Wl,--no-as-needed -lmimalloc)
record_malloc_program(tcmalloc ${OMPTIER_TEST_GCC} c -lpthread -Wl,--no-as-needed -l:libtcmalloc_minimal.so.4)
record_malloc_program(own-malloc ${OMPTIER_TEST_GCC} c -lpthread -DOWN_MALLOC)
record_malloc_program(cpp ${OMPTIER_TEST_GXX} cpp)
record_malloc_program(static-libstdc++ ${OMPTIER_TEST_GXX} cpp -static-libstdc++ -static-libgcc)
add_custom_target(record_malloc_programs ALL DEPENDS ${record_malloc_programs})

# record_malloc_case(<name> <program> [options of record_malloc.py…])
function(record_malloc_case name program)
  add_test(NAME conformance.record-malloc.${name}
           COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/record_malloc.py
                   --omptier ${CMAKE_BINARY_DIR}/bin/omptier --program ${record_malloc_folder}/${program} ${ARGN})
  set_tests_properties(conformance.record-malloc.${name} PROPERTIES TIMEOUT 240 LABELS conformance)
endfunction()
record_malloc_case(threads threads --small 300000)
record_malloc_case(omptier gcc)
record_malloc_case(libgomp gcc --runtime own --stock /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE})
record_malloc_case(debian-libomp clang --runtime own --stock /usr/lib/llvm-19/lib)
record_malloc_case(jemalloc jemalloc --small 300000)
record_malloc_case(mimalloc mimalloc --small 300000)
record_malloc_case(tcmalloc tcmalloc --small 300000)
record_malloc_case(own-malloc own-malloc --unseen --names hot_malloc,by_calloc,grown)
record_malloc_case(cpp cpp --names by_new,in_vector --hot by_new)
record_malloc_case(static-libstdc++ static-libstdc++ --names by_new,in_vector --hot by_new)
