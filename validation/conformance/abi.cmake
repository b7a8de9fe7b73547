# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Exported symbols, numbers, and a program of the first release: see validation/abi/README.md.
if(NOT TARGET libomp OR NOT TARGET libomptier)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
omptier_test(conformance.abi
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/abi.py --build ${CMAKE_BINARY_DIR}
  BESIDE TIMEOUT 120 LABELS conformance)
omptier_test(conformance.version
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/version.py --build ${CMAKE_BINARY_DIR}
  BESIDE TIMEOUT 60 LABELS conformance)
