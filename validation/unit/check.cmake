# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# omptier check: its parts against refusing kernels and against programs built to be refused; and
# docs/environment.md against the table that it is made from.
set(check_folder ${CMAKE_BINARY_DIR}/tests/check)
set(check_sources ${CMAKE_CURRENT_LIST_DIR}/check_programs)

foreach(age IN ITEMS old new)
  add_library(check_runtime_${age} SHARED ${check_sources}/runtime.c)
  target_link_options(check_runtime_${age} PRIVATE
    LINKER:--version-script=${check_sources}/${age}.map LINKER:-soname,libgomp.so.1)
  set_target_properties(check_runtime_${age} PROPERTIES
    OUTPUT_NAME gomp SUFFIX .so.1 LIBRARY_OUTPUT_DIRECTORY ${check_folder}/${age}
    C_VISIBILITY_PRESET default)
endforeach()
target_compile_definitions(check_runtime_new PRIVATE NEWER)

# check_program(<name> DEFINE … COMPILE … OPTIONS … LINK … RPATH …): one program in ${check_folder}.
function(check_program name)
  cmake_parse_arguments(ARG "" "" "DEFINE;COMPILE;OPTIONS;LINK;RPATH" ${ARGN})
  add_executable(check_${name} ${check_sources}/program.c)
  target_compile_definitions(check_${name} PRIVATE ${ARG_DEFINE})
  target_compile_options(check_${name} PRIVATE -g0 ${ARG_COMPILE})
  target_link_options(check_${name} PRIVATE LINKER:--build-id ${ARG_OPTIONS})
  target_link_libraries(check_${name} PRIVATE ${ARG_LINK})
  set_target_properties(check_${name} PROPERTIES
    OUTPUT_NAME ${name} RUNTIME_OUTPUT_DIRECTORY ${check_folder}
    BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "${ARG_RPATH}")
endfunction()
check_program(plain)
check_program(debug COMPILE -g)
check_program(no-id OPTIONS LINKER:--build-id=none)
check_program(static OPTIONS -static)
check_program(inside DEFINE RUNTIME_INSIDE)
check_program(old-runtime DEFINE WITH_RUNTIME LINK check_runtime_old)
check_program(new-runtime DEFINE WITH_NEWER_RUNTIME LINK check_runtime_new)
check_program(rpath DEFINE WITH_RUNTIME LINK check_runtime_old
              OPTIONS LINKER:--disable-new-dtags RPATH /nowhere "$ORIGIN/old")
check_program(runpath DEFINE WITH_RUNTIME LINK check_runtime_old
              OPTIONS LINKER:--enable-new-dtags RPATH "$ORIGIN/old")

omptier_unit_test(check SOURCES check_test.cpp check_elf_test.cpp LINK omptier_cli)
target_compile_definitions(unit_check PRIVATE CHECK_PROGRAMS="${check_folder}"
                           OMPTIER_DOCS="${OMPTIER_SOURCE_DIR}/docs")
add_dependencies(unit_check check_plain check_debug check_no-id check_static check_inside
                 check_old-runtime check_new-runtime check_rpath check_runpath)

# The command itself, its exit status included.
foreach(case IN ITEMS "fine|0" "unknown-variable|1" "no-program|2")
  string(REPLACE "|" ";" parts ${case})
  list(GET parts 0 name)
  list(GET parts 1 status)
  omptier_test(command.check.${name}
    COMMAND ${CMAKE_CURRENT_LIST_DIR}/check_command $<TARGET_FILE:omptier> ${name} ${status} ${check_folder}
    TIMEOUT 30 LABELS unit)
endforeach()

# Some symbols of the extended runtime are libomptier.so's.
if(TARGET example_declare)
  omptier_test(command.check.extensions
    COMMAND $<TARGET_FILE:omptier> check ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/declare
    PRINTS "works +symbol versions" TIMEOUT 30 LABELS unit)
endif()
