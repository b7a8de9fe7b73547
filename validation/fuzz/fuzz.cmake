# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The readers of what others wrote (profiles, plans, platform files, unwind tables, program files, machine code and
# its loops, perf's rings) under libFuzzer with AddressSanitizer and UndefinedBehaviorSanitizer. They
# are compiled again, by clang, whatever compiles the rest. All fuzzers run side by side: 60 s by
# default, 10 minutes each with label soak. corpus/<fuzzer>/ holds where they start from: seeds that
# reach every part of the reader, and inputs that once failed.
find_program(OMPTIER_FUZZ_COMPILER NAMES clang++-19 clang++)
if(OMPTIER_SANITIZE OR NOT OMPTIER_FUZZ_COMPILER)
  return() # instrumented as a whole; or no clang, which bootstrap installs
endif()

set(fuzz_flags -std=c++20 -O1 -g -UNDEBUG -Wall -Wextra -Wno-deprecated-declarations ${OMPTIER_PATH_FLAGS}
  -I${OMPTIER_EXT_DIR} -fsanitize=fuzzer-no-link,address,undefined -fno-sanitize-recover=undefined)
separate_arguments(launcher UNIX_COMMAND "${CMAKE_CXX_COMPILER_LAUNCHER}")
set(fuzz_objects "")
# omptier_fuzz_object(<source>): its object is appended to fuzz_object
function(omptier_fuzz_object source)
  file(RELATIVE_PATH name ${OMPTIER_SOURCE_DIR} ${source})
  string(MAKE_C_IDENTIFIER ${name} object)
  set(object ${CMAKE_BINARY_DIR}/fuzz/${object}.o)
  add_custom_command(OUTPUT ${object}
    COMMAND ${launcher} ${OMPTIER_FUZZ_COMPILER} ${fuzz_flags} -MD -MF ${object}.d -c ${source} -o ${object}
    DEPENDS ${source} DEPFILE ${object}.d COMMENT "For fuzzing: ${name}" VERBATIM)
  set(fuzz_object ${object} PARENT_SCOPE)
endfunction()

file(MAKE_DIRECTORY ${CMAKE_BINARY_DIR}/fuzz)
# A layer's files together: headers cost more than what they hold.
foreach(layer IN ITEMS base platform objects plan log emulation sampling analysis symbols)
  get_target_property(sources omptier_${layer} SOURCES)
  get_target_property(folder omptier_${layer} SOURCE_DIR)
  list(TRANSFORM sources REPLACE "(.+)" "#include \"${folder}/\\1\"")
  list(JOIN sources "\n" text)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/fuzz/${layer}.cpp CONTENT "${text}\n" @ONLY)
  omptier_fuzz_object(${CMAKE_BINARY_DIR}/fuzz/${layer}.cpp)
  list(APPEND fuzz_objects ${fuzz_object})
endforeach()
omptier_fuzz_object(${OMPTIER_EXT_DIR}/cli/check_elf.cpp)
list(APPEND fuzz_objects ${fuzz_object})
set(fuzz_archive ${CMAKE_BINARY_DIR}/fuzz/libfuzzed.a)
add_custom_command(OUTPUT ${fuzz_archive}
  COMMAND ${CMAKE_COMMAND} -E rm -f ${fuzz_archive}
  COMMAND ${CMAKE_AR} qc ${fuzz_archive} ${fuzz_objects}
  DEPENDS ${fuzz_objects} VERBATIM)

set(fuzzers log unwind elf decode loop plan platform)
set(fuzz_programs "")
foreach(name IN LISTS fuzzers)
  omptier_fuzz_object(${CMAKE_CURRENT_LIST_DIR}/fuzz_${name}.cpp)
  set(program ${CMAKE_BINARY_DIR}/tests/fuzz_${name})
  add_custom_command(OUTPUT ${program}
    COMMAND ${OMPTIER_FUZZ_COMPILER} -fsanitize=fuzzer,address,undefined -o ${program}
            ${fuzz_object} ${fuzz_archive} -ldw -lelf -lZydis -lhwloc
    DEPENDS ${fuzz_object} ${fuzz_archive} VERBATIM)
  list(APPEND fuzz_programs ${program})
endforeach()
add_custom_target(fuzz ALL DEPENDS ${fuzz_programs})

foreach(run IN ITEMS "unit 60" "soak 600")
  separate_arguments(run)
  list(POP_FRONT run form seconds)
  math(EXPR limit "${seconds} + 120")
  omptier_test(${form}.fuzz
    COMMAND sh ${CMAKE_CURRENT_LIST_DIR}/run ${CMAKE_BINARY_DIR}/tests ${seconds} ${fuzzers}
    TIMEOUT ${limit} LABELS ${form})
endforeach()
