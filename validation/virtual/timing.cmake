# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The time model: what the timed machine shows is what it is specified to show. Each of these tests
# wants the processors for itself.
if(TARGET omptier_time_model)
  find_package(OpenMP REQUIRED COMPONENTS C)
  add_executable(timing_events ${CMAKE_CURRENT_LIST_DIR}/timing_events.c)
  target_link_libraries(timing_events PRIVATE omptier_flags OpenMP::OpenMP_C m)
  target_compile_options(timing_events PRIVATE -O2 -march=x86-64-v3)
  set_target_properties(timing_events PROPERTIES
    C_EXTENSIONS ON RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)

  set(threads env OMP_NUM_THREADS=4 OMP_WAIT_POLICY=passive OMP_PROC_BIND=true)
  omptier_test(virtual.timing.ratios
    COMMAND ${OMPTIER_SOURCE_DIR}/validation/alone sh ${CMAKE_CURRENT_LIST_DIR}/timing_ratios_host.sh
            ${CMAKE_BINARY_DIR}/bin/omptier ${threads}
            sh ${CMAKE_CURRENT_LIST_DIR}/timing_ratios.sh ${CMAKE_BINARY_DIR}/benchmarks/node_kernels
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR} TIMEOUT 660 LABELS virtual
    SKIP_RETURN_CODE 77)
  omptier_machine_test(timing.placement MACHINE dram-hbm-nvm TIMED DILATION 400 TIMEOUT 400 COMMAND
    ${threads} sh ${CMAKE_CURRENT_LIST_DIR}/timing_placement.sh
    ${CMAKE_BINARY_DIR}/benchmarks/hot_and_streamed)
  omptier_test(virtual.timing.migration
    COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/timing_stretched.sh ${CMAKE_BINARY_DIR}/bin/omptier dram-hbm-nvm
            ${threads} sh ${CMAKE_CURRENT_LIST_DIR}/timing_migration.sh ${CMAKE_BINARY_DIR}/benchmarks/migrate
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR} TIMEOUT 900 LABELS virtual)
  omptier_test(virtual.timing.misses
    COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/timing_misses.sh $<TARGET_FILE:omptier> $<TARGET_FILE:miss_share>
            $<TARGET_FILE:timing_events>
    WORKING_DIRECTORY ${CMAKE_BINARY_DIR} TIMEOUT 260 LABELS virtual)
endif()
