# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(allocators SOURCES allocators_test.cpp existing_memory_test.cpp site_list_test.cpp LINK omptier_allocators)
target_sources(unit_allocators PRIVATE $<TARGET_OBJECTS:omptier_exports>)
