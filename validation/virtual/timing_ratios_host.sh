#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# timing_ratios_host.sh OMPTIER COMMAND…: runs the command (timing_ratios.sh) in the timed machine
# dram-hbm-nvm. What the host's own emulation takes is added to every time: the less, the larger the
# dilation, here four times the usual one, and eight times where a ratio is not right with that. A host
# with a single processor for the machine's four is too slow for that as well (status 77).
omptier=$1
shift
if [ "$(env -u OMP_NUM_THREADS nproc)" -lt 2 ]; then
  echo "one processor for the machine's four: the host's own time would be measured"
  exit 77
fi
for dilation in 400 800; do
  "$omptier" sandbox --machine dram-hbm-nvm --timed=$dilation --timeout 300 -- "$@"
  status=$?
  [ $status = 76 ] || break
done
exit $status
