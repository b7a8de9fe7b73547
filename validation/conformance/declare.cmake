# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Declare and commit on this machine; validation/virtual/declare.cmake has the decisions between kinds.
if(NOT TARGET libomp OR NOT TARGET libomptier)
  return()
endif()
omptier_openmp_program(declare_cases SOURCE declare_cases.c FLAGS -Wno-unused-function
                       DEPENDS allocators_cases.h)
foreach(name IN ITEMS basics threads fallback)
  omptier_test(conformance.declare.${name} COMMAND ${declare_cases} ${name} dram=0
               BESIDE TIMEOUT 60 LABELS conformance)
endforeach()
