# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Everything for aarch64, built and run under emulation, in a build tree of its own (build/aarch64).
omptier_test(cross.aarch64 COMMAND ${CMAKE_CURRENT_LIST_DIR}/check
             COST 900 TIMEOUT 1800 LABELS all SKIP_RETURN_CODE 77)
