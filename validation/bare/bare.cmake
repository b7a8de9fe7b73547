# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What a newcomer meets. In every ./test: the sets of ./bootstrap configure with nothing but their own
# packages. By ./test --bare (label bare): README's commands in minimal Debian roots; see newcomer.py.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
foreach(set IN ITEMS tools demo)
  omptier_test(bare.configure-${set}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/hidden.py ${set}
            --folder ${CMAKE_BINARY_DIR}/tests/hidden-${set}
    BESIDE TIMEOUT 60 SKIP_RETURN_CODE 77)
endforeach()
foreach(case IN ITEMS 12 13 no-apt)
  omptier_test(bare.${case}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/newcomer.py ${case}
    TIMEOUT 1800 LABELS bare SKIP_RETURN_CODE 77)
endforeach()
