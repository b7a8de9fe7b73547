# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The page of the commands: complete, and what it shows works.
if(NOT TARGET libomp OR NOT TARGET libomptier_preload OR NOT TARGET libomptier_ompt)
  return()
endif()
omptier_record_test(commands-page commands_page.py --program ${CMAKE_BINARY_DIR}/bin/neutron_lookup-malloc TIMEOUT 60)
