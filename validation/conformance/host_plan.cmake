# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The same advice from this machine's timer samples as from the virtual machine's counted misses; by
# perf, by timers, and by timers as an ordinary user.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
foreach(case IN ITEMS perf timer "timer as-nobody")
  string(REPLACE " " ";" arguments "${case}")
  string(REPLACE " " "-" name "${case}")
  omptier_test(conformance.host_plan.${name}
    COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/host_plan.py ${CMAKE_BINARY_DIR}
            ${OMPTIER_SOURCE_DIR}/validation/fixtures ${arguments}
    PROCESSORS 2 TIMEOUT 240 LABELS conformance)
endforeach()
