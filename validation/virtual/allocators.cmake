# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The cases of validation/conformance/allocators_cases.c where there are several kinds of memory.
if(NOT TARGET allocators_cases)
  return()
endif()
set(three dram=0 hbm=1 nvm=2)
# virtual_allocators_case(<case> MACHINE preset NODES kind=node … [ENVIRONMENT A=b …])
function(virtual_allocators_case name)
  cmake_parse_arguments(ARG "" "MACHINE" "NODES;ENVIRONMENT" ${ARGN})
  omptier_machine_test(allocators.${name}.${ARG_MACHINE} MACHINE ${ARG_MACHINE}
    COMMAND env OMP_WAIT_POLICY=passive ${ARG_ENVIRONMENT} ${allocators_cases} ${name} ${ARG_NODES}
    TEST BESIDE)
endfunction()
foreach(name IN ITEMS required lacking exhaustion preferred taken standard semantics threads)
  virtual_allocators_case(${name} MACHINE dram-hbm-nvm NODES ${three})
endforeach()
virtual_allocators_case(capacity MACHINE dram-hbm-nvm NODES ${three}
                        ENVIRONMENT OMPTIER_CAPACITY=hbm:64M,dram:32M)
virtual_allocators_case(first-come MACHINE dram-hbm-nvm NODES ${three}
                        ENVIRONMENT OMPTIER_STRATEGY=first-come OMPTIER_CAPACITY=hbm:0,dram:32M)
virtual_allocators_case(only-nvm MACHINE dram-hbm-nvm NODES ${three}
                        ENVIRONMENT OMPTIER_STRATEGY=only-nvm)
virtual_allocators_case(environment MACHINE dram-hbm-nvm NODES ${three}
                        ENVIRONMENT OMP_ALLOCATOR=ompx_nvm_mem_space:alignment=4K,label=all)
virtual_allocators_case(required MACHINE dram-cxl NODES dram=0 cxl=1)
virtual_allocators_case(required MACHINE icelake-optane NODES dram=0+1 nvm=2+3)

# A plan by call stack and by region, through the hooks.
add_executable(allocators_plan ${CMAKE_CURRENT_LIST_DIR}/allocators_plan.cpp
                               $<TARGET_OBJECTS:omptier_exports>)
target_link_libraries(allocators_plan PRIVATE omptier_allocators)
set_target_properties(allocators_plan PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
omptier_machine_test(allocators.plan MACHINE dram-hbm-nvm
                     COMMAND ${CMAKE_BINARY_DIR}/tests/allocators_plan /tmp TEST BESIDE)
