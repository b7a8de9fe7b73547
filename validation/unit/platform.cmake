# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
omptier_unit_test(platform
  SOURCES platform_test.cpp platform_classification_test.cpp platform_choice_test.cpp
          platform_sysfs_test.cpp platform_fixtures_test.cpp platform_estimates_test.cpp
          platform_file_test.cpp
  LINK omptier_platform)
