# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The rule of layers in docs/design.md, over the sources.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
omptier_test(conformance.layers
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/layers.py ${OMPTIER_SOURCE_DIR}
  BESIDE TIMEOUT 30 LABELS conformance)
