# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The main job's proof: recorded, advised and placed beats first come first served, and comes close to
# everything in fast memory and to the best of all placements that fit (benchmarks/main_job). Alone on
# the machine: it compares times.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
foreach(machine IN ITEMS dram-hbm-nvm icelake-optane)
  omptier_test(virtual.main_job.${machine}
    COMMAND ${Python3_EXECUTABLE} ${OMPTIER_SOURCE_DIR}/benchmarks/main_job/main_job.py
            --build ${CMAKE_BINARY_DIR} --folder ${CMAKE_BINARY_DIR}/main_job/${machine}
            --machine ${machine} --repeats 3 --proof
    TIMEOUT 600 LABELS virtual)
endforeach()
