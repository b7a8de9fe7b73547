# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What a newcomer meets. In every ./test: the sets of ./bootstrap configure with nothing but their own
# packages, and what ./bootstrap says where something is wrong. ./test --bare runs README's commands in minimal
# Debian roots: newcomer.py.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
foreach(set IN ITEMS tools demo)
  omptier_test(bare.configure-${set}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/hidden.py ${set}
            --folder ${CMAKE_BINARY_DIR}/tests/hidden-${set}
    BESIDE TIMEOUT 60 SKIP_RETURN_CODE 77)
endforeach()
omptier_test(bare.packages
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/packages.py BESIDE TIMEOUT 60)
omptier_test(bare.bootstrap
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/bootstrap_cases.py BESIDE TIMEOUT 60)
omptier_test(bare.own-libraries
  COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/own_libraries.py BESIDE TIMEOUT 60)
