#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Inside a machine with three nodes. Usage: calibrate_nodes.sh OMPTIER
set -u
omptier=$1
OMPTIER_PLATFORM=/tmp/platform.json
"$omptier" calibrate --quick --time 0.5 --json -o $OMPTIER_PLATFORM > /tmp/found
status=$?
cat /tmp/found
[ "$(grep -A 9 '"quantity": "read-latency"' /tmp/found | grep -c '"value"')" = 3 ] || exit 1
[ $status = 125 ] && [ ! -e $OMPTIER_PLATFORM ] && exit 0 # this computer is too busy, which was said
[ $status = 0 ] || exit 1
export OMPTIER_PLATFORM
"$omptier" topology > /tmp/topology || exit 1
cat /tmp/topology
grep '^figures: .*measured on ' /tmp/topology || exit 1
OMPTIER_PLATFORM=none "$omptier" topology | grep '^figures: from the firmware' || exit 1
