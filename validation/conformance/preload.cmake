# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Programs that know nothing of OMPTier, placed by a plan through libomptier_preload.so: on our OpenMP
# runtime, on Debian's libomp and on GCC's libgomp, with glibc's malloc and with others. See preload.py.
# validation/virtual/preload.cmake runs the same where there are several kinds of memory.
if(NOT TARGET libomp OR NOT TARGET libomptier_preload)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_program(OMPTIER_TEST_CLANGXX NAMES clang++-19 REQUIRED)
find_program(OMPTIER_TEST_GXX NAMES g++-12 g++ REQUIRED)
find_program(OMPTIER_TEST_GFORTRAN NAMES gfortran-12 gfortran REQUIRED)
set(preload_folder ${CMAKE_BINARY_DIR}/tests/preload)
set(preload_programs "")

# preload_program(<name> <compiler> <source suffix> [flags and libraries…])
function(preload_program name compiler suffix)
  add_custom_command(OUTPUT ${preload_folder}/${name}
    COMMAND ${CMAKE_COMMAND} -E make_directory ${preload_folder}
    COMMAND ${compiler} -O2 -g -Wall -Wextra -fopenmp
            ${CMAKE_CURRENT_LIST_DIR}/preload_cases.${suffix} -o ${preload_folder}/${name} ${ARGN}
    DEPENDS ${CMAKE_CURRENT_LIST_DIR}/preload_cases.${suffix}
    COMMENT "preload_cases ${name}" VERBATIM)
  set(preload_programs ${preload_programs} ${preload_folder}/${name} PARENT_SCOPE)
endfunction()
preload_program(c-gcc ${OMPTIER_TEST_GCC} c)
preload_program(cpp-gcc ${OMPTIER_TEST_GXX} cpp)
preload_program(cpp-clang ${OMPTIER_TEST_CLANGXX} cpp)
preload_program(cpp-static-libstdc++ ${OMPTIER_TEST_GXX} cpp -static-libstdc++)
preload_program(c-jemalloc ${OMPTIER_TEST_GCC} c -DOTHER_MALLOC -Wl,--no-as-needed -ljemalloc)
preload_program(c-mimalloc ${OMPTIER_TEST_GCC} c -DOTHER_MALLOC -Wl,--no-as-needed -lmimalloc)
preload_program(cpp-jemalloc ${OMPTIER_TEST_GXX} cpp -Wl,--no-as-needed -ljemalloc)
preload_program(fortran ${OMPTIER_TEST_GFORTRAN} f90 -J ${preload_folder})
add_custom_target(preload_cases ALL DEPENDS ${preload_programs})

set(preload_test ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/preload.py
    --omptier ${CMAKE_BINARY_DIR}/bin/omptier)
# preload_case(<name> <program> [ALONE] [options of preload.py…])
function(preload_case name program)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "ALONE" "" "")
  set(order BESIDE)
  if(ARG_ALONE)
    set(order)
  endif()
  omptier_test(conformance.preload.${name}
    COMMAND ${preload_test} --program ${preload_folder}/${program}
            --folder ${preload_folder}/run-${name} ${ARG_UNPARSED_ARGUMENTS}
    ${order} TIMEOUT 120 LABELS conformance)
endfunction()
preload_case(c c-gcc --least 20 --nodes)
preload_case(c-own-runtime c-gcc --least 20 --nodes --runtime own)
preload_case(cpp cpp-gcc --nodes)
preload_case(cpp-libgomp cpp-gcc --nodes --runtime own)
preload_case(cpp-debian-libomp cpp-clang --nodes --runtime own --stock /usr/lib/llvm-19/lib)
preload_case(cpp-static-libstdc++ cpp-static-libstdc++ --nodes)
preload_case(fortran fortran --least 4)
preload_case(fortran-libgomp fortran --least 4 --runtime own)
preload_case(c-jemalloc c-jemalloc --least 20 --nodes)
preload_case(c-mimalloc c-mimalloc --least 20 --nodes)
# jemalloc brings its own new and delete, which never come to malloc: nothing is found, nothing breaks.
preload_case(cpp-jemalloc cpp-jemalloc --least 0)

# The examples, compiled with plain malloc (clang, gcc).
set(neutron_options --least 3 --hot-names "nuclide|unionized" --cold-names index --ignore second
    -- --size tiny --lookups 2000 --threads 2)
set(alternating_options --least 2 --hot-names "malloc#0" --cold-names "malloc#1" --ignore second
    -- --bytes 2M --rounds 1 --sweeps 1)
