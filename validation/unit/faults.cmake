# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(faults SOURCES faults_test.cpp faults_script.cpp LINK omptier_allocators)
target_sources(unit_faults PRIVATE $<TARGET_OBJECTS:omptier_exports>)
set_tests_properties(unit.faults PROPERTIES TIMEOUT 300)
add_test(NAME soak.faults COMMAND unit_faults)
set_tests_properties(soak.faults PROPERTIES TIMEOUT 3600 LABELS soak ENVIRONMENT OMPTIER_FAULTS=all)
