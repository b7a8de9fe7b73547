# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The main job's proof: recorded, advised and placed beats first come first served, and comes close to
# everything in fast memory and to the best of all placements that fit (benchmarks/main_job). Alone on
# the machine: it compares times. One machine in every ./test, the other in --all.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
function(main_job_test machine label)
  omptier_test(virtual.main_job.${machine}
    COMMAND ${OMPTIER_SOURCE_DIR}/validation/alone ${Python3_EXECUTABLE} ${OMPTIER_SOURCE_DIR}/benchmarks/main_job/main_job.py
            --build ${CMAKE_BINARY_DIR} --folder ${CMAKE_BINARY_DIR}/main_job/${machine}
            --machine ${machine} --lookups 8000 --repeats 2 --proof
            --dilation 500 # below 200, a slow computer's emulation shows in the ratios
    TIMEOUT 600 LABELS ${label} SKIP_RETURN_CODE 77)
endfunction()
main_job_test(dram-hbm-nvm virtual)
main_job_test(icelake-optane all)
