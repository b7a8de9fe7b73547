#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# timing_ratios_host.sh OMPTIER COMMAND…: runs the command (timing_ratios.sh) in the timed machine
# dram-hbm-nvm. What the host's own emulation takes is added to every time: the less, the larger the
# dilation. A host too slow for the usual one (100), where streams on HBM end late, has four times that; one with a
# single processor for the machine's four is too slow for both (status 77).
omptier=$1
shift
if [ "$(env -u OMP_NUM_THREADS nproc)" -lt 2 ]; then
  echo "one processor for the machine's four: the host's own time would be measured"
  exit 77
fi
for dilation in 100 400; do
  echo "dilation $dilation"
  status=0
  "$omptier" sandbox --machine dram-hbm-nvm --timed=$dilation --timeout 300 -- "$@" || status=$?
  [ $status = 76 ] || exit $status
done
exit 76
