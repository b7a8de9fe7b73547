# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(faults SOURCES faults_test.cpp faults_script.cpp LINK omptier_allocators
                   TEST BESIDE COST 30 TIMEOUT 300
                   ENVIRONMENT TSAN_OPTIONS=detect_deadlocks=0) # see allocators.cmake
target_sources(unit_faults PRIVATE $<TARGET_OBJECTS:omptier_exports>)
omptier_test(soak.faults COMMAND unit_faults TIMEOUT 3600 LABELS soak ENVIRONMENT OMPTIER_FAULTS=all)
