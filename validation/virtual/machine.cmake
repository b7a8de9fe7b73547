# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The launcher itself: every end a command in the virtual machine can come to, and what is said
# about it. One case of machine_cases.sh a test, each in a folder of its own.
set(machine_case_folder ${CMAKE_BINARY_DIR}/tests/machine)
function(omptier_machine_case name)
  add_test(NAME virtual.machine.${name}
           COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/machine_cases.sh $<TARGET_FILE:omptier>
                   ${machine_case_folder} ${OMPTIER_SOURCE_DIR}/validation/fixtures/machines ${ARGV})
  set_tests_properties(virtual.machine.${name} PROPERTIES TIMEOUT 240 LABELS virtual)
endfunction()

foreach(machine IN ITEMS dram-hbm-nvm icelake-optane xeon-max-flat dram-cxl knl-snc4-flat
        xeon-max-snc4-2s nvdimm)
  omptier_machine_case(topology.${machine})
endforeach()
foreach(name IN ITEMS
        status streams live input files environment unprivileged left_running
        timeout panic illegal out_of_memory full_tmp not_found
        usage missing_qemu missing_image full_cache damaged_snapshot stuck_output
        parallel race interrupted launcher_killed closed_output no_snapshot fresh_clock timed)
  omptier_machine_case(${name})
endforeach()
# Its two machines boot, which is the longest any of these takes.
set_tests_properties(virtual.machine.race PROPERTIES TIMEOUT 400)

# A program that no CPU emulated by QEMU 7.2 can run, for the case "illegal".
add_executable(machine_illegal ${CMAKE_CURRENT_LIST_DIR}/machine_illegal.c)
set_target_properties(machine_illegal PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
