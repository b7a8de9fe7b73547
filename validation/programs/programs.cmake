# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Programs that know what they do with their memory, for measure.py to hold reports against. Whether the
# figures are right is no test; that the programs build, agree with themselves and can be measured is.
if(NOT TARGET libomp OR NOT TARGET libomptier_preload OR NOT TARGET libomptier_ompt)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
omptier_test(conformance.programs
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/measure.py --check
          --omptier ${CMAKE_BINARY_DIR}/bin/omptier
  BESIDE COST 15 TIMEOUT 60 LABELS conformance)