if(TARGET example_neutron_lookup-malloc)
  set(bin ${CMAKE_BINARY_DIR}/bin)
  foreach(example IN ITEMS neutron_lookup alternating)
    string(REGEX REPLACE "_.*" "" short ${example})
    omptier_test(conformance.preload.${short}
      COMMAND ${preload_test} --program ${bin}/${example}-malloc
              --folder ${preload_folder}/run-${short} ${${short}_options}
      BESIDE TIMEOUT 120 LABELS conformance)
    omptier_test(conformance.preload.${short}-libgomp
      COMMAND ${preload_test} --program ${bin}/${example}-malloc-gcc --runtime own
              --stock /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}
              --folder ${preload_folder}/run-${short}-gcc ${${short}_options}
      BESIDE TIMEOUT 120 LABELS conformance)
  endforeach()
endif()

# The OpenMP allocators and ompx_ functions on other runtimes: the cases of allocators.cmake.
if(TARGET allocators_cases)
  set(gcc_cases ${preload_folder}/allocators_cases-gcc)
  add_custom_command(OUTPUT ${gcc_cases}
    COMMAND ${OMPTIER_TEST_GCC} -std=gnu11 -O2 -g -fopenmp -I${OMPTIER_SOURCE_DIR}/include
            ${CMAKE_CURRENT_LIST_DIR}/allocators_cases.c -o ${gcc_cases} -Wno-alloc-size-larger-than
            $<TARGET_FILE:libomptier> -Wl,--enable-new-dtags -Wl,-rpath,${CMAKE_BINARY_DIR}/lib
    DEPENDS ${CMAKE_CURRENT_LIST_DIR}/allocators_cases.c ${CMAKE_CURRENT_LIST_DIR}/allocators_cases.h
            ${OMPTIER_SOURCE_DIR}/include/ompx_memory.h libomptier preload_cases
    COMMENT "allocators_cases, for libgomp" VERBATIM)
  add_custom_target(preload_stock ALL DEPENDS ${gcc_cases})
  foreach(case IN ITEMS required lacking semantics threads)
    omptier_test(conformance.preload.debian-libomp.${case}
      COMMAND ${allocators_cases} ${case} dram=0 BESIDE TIMEOUT 60 LABELS conformance
      ENVIRONMENT LD_LIBRARY_PATH=/usr/lib/llvm-19/lib LD_PRELOAD=$<TARGET_FILE:libomptier_preload>)
    omptier_test(conformance.preload.libgomp.${case}
      COMMAND ${gcc_cases} ${case} dram=0 BESIDE TIMEOUT 60 LABELS conformance
      ENVIRONMENT LD_LIBRARY_PATH=/usr/lib/${CMAKE_LIBRARY_ARCHITECTURE}
                  LD_PRELOAD=$<TARGET_FILE:libomptier_preload>)
  endforeach()
endif()

# Fallbacks beside an offload runtime (see allocators.cmake).
if(TARGET offload_free)
  omptier_test(conformance.preload.debian-libomp.offload-free
    COMMAND ${offload_free} BESIDE TIMEOUT 60 LABELS conformance
    ENVIRONMENT OMPTIER_CAPACITY=nvm:0 LD_LIBRARY_PATH=/usr/lib/llvm-19/lib
                LD_PRELOAD=$<TARGET_FILE:libomptier_preload>)
endif()

# Small blocks by a plan.
set(placed_small ${preload_folder}/placed_small)
add_custom_command(OUTPUT ${placed_small}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${preload_folder}
  COMMAND ${OMPTIER_TEST_GXX} -O2 -g -Wall -Wextra ${CMAKE_CURRENT_LIST_DIR}/placed_small.cpp -o ${placed_small}
          -lpthread
  DEPENDS ${CMAKE_CURRENT_LIST_DIR}/placed_small.cpp
  COMMENT "placed_small" VERBATIM)
add_custom_target(placed_small ALL DEPENDS ${placed_small})
set(placed_small_test ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/placed_small.py
    --omptier ${CMAKE_BINARY_DIR}/bin/omptier --program ${placed_small})
omptier_test(conformance.preload.small
  COMMAND ${placed_small_test} --folder ${preload_folder}/run-small BESIDE TIMEOUT 120 LABELS conformance)

omptier_openmp_program(place_range SOURCE place_range.c FLAGS -Wno-unused-function
                       DEPENDS allocators_cases.h)
omptier_test(conformance.preload.place-range COMMAND ${place_range} dram=0 TIMEOUT 60 LABELS conformance)

# What the library stands in front of is its version script, no more; what it costs, in instructions.
omptier_test(conformance.preload.cost
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/preload_cost.py
          --preload $<TARGET_FILE:libomptier_preload> --compiler ${OMPTIER_TEST_GCC}
          --map ${OMPTIER_EXT_DIR}/preload/libomptier_preload.map --folder ${preload_folder}
  TIMEOUT 120 LABELS conformance)

# Where the loader's read-only data ends within a page.
add_custom_command(OUTPUT ${preload_folder}/relro
  COMMAND ${CMAKE_COMMAND} -E make_directory ${preload_folder}
  COMMAND ${OMPTIER_TEST_GCC} -O2 -g -Wall -Wextra -Wl,-z,relro,-z,now
          ${CMAKE_CURRENT_LIST_DIR}/preload_relro.c -o ${preload_folder}/relro
  DEPENDS ${CMAKE_CURRENT_LIST_DIR}/preload_relro.c
  COMMENT "preload_relro" VERBATIM)
