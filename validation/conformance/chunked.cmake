# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Arrays in chunks on this machine; validation/virtual/chunked.cmake has NVM behind DRAM.
if(NOT TARGET libomp OR NOT TARGET libomptier)
  return()
endif()
omptier_openmp_program(chunked_cases SOURCE chunked_cases.c FLAGS -Wno-unused-function
                       DEPENDS allocators_cases.h)
foreach(name IN ITEMS modes halo order early no-room refused fork threads)
  omptier_test(conformance.chunked.${name} COMMAND ${chunked_cases} ${name} dram=0
               BESIDE TIMEOUT 60 LABELS conformance)
endforeach()

# Our own threads are in no profile.
if(TARGET libomptier_preload AND TARGET libomptier_ompt)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  omptier_record_test(chunked.recorded chunked_recorded.py TIMEOUT 60 --program ${chunked_cases})
endif()
