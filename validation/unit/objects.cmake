# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(statics SOURCES statics_test.cpp LINK omptier_objects)
omptier_unit_test(objects SOURCES objects_test.cpp objects_calls.cpp LINK omptier_objects)
target_link_options(unit_objects PRIVATE -rdynamic)
# Code without frame pointers, as programs are built; nothing inlined or merged across the file.
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/objects_calls.cpp PROPERTIES
  COMPILE_OPTIONS "-O2;-fomit-frame-pointer;-fno-optimize-sibling-calls")
