# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What every folder's CMakeLists.txt builds with: common flags, and one function for a layer's library.
# Tests are declared with validation/tests.cmake.

include(GNUInstallDirs)
find_package(PkgConfig REQUIRED)
find_package(Threads REQUIRED)

if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Kind of build" FORCE)
endif()

set(CMAKE_C_STANDARD 11)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_C_VISIBILITY_PRESET hidden)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/lib)
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/archives)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

# What is installed finds libraries in folders that the loader does not search by itself (CMAKE_PREFIX_PATH).
set(CMAKE_INSTALL_RPATH_USE_LINK_PATH ON)

# What decodes instructions (samples, calls of statics) knows x86-64 only; elsewhere it is left out.
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64|AMD64")
  find_package(zydis REQUIRED)
  set(OMPTIER_DECODER Zydis::Zydis)
endif()

# A folder of our own: where the loader looks by itself, our libgomp.so.1 would become that of every program.
set(OMPTIER_INSTALL_LIBDIR ${CMAKE_INSTALL_LIBDIR}/omptier CACHE STRING
    "Where OMPTier's libraries and its OpenMP runtime are installed, all together; not where the loader looks")
set(OMPTIER_INSTALL_OMP_INCLUDE_DIR ${CMAKE_INSTALL_INCLUDEDIR}/omptier CACHE STRING
    "Where omp.h is installed; not where compilers look by themselves")

set(OMPTIER_SOURCE_DIR ${CMAKE_CURRENT_SOURCE_DIR})
set(OMPTIER_EXT_DIR ${CMAKE_CURRENT_SOURCE_DIR}/openmp-ext)

# Neither __FILE__ nor debug information carries a path of the build machine.
set(OMPTIER_PATH_FLAGS -ffile-prefix-map=${CMAKE_BINARY_DIR}=build
                       -ffile-prefix-map=${CMAKE_CURRENT_SOURCE_DIR}=.)

# Flags of all code of ours. (clang-19 takes for ours what libstdc++ 12 itself does in stable_sort with
# a function it has deprecated; gcc goes on telling of such calls of ours.)
add_library(omptier_flags INTERFACE)
target_include_directories(omptier_flags INTERFACE ${OMPTIER_EXT_DIR})
target_compile_options(omptier_flags INTERFACE
  -Wall -Wextra -Wshadow -Wcast-qual $<$<COMPILE_LANGUAGE:CXX>:-Wnon-virtual-dtor>
  ${OMPTIER_PATH_FLAGS}
  $<$<COMPILE_LANG_AND_ID:CXX,Clang>:-Wno-deprecated-declarations>
  $<$<BOOL:${OMPTIER_WERROR}>:-Werror>)
if(OMPTIER_SANITIZE)
  target_compile_options(omptier_flags INTERFACE
    -fsanitize=${OMPTIER_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=undefined)
  target_link_options(omptier_flags INTERFACE -fsanitize=${OMPTIER_SANITIZE})
endif()

# All debug information would cost a quarter of the build's time; lines are enough for a stack of calls.
# The debug preset has it all.
set(OMPTIER_LINES_ONLY $<$<CONFIG:RelWithDebInfo>:-g1>)

# Headers cost more than what the files hold. What looks for faults (sanitizers, clang-tidy, debug, the cross
# build) compiles each by itself all the same.
option(OMPTIER_UNITY "Compile several files of a folder at once" ON)
function(omptier_join_sources target)
  if(NOT OMPTIER_UNITY OR NOT CMAKE_BUILD_TYPE MATCHES "^Rel" OR OMPTIER_SANITIZE OR CMAKE_CXX_CLANG_TIDY)
    return()
  endif()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 24)
  if(CMAKE_CXX_COMPILER_ID STREQUAL GNU) # a class of a .cpp file is taken for a header's
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-Wno-subobject-linkage>)
  endif()
endfunction()

# Where options, JSON and text are half of the build's time with -O2 and no faster for it: neither optimised
# much nor with lines, which are a sixth of the rest.
function(omptier_compile_quickly target)
  if(OMPTIER_SANITIZE) # its reports name lines
    return()
  endif()
  target_compile_options(${target} PRIVATE "$<$<CONFIG:RelWithDebInfo>:-Og;-g0>")
endfunction()

# A layer: omptier_component(<folder> SOURCES a.cpp … [LINK omptier_base …])
function(omptier_component name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK" ${ARGN})
  add_library(omptier_${name} STATIC ${ARG_SOURCES})
  target_link_libraries(omptier_${name} PUBLIC omptier_flags ${ARG_LINK})
  target_compile_options(omptier_${name} PRIVATE ${OMPTIER_LINES_ONLY})
  omptier_join_sources(omptier_${name})
endfunction()

# A shared library that enters a stranger's process: only the symbols of its version script leave it,
# and the C++ runtime lies inside it. It is never unloaded: callbacks and signals may be on their way.
# omptier_guest_library(<target> VERSION_SCRIPT file SOURCES … LINK …)
function(omptier_guest_library target)
  cmake_parse_arguments(ARG "" "VERSION_SCRIPT" "SOURCES;LINK" ${ARGN})
  add_library(${target} SHARED ${ARG_SOURCES})
  target_link_libraries(${target} PRIVATE omptier_flags ${ARG_LINK})
  target_compile_options(${target} PRIVATE ${OMPTIER_LINES_ONLY})
  omptier_join_sources(${target})
  target_link_options(${target} PRIVATE
    LINKER:--version-script=${CMAKE_CURRENT_SOURCE_DIR}/${ARG_VERSION_SCRIPT}
    LINKER:-z,nodelete LINKER:--exclude-libs,ALL)
  if(NOT OMPTIER_SANITIZE) # else the program has the sanitizer, which also replaces operator new
    target_link_options(${target} PRIVATE LINKER:-z,defs -static-libstdc++ -static-libgcc)
  endif()
  set_target_properties(${target} PROPERTIES
    INSTALL_RPATH "$ORIGIN" BUILD_RPATH "$ORIGIN" BUILD_WITH_INSTALL_RPATH ON
    LINK_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${ARG_VERSION_SCRIPT})
endfunction()
