# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The patched libomp: the patch only inserts; LLVM's own tests give what they give unpatched; programs
# of clang, gcc and gfortran run on it unchanged; libomptier.so sees every call once. The programs and
# scripts are in validation/llvm/.
#
# Default set: LLVM's api, env and parallel/bug54082* tests in all four states of library and memkind,
# its ompt tests once, with the real library. Label "all": the whole suite, with and without the library; and
# the libomps of the other LLVMs that our lines have places in, whose sources are fetched then (conformance.llvm-21.*).

if(NOT TARGET libomp)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
set(llvm_dir ${OMPTIER_SOURCE_DIR}/validation/llvm)

add_library(llvm_counting SHARED ${llvm_dir}/counting_library.cpp)
# Without omptier_flags: a sanitizer could not be loaded into programs built without it.
target_include_directories(llvm_counting PRIVATE ${OMPTIER_EXT_DIR})
target_compile_options(llvm_counting PRIVATE -Wall -Wextra $<$<BOOL:${OMPTIER_WERROR}>:-Werror>)
target_link_libraries(llvm_counting PRIVATE ${CMAKE_DL_LIBS})
set_target_properties(llvm_counting PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
set(llvm_counting_file ${CMAKE_BINARY_DIR}/tests/libllvm_counting.so)
add_dependencies(libomp libomp_stock) # tests compare with it

list(JOIN OMPTIER_BUILD_RUNTIME " " llvm_builder)

# conformance.<family>.patch_inserts_only, for one LLVM.
function(llvm_patch_test family llvm label)
  omptier_test(conformance.${family}.patch_inserts_only
    COMMAND ${Python3_EXECUTABLE} ${llvm_dir}/check_patch.py --libomp ${OMPTIER_EXT_DIR}/libomp
            --builder ${llvm_builder} --llvm ${llvm}
    BESIDE TIMEOUT 300 LABELS ${label})
endfunction()
llvm_patch_test(llvm ${OMPTIER_LIBOMP_BUILT} conformance)

# LLVM's tests: llvm_suite_test(<name> LIBRARY file|none MEMKIND hidden|visible [ALL] [LLVM other] PARTS …)
function(llvm_suite_test name)
  cmake_parse_arguments(ARG "ALL" "LIBRARY;MEMKIND;LLVM" "PARTS" ${ARGN})
  set(family llvm)
  if(ARG_LLVM)
    set(family llvm-${ARG_LLVM})
    set(llvm_builder "${llvm_builder} --llvm ${ARG_LLVM}")
  endif()
  set(form TIMEOUT 600 LABELS conformance)
  if(ARG_ALL)
    set(form TIMEOUT 3600 LABELS all)
  endif()
  # They use all processors and some measure time: alone.
  omptier_test(conformance.${family}.suite.${name}
    COMMAND ${Python3_EXECUTABLE} ${llvm_dir}/compare_suite.py --builder ${llvm_builder}
            --library ${ARG_LIBRARY} --memkind ${ARG_MEMKIND} ${ARG_PARTS}
    ${form})
endfunction()

set(llvm_short api env parallel/bug54082)
if(TARGET libomptier AND NOT OMPTIER_SANITIZE)
  set(llvm_library $<TARGET_FILE:libomptier>)
else()
  set(llvm_library ${llvm_counting_file})
endif()
foreach(memkind IN ITEMS hidden visible)
  llvm_suite_test(library_memkind_${memkind} LIBRARY ${llvm_library} MEMKIND ${memkind}
                  PARTS ${llvm_short})
  llvm_suite_test(alone_memkind_${memkind} LIBRARY none MEMKIND ${memkind} PARTS ${llvm_short})
endforeach()
llvm_suite_test(declining_library LIBRARY ${llvm_counting_file} MEMKIND hidden PARTS ${llvm_short})
llvm_suite_test(ompt LIBRARY ${llvm_library} MEMKIND hidden PARTS ompt)
llvm_suite_test(whole_library LIBRARY ${llvm_library} MEMKIND hidden ALL PARTS .)
llvm_suite_test(whole_alone LIBRARY none MEMKIND hidden ALL PARTS .)

# Programs: llvm_program_test(<source> <compiler> [option…])
function(llvm_program_test source compiler)
  string(REGEX REPLACE "\\.[a-z0-9]+$" "" name ${source})
  string(REGEX REPLACE "[^a-z0-9]" "" tag ${compiler})
  if(compiler MATCHES "\\+\\+")
    set(tag ${tag}pp)
  endif()
  set(test conformance.llvm.program.${name}.${tag})
  omptier_test(${test}
    COMMAND ${Python3_EXECUTABLE} ${llvm_dir}/check_program.py --source ${llvm_dir}/programs/${source}
            --compiler ${compiler} --runtime ${CMAKE_BINARY_DIR}/lib --counting ${llvm_counting_file} ${ARGN}
    BESIDE TIMEOUT 120 LABELS conformance)
endfunction()

foreach(compiler IN ITEMS clang-19 gcc)
  llvm_program_test(allocators.c ${compiler})
  llvm_program_test(directive.c ${compiler})
  llvm_program_test(codeptr.c ${compiler} --codeptr --flag=-rdynamic
                    --flag=-I${CMAKE_BINARY_DIR}/include-omp)
endforeach()
foreach(compiler IN ITEMS clang++-19 g++)
  llvm_program_test(regions.cpp ${compiler})
  llvm_program_test(allocators.c ${compiler} --flag=-xc++)
endforeach()
llvm_program_test(fortran.f90 gfortran)
llvm_program_test(newer.c gcc)
llvm_program_test(extended.cpp clang++-19 --takes --environment OMP_ALLOCATOR=ompx_hbm_mem_alloc)

omptier_test(conformance.llvm.loading
  COMMAND ${Python3_EXECUTABLE} ${llvm_dir}/check_loading.py --compiler clang-19
          --program ${llvm_dir}/programs/allocators.c --runtime ${CMAKE_BINARY_DIR}/lib
          --counting ${llvm_counting_file}
  BESIDE TIMEOUT 120 LABELS conformance)
omptier_test(conformance.llvm.names
  COMMAND ${Python3_EXECUTABLE} ${llvm_dir}/check_names.py
          --include ${CMAKE_BINARY_DIR}/include-omp --memory ${OMPTIER_SOURCE_DIR}/include
  BESIDE TIMEOUT 120 LABELS conformance)
omptier_test(conformance.llvm.fetch
  COMMAND ${Python3_EXECUTABLE} ${llvm_dir}/check_fetch.py --extension ${OMPTIER_EXT_DIR}
          --builder ${llvm_builder}
  BESIDE TIMEOUT 120 LABELS conformance)

# The other LLVMs, where their sources may be fetched.
if(OMPTIER_LIBOMP_SOURCE)
  return()
endif()
set(llvm_others ${OMPTIER_LIBOMP_VERSIONS})
list(REMOVE_ITEM llvm_others ${OMPTIER_LIBOMP_BUILT})
foreach(llvm IN LISTS llvm_others)
  llvm_patch_test(llvm-${llvm} ${llvm} all)
  omptier_test(conformance.llvm-${llvm}.programs
    COMMAND ${Python3_EXECUTABLE} ${llvm_dir}/check_other_version.py --build ${CMAKE_BINARY_DIR}
            --builder ${llvm_builder} --llvm ${llvm} --own-only "^conformance\\.lifetime\\."
            --tests "^conformance\\.(allocators|declare|semantics|lifetime|llvm\\.(program|names|loading))"
    TIMEOUT 1800 LABELS all)
  llvm_suite_test(whole_library LLVM ${llvm} LIBRARY ${llvm_library} MEMKIND hidden ALL PARTS .)
endforeach()

