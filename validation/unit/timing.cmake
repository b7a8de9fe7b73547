# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
if(TARGET omptier_time_model)
  omptier_unit_test(timing SOURCES timing_test.cpp timing_core_test.cpp timing_pages_test.cpp LINK omptier_time_model
    # The model lives as long as the QEMU it is loaded into: it has no end to test.
    TEST ENVIRONMENT ASAN_OPTIONS=detect_leaks=0)
endif()
