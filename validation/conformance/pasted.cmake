# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The source that omptier advise prints compiles where it says, and places as its plan does.
if(NOT TARGET libomp OR NOT TARGET libomptier OR NOT TARGET libomptier_preload OR NOT TARGET libomptier_ompt)
  return()
endif()
find_program(OMPTIER_FLANG NAMES flang-new-19 flang-19)
find_program(OMPTIER_TEST_GFORTRAN NAMES gfortran-12 gfortran REQUIRED)
find_program(OMPTIER_TEST_CLANGXX NAMES clang++-19 REQUIRED)
find_program(OMPTIER_TEST_GXX NAMES g++-12 g++ REQUIRED)
set(fortran ${OMPTIER_TEST_GFORTRAN})
if(OMPTIER_FLANG)
  string(APPEND fortran ",${OMPTIER_FLANG}")
endif()
omptier_record_test(pasted.c pasted.py c --compilers ${OMPTIER_TEST_CLANG},${OMPTIER_TEST_GCC}
                    TIMEOUT 60 TEST BESIDE)
omptier_record_test(pasted.cpp pasted.py cpp --compilers ${OMPTIER_TEST_CLANGXX},${OMPTIER_TEST_GXX}
                    TIMEOUT 60 TEST BESIDE)
omptier_record_test(pasted.fortran pasted.py fortran --compilers ${fortran}
                    --module ${CMAKE_BINARY_DIR}/include/ompx_memory.f90 TIMEOUT 60 TEST BESIDE)
