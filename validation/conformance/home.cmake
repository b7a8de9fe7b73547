# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# OMPTier where people work: man pages, help, completion in their shells, modules, Debian packages.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
if(NOT TARGET omptier_man OR NOT TARGET libomp)
  return()
endif()
set(cases man values help bash zsh fish module)
if(TARGET omptier_timing)
  list(APPEND cases packages)
endif()
foreach(case IN LISTS cases)
  set(lock)
  if(case MATCHES "module|packages") # they install
    set(lock RESOURCE_LOCK install)
  endif()
  omptier_test(conformance.home.${case}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/home.py ${case} ${CMAKE_BINARY_DIR} ${OMPTIER_SOURCE_DIR}
    BESIDE ${lock} TIMEOUT 60 LABELS conformance)
endforeach()
