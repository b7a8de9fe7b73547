# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Lifetimes of processes, threads, libraries and the runtime; limits and refusals. Each case is a
# process of its own that must end by itself, print nothing on stdout and warn at most once.
if(NOT TARGET libomp OR NOT TARGET libomptier)
  return()
endif()
set(lifetime_cases ${CMAKE_BINARY_DIR}/tests/lifetime_cases)
set(lifetime_includes -I${CMAKE_BINARY_DIR}/include-omp -I${OMPTIER_SOURCE_DIR}/include)
set(lifetime_parts lifetime_cases lifetime_fork lifetime_end lifetime_limits lifetime_refusals)
list(TRANSFORM lifetime_parts PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
list(TRANSFORM lifetime_parts APPEND .c)

# Libraries of others: one to load and unload, one destroyed before the runtime, one after it (it does
# not name the runtime as its dependency and is linked behind it, so it is started first).
foreach(library IN ITEMS library early late)
  set(needs "")
  if(NOT library STREQUAL late)
    set(needs -L${CMAKE_BINARY_DIR}/lib -lomp)
  endif()
  add_custom_command(
    OUTPUT ${lifetime_cases}-${library}.so
    COMMAND ${OMPTIER_TEST_CLANG} -std=c++17 -O2 -g -Wall -Wextra -fPIC -shared
            -DKEEPS=${library}_library_keeps ${lifetime_includes}
            ${CMAKE_CURRENT_LIST_DIR}/lifetime_library.cpp -o ${lifetime_cases}-${library}.so
            ${needs} -lstdc++ -Wl,-soname,lifetime_cases-${library}.so
    DEPENDS ${CMAKE_CURRENT_LIST_DIR}/lifetime_library.cpp ${CMAKE_CURRENT_LIST_DIR}/lifetime.h libomp
    COMMENT "lifetime_cases-${library}.so" VERBATIM)
endforeach()
add_custom_command(
  OUTPUT ${lifetime_cases}
  COMMAND ${OMPTIER_TEST_CLANG} -std=gnu11 -O2 -g -Wall -Wextra -fopenmp ${lifetime_includes}
          ${lifetime_parts} -o ${lifetime_cases}
          ${lifetime_cases}-early.so -L${CMAKE_BINARY_DIR}/lib -lomptier -ldl
          -Wl,--no-as-needed -lomp ${lifetime_cases}-late.so
          -Wl,-rpath,${CMAKE_BINARY_DIR}/lib -Wl,-rpath,${CMAKE_BINARY_DIR}/tests
  DEPENDS ${lifetime_parts} ${CMAKE_CURRENT_LIST_DIR}/lifetime.h
          ${OMPTIER_SOURCE_DIR}/include/ompx_memory.h
          ${lifetime_cases}-library.so ${lifetime_cases}-early.so ${lifetime_cases}-late.so
          libomp libomptier
  COMMENT "lifetime_cases" VERBATIM)
add_custom_target(lifetime_cases ALL DEPENDS ${lifetime_cases})

foreach(name IN ITEMS
        fork fork-many fork-busy fork-commit shared-memory
        dlclose thread-exit main-thread-exit exit-busy destructors pause runtime-end
        address-space-1g address-space-16g no-descriptors no-descriptors-later
        no-descriptors-at-discovery closed-streams locale small-stacks signals more-rights
        numa-eperm numa-enosys query-refused policies-refused advice-refused no-sys no-proc
        no-sys-no-proc)
  omptier_test(conformance.lifetime.${name} COMMAND ${lifetime_cases} ${name}
               TIMEOUT 120 LABELS conformance)
endforeach()
set_tests_properties(conformance.lifetime.fork-many PROPERTIES ENVIRONMENT OMPTIER_CAPACITY=dram:3G)
