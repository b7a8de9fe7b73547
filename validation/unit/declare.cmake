# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(declare SOURCES declare_test.cpp declare_threads_test.cpp LINK omptier_allocators
  TEST ENVIRONMENT TSAN_OPTIONS=detect_deadlocks=0) # see allocators.cmake
target_sources(unit_declare PRIVATE $<TARGET_OBJECTS:omptier_exports>)
