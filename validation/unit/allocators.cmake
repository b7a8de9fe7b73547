# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
# The deadlock detector of the thread sanitizer ends at 64 locks held at once; a fork takes more.
omptier_unit_test(allocators SOURCES allocators_test.cpp existing_memory_test.cpp site_list_test.cpp
  LINK omptier_allocators TEST ENVIRONMENT TSAN_OPTIONS=detect_deadlocks=0)
target_sources(unit_allocators PRIVATE $<TARGET_OBJECTS:omptier_exports>)
