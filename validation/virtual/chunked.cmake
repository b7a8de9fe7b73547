# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Arrays in NVM whose chunks pass through DRAM (validation/conformance/chunked_cases.c), and the
# example, which checks its results.
if(NOT TARGET chunked_cases OR NOT TARGET example_chunked)
  return()
endif()
omptier_machine_test(chunked.window MACHINE icelake-optane
  COMMAND env OMP_WAIT_POLICY=passive ${chunked_cases} window dram=0+1 nvm=2+3 TEST BESIDE)
omptier_machine_test(chunked.example MACHINE icelake-optane
  COMMAND env OMP_WAIT_POLICY=passive sh -c "cd ${CMAKE_BINARY_DIR}/bin && ./chunked multiply --in nvm --size 200 \
--chunk 77 --check && ./chunked stencil --in nvm --size 64 --sweeps 3 --passes 2 --chunk 7 --check"
  TEST BESIDE PRINTS "copied yes\ncheck passed\n(.*\n)*copied yes\ncheck passed")
# Slow computers emulate its tiles at a fifth of the speed that a dilation of 100 models.
omptier_machine_test(chunked.gain MACHINE icelake-optane TIMED DILATION 500 TIMEOUT 300
  COMMAND env OMP_NUM_THREADS=2 OMP_WAIT_POLICY=passive sh ${CMAKE_CURRENT_LIST_DIR}/chunked_gain.sh
          ${CMAKE_BINARY_DIR}/bin/chunked)