add_custom_target(preload_relro ALL DEPENDS ${preload_folder}/relro)
omptier_test(conformance.preload.relro
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/preload_relro.py ${preload_folder}/relro
          $<TARGET_FILE:libomptier_preload>
  BESIDE TIMEOUT 60 LABELS conformance)

# What runs in the program's signal handlers calls nothing that may not be called there.
omptier_test(conformance.preload.signal-safe
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/preload_signal_safe.py
          $<TARGET_OBJECTS:libomptier_preload> $<TARGET_OBJECTS:omptier_sampling>
  BESIDE TIMEOUT 30 LABELS conformance)

# Frees and allocations in a fork handler that was registered before OMPTier's.
set(fork_program ${preload_folder}/fork)
add_custom_command(OUTPUT ${fork_program}
  COMMAND ${CMAKE_COMMAND} -E make_directory ${preload_folder}
  COMMAND ${OMPTIER_TEST_GCC} -O2 -g -Wall -Wextra -shared -fPIC -DLIBRARY
          ${CMAKE_CURRENT_LIST_DIR}/preload_fork.c -o ${preload_folder}/libpreload_fork.so
  COMMAND ${OMPTIER_TEST_GCC} -O2 -g -Wall -Wextra ${CMAKE_CURRENT_LIST_DIR}/preload_fork.c -o ${fork_program}
          ${preload_folder}/libpreload_fork.so
  DEPENDS ${CMAKE_CURRENT_LIST_DIR}/preload_fork.c
  COMMENT "preload_fork" VERBATIM)
add_custom_target(preload_fork ALL DEPENDS ${fork_program})
preload_case(fork fork ALONE --least 1)

# Forks while other threads' blocks are listed.
add_custom_command(OUTPUT ${preload_folder}/sites_fork
  COMMAND ${CMAKE_COMMAND} -E make_directory ${preload_folder}
  COMMAND ${OMPTIER_TEST_GCC} -O2 -g -Wall -Wextra ${CMAKE_CURRENT_LIST_DIR}/preload_sites_fork.c
          -o ${preload_folder}/sites_fork -lpthread
  DEPENDS ${CMAKE_CURRENT_LIST_DIR}/preload_sites_fork.c
  COMMENT "preload_sites_fork" VERBATIM)
add_custom_target(preload_sites_fork ALL DEPENDS ${preload_folder}/sites_fork)
omptier_test(conformance.preload.sites-fork COMMAND ${preload_folder}/sites_fork
  TIMEOUT 60 LABELS conformance
  ENVIRONMENT LD_PRELOAD=$<TARGET_FILE:libomptier_preload> OMPTIER_SITES=${preload_folder}/sites-fork.plan)

# The OpenMP runtime comes with a plugin, after OMPTier was called.
add_custom_command(OUTPUT ${preload_folder}/plugin
  COMMAND ${CMAKE_COMMAND} -E make_directory ${preload_folder}
  COMMAND ${OMPTIER_TEST_GCC} -O2 -g -Wall -Wextra -I${OMPTIER_SOURCE_DIR}/include -DPLUGIN -fopenmp -shared -fPIC
          ${CMAKE_CURRENT_LIST_DIR}/preload_plugin.c -o ${preload_folder}/plugin.so
  COMMAND ${OMPTIER_TEST_GCC} -O2 -g -Wall -Wextra -I${OMPTIER_SOURCE_DIR}/include
          ${CMAKE_CURRENT_LIST_DIR}/preload_plugin.c -o ${preload_folder}/plugin
  DEPENDS ${CMAKE_CURRENT_LIST_DIR}/preload_plugin.c ${OMPTIER_SOURCE_DIR}/include/ompx_memory.h
  COMMENT "preload_plugin" VERBATIM)
add_custom_target(preload_plugin ALL DEPENDS ${preload_folder}/plugin)
omptier_test(conformance.preload.plugin COMMAND ${preload_folder}/plugin ${preload_folder}/plugin.so
  TIMEOUT 60 LABELS conformance ENVIRONMENT LD_PRELOAD=$<TARGET_FILE:libomptier_preload>)

omptier_test(conformance.preload.refusals
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/preload_refusals.py
          --omptier ${CMAKE_BINARY_DIR}/bin/omptier --compiler ${OMPTIER_TEST_GCC}
          --folder ${preload_folder}/refusals
  TIMEOUT 60 LABELS conformance)
omptier_test(conformance.preload.constants
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/preload_constants.py
          --omptier ${CMAKE_BINARY_DIR}/bin/omptier --compiler ${OMPTIER_TEST_GCC}
          --folder ${preload_folder}/constants
  BESIDE TIMEOUT 60 LABELS conformance)
