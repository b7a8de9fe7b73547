# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
if(TARGET omptier_time_model)
  omptier_unit_test(timing SOURCES timing_test.cpp LINK omptier_time_model)
endif()
