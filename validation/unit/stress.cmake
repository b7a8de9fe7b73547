# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The placement layer under load, compiled again with sanitizers: only what it needs of the layers
# below (the platform's description is not), so that this costs the usual build little. 20 s by default, 10 minutes each with label soak.
set(stress_sources ${CMAKE_CURRENT_LIST_DIR}/stress.cpp)
foreach(layer IN ITEMS base placement)
  get_target_property(layer_sources omptier_${layer} SOURCES)
  list(FILTER layer_sources EXCLUDE REGEX "plan_placement|placed_ranges") # need sites and plans
  list(TRANSFORM layer_sources PREPEND ${OMPTIER_EXT_DIR}/${layer}/)
  list(APPEND stress_sources ${layer_sources})
endforeach()

# omptier_stress(<name> <sanitizers> [option…]): program tests/omptier_stress_<name>
function(omptier_stress name sanitizers)
  add_executable(omptier_stress_${name} ${stress_sources})
  target_include_directories(omptier_stress_${name} PRIVATE ${OMPTIER_EXT_DIR} ${CMAKE_CURRENT_LIST_DIR})
  target_compile_options(omptier_stress_${name} PRIVATE
    -O1 -g1 -UNDEBUG -Wall -Wextra ${OMPTIER_PATH_FLAGS} -fsanitize=${sanitizers}
    -fno-omit-frame-pointer -fno-sanitize-recover=all $<$<BOOL:${OMPTIER_WERROR}>:-Werror> ${ARGN})
  target_link_options(omptier_stress_${name} PRIVATE -fsanitize=${sanitizers})
  target_link_libraries(omptier_stress_${name} PRIVATE omptier_platform Threads::Threads)
  set_target_properties(omptier_stress_${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 9
    RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
endfunction()
if(OMPTIER_SANITIZE OR CMAKE_CROSSCOMPILING)
  return() # a build that is instrumented as a whole; an emulator has no room for a sanitizer's shadow
endif()
omptier_stress(asan address,undefined)
# gcc's TSan does not know fences by themselves; it says so.
omptier_stress(tsan thread -Wno-error=tsan)

foreach(run IN ITEMS "asan threads 6" "asan kills 5" "tsan threads 8")
  separate_arguments(run)
  list(POP_FRONT run sanitizer part duration)
  foreach(form IN ITEMS unit soak)
    set(order BESIDE COST 8)
    if(form STREQUAL soak)
      set(duration 600)
      set(order)
    endif()
    math(EXPR limit "${duration} + 120")
    omptier_test(${form}.stress.${part}.${sanitizer}
      COMMAND omptier_stress_${sanitizer} ${duration} ${part} ${order} TIMEOUT ${limit} LABELS ${form}
      ENVIRONMENT ASAN_OPTIONS=detect_leaks=0 "TSAN_OPTIONS=halt_on_error=1 second_deadlock_stack=1")
  endforeach()
endforeach()
