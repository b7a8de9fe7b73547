# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

add_executable(sampling_accuracy
  ${CMAKE_CURRENT_LIST_DIR}/sampling_accuracy.cpp ${CMAKE_CURRENT_LIST_DIR}/sampling_kernels.cpp)
target_link_libraries(sampling_accuracy PRIVATE omptier_sampling)
set_target_properties(sampling_accuracy PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
set_source_files_properties(${CMAKE_CURRENT_LIST_DIR}/sampling_kernels.cpp PROPERTIES
  COMPILE_OPTIONS -O2)
