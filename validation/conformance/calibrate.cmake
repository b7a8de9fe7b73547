# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# omptier calibrate measures this machine, whatever its memory is. See calibrate.py.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
foreach(case IN ITEMS measured resumed kept refused one_processor)
  omptier_test(conformance.calibrate.${case}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/calibrate.py ${case}
            --omptier ${CMAKE_BINARY_DIR}/bin/omptier
            --folder ${CMAKE_BINARY_DIR}/tests/calibrate.${case}
    TIMEOUT 120 LABELS conformance)
endforeach()
