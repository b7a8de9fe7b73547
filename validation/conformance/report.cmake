# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What omptier report prints: tables, CSV, JSON and its schema, the lines that access an object.
if(NOT TARGET libomp OR NOT TARGET libomptier_preload OR NOT TARGET libomptier_ompt OR NOT TARGET libomptier_exact)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
foreach(case IN ITEMS table lines region phases data terminal)
  omptier_record_test(report.${case} report.py ${case} TIMEOUT 60 TEST BESIDE)
endforeach()
