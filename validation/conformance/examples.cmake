# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The example programs: results that depend on nothing but their arguments, clear refusals, the sizes
# that are promised, and that each builds alone by the line its README gives. See examples.py.

if(OMPTIER_BUILD_EXAMPLES)
  find_package(Python3 REQUIRED COMPONENTS Interpreter)
  set(example_runtime_kind stock)
  if(TARGET libomp)
    set(example_runtime_kind extended)
  endif()
  set(example_interfaces)
  if(TARGET example_declare)
    set(example_interfaces interfaces)
  endif()
  foreach(test IN ITEMS checksum options sizes json alone ${example_interfaces})
    set(cost)
    if(test STREQUAL alone) # compiles
      set(cost COST 10)
    endif()
    omptier_test(conformance.examples.${test}
      COMMAND ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/examples.py ${test} --bin ${CMAKE_BINARY_DIR}/bin
              --source ${OMPTIER_SOURCE_DIR} --runtime ${example_runtime_kind}
      BESIDE ${cost} TIMEOUT 300 LABELS conformance)
  endforeach()
endif()
