# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(statics SOURCES statics_test.cpp LINK omptier_objects)
omptier_unit_test(objects SOURCES objects_test.cpp objects_calls.cpp LINK omptier_objects)
target_link_options(unit_objects PRIVATE -rdynamic)
# Code without frame pointers, as programs are built; nothing inlined or merged across the file.
set_property(SOURCE ${CMAKE_CURRENT_LIST_DIR}/objects_calls.cpp APPEND PROPERTY
  COMPILE_OPTIONS "-O2;-fomit-frame-pointer;-fno-optimize-sibling-calls")
# A library without build-id, so that its identity is made by hashing; some MB, so that it takes a while.
add_library(modules_fork_library SHARED ${CMAKE_CURRENT_LIST_DIR}/modules_fork_library.c)
set_target_properties(modules_fork_library PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
target_link_options(modules_fork_library PRIVATE -Wl,--build-id=none)
if(CMAKE_CROSSCOMPILING) # hashed under emulation
  target_compile_definitions(modules_fork_library PRIVATE MODULES_FORK_BYTES=524288)
endif()
omptier_unit_test(modules_fork SOURCES modules_fork_test.cpp LINK omptier_objects)
target_compile_definitions(unit_modules_fork PRIVATE MODULES_FORK_LIBRARY="$<TARGET_FILE:modules_fork_library>")
add_dependencies(unit_modules_fork modules_fork_library)
