# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

set(decoding_tests sampling_code_facts_test.cpp sampling_source_test.cpp emulation_decode_test.cpp emulation_emulate_test.cpp emulation_emulate_cases.cpp
  emulation_float_test.cpp emulation_gathered_test.cpp emulation_index_reuse_test.cpp emulation_loop_test.cpp emulation_needed_test.cpp emulation_pace_test.cpp emulation_stored_back_test.cpp
  emulation_counted_test.cpp emulation_streams_test.cpp emulation_tested_test.cpp)
if(NOT OMPTIER_DECODER)
  set(decoding_tests) # assembly of x86-64, and sources that need decoded instructions
endif()
set(sampling_tests sampling_records_test.cpp sampling_budget_test.cpp sampling_hardware_test.cpp
  sampling_reuse_test.cpp ${decoding_tests})
omptier_unit_test(sampling SOURCES ${sampling_tests} LINK omptier_sampling)

# What is sampled and emulated is the compiler's code, without a sanitizer's calls in its loops.
set(plain)
if(OMPTIER_SANITIZE)
  set(plain -fno-sanitize=all)
endif()
list(TRANSFORM sampling_tests PREPEND ${CMAKE_CURRENT_LIST_DIR}/)
set_property(SOURCE ${sampling_tests} APPEND PROPERTY COMPILE_OPTIONS ${plain})
set_property(SOURCE ${CMAKE_CURRENT_LIST_DIR}/emulation_emulate_cases.cpp APPEND PROPERTY COMPILE_OPTIONS -O2)

add_executable(sampling_hardware ${CMAKE_CURRENT_LIST_DIR}/sampling_hardware.cpp)
target_link_libraries(sampling_hardware PRIVATE omptier_sampling)
set_target_properties(sampling_hardware PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
omptier_test(unit.sampling-hardware COMMAND sampling_hardware
             TIMEOUT 60 LABELS unit SKIP_RETURN_CODE 77)

# The example's sources, without OpenMP: one thread. Not under a sanitizer, which slows the sampler by twenty.
if(NOT OMPTIER_DECODER OR OMPTIER_SANITIZE)
  return()
endif()
set(neutron ${OMPTIER_SOURCE_DIR}/examples/neutron_lookup)
add_executable(sampling_accuracy
  ${CMAKE_CURRENT_LIST_DIR}/sampling_accuracy.cpp ${CMAKE_CURRENT_LIST_DIR}/sampling_kernels.cpp
  ${CMAKE_CURRENT_LIST_DIR}/sampling_neutron.cpp
  ${neutron}/grids.cpp ${neutron}/materials.cpp ${neutron}/lookup.cpp)
target_include_directories(sampling_accuracy PRIVATE ${neutron})
target_compile_options(sampling_accuracy PRIVATE -Wno-unknown-pragmas)
target_link_libraries(sampling_accuracy PRIVATE omptier_sampling)
set_target_properties(sampling_accuracy PROPERTIES
  RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
set_source_files_properties(
  ${CMAKE_CURRENT_LIST_DIR}/sampling_kernels.cpp ${CMAKE_CURRENT_LIST_DIR}/sampling_neutron.cpp
  ${neutron}/grids.cpp ${neutron}/materials.cpp ${neutron}/lookup.cpp
  PROPERTIES COMPILE_OPTIONS -O2)
foreach(source IN ITEMS perf timer)
  omptier_test(unit.sampling-accuracy-${source}
    COMMAND sampling_accuracy ${source} 15 chase gather triad histogram two-tables search neutron stencil
    TIMEOUT 600 LABELS unit)
  omptier_test(unit.sampling-accuracy-scatter-${source} COMMAND sampling_accuracy ${source} 15 scatter
    TIMEOUT 300 LABELS unit SKIP_RETURN_CODE 77)
endforeach()
