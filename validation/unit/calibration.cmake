# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(calibration SOURCES calibration_test.cpp calibration_kernels_test.cpp
                  LINK omptier_calibration TEST BESIDE)
