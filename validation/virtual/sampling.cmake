# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

add_executable(sampling_machine ${CMAKE_CURRENT_LIST_DIR}/sampling_machine.cpp)
target_link_libraries(sampling_machine PRIVATE omptier_sampling)
set_target_properties(sampling_machine PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
omptier_test(virtual.sampling-machine
  COMMAND ${CMAKE_BINARY_DIR}/bin/omptier sandbox --machine dram-hbm-nvm --timed --memory-events
          --timeout 180 -- ${CMAKE_BINARY_DIR}/tests/sampling_machine
  WORKING_DIRECTORY ${CMAKE_BINARY_DIR} TIMEOUT 240 LABELS virtual)
