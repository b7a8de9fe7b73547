# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# One number a message: the table of notices, over the sources.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
omptier_test(conformance.notices
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/notices.py ${OMPTIER_SOURCE_DIR}
  BESIDE TIMEOUT 30 LABELS conformance)
