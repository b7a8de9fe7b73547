# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Memory that is limited by others: a job's processes, control groups, a cpuset; objects split by a plan.
add_executable(capacity_cases ${CMAKE_CURRENT_LIST_DIR}/capacity_cases.cpp
                              $<TARGET_OBJECTS:omptier_exports>)
target_link_libraries(capacity_cases PRIVATE omptier_allocators)
set_target_properties(capacity_cases PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
foreach(name IN ITEMS share race group cpuset parts rest)
  omptier_machine_test(capacity.${name} MACHINE dram-hbm-nvm
                       COMMAND ${CMAKE_BINARY_DIR}/tests/capacity_cases ${name})
endforeach()
