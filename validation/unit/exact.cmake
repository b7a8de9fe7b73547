# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

omptier_unit_test(exact SOURCES exact_test.cpp LINK omptier_exact ${CMAKE_DL_LIBS})
add_dependencies(unit_exact libomptier_exact)
target_compile_definitions(unit_exact PRIVATE
  OMPTIER_EXACT_LIBRARY="$<TARGET_FILE:libomptier_exact>")
