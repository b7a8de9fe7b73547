# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The launcher itself: every end a command in the virtual machine can come to, and what is said
# about it. One case of machine_cases.sh a test, each in a folder of its own.
set(machine_case_folder ${CMAKE_BINARY_DIR}/tests/machine)
# machine_case(<name> [option of omptier_test…])
function(machine_case name)
  omptier_test(virtual.machine.${name}
    COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/machine_cases.sh $<TARGET_FILE:omptier> ${machine_case_folder}
            ${OMPTIER_SOURCE_DIR}/validation/fixtures/machines ${name}
    TIMEOUT 240 LABELS virtual ${ARGN})
endfunction()

foreach(machine IN ITEMS dram-hbm-nvm icelake-optane xeon-max-flat dram-cxl knl-snc4-flat
        xeon-max-snc4-2s nvdimm gh200 emr-cxl a64fx spr-hbm-cache optane-memory-mode)
  machine_case(topology.${machine} BESIDE)
endforeach()
foreach(name IN ITEMS
        status streams live input files environment unprivileged left_running
        timeout panic illegal out_of_memory full_tmp not_found
        usage missing_qemu missing_image stuck_output
        parallel interrupted launcher_killed closed_output timed)
  machine_case(${name} BESIDE)
endforeach()
# Their machines boot; those of race, two, take longest of all.
foreach(name IN ITEMS batch batch_timed)
  machine_case(${name} BESIDE COST 8)
endforeach()
foreach(name IN ITEMS machine_file full_cache damaged_snapshot no_snapshot)
  machine_case(${name} BESIDE COST 8)
endforeach()
machine_case(race BESIDE COST 8 TIMEOUT 400)
machine_case(fresh_clock) # compares the seconds of two clocks

# A program that no CPU emulated by QEMU 7.2 can run, for the case "illegal".
add_executable(machine_illegal ${CMAKE_CURRENT_LIST_DIR}/machine_illegal.c)
set_target_properties(machine_illegal PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
