# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(chunked SOURCES chunked_test.cpp LINK omptier_allocators
  TEST ENVIRONMENT TSAN_OPTIONS=detect_deadlocks=0) # see allocators.cmake
