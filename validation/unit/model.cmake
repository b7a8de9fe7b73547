# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(model SOURCES model_test.cpp model_loop_time_test.cpp model_agreement_test.cpp
  LINK omptier_allocators omptier_advisor omptier_model)
