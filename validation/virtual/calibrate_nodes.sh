#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Inside a machine with three nodes. Usage: calibrate_nodes.sh OMPTIER
set -u
omptier=$1
OMPTIER_PLATFORM=/tmp/platform.json
"$omptier" calibrate --quick --time 1 --json -o $OMPTIER_PLATFORM > /tmp/found || exit 1
export OMPTIER_PLATFORM
cat $OMPTIER_PLATFORM
for quantity in read-latency write-latency read write copy gather gather-4; do
  [ "$(grep -c "\"quantity\": \"$quantity\"" /tmp/found)" = 3 ] || { echo "$quantity: not of three nodes"; exit 1; }
done
[ "$(grep -c '"value"' /tmp/found)" = 21 ] || { cat /tmp/found; exit 1; }
"$omptier" topology > /tmp/topology || exit 1
cat /tmp/topology
grep '^figures: .*measured on ' /tmp/topology || exit 1
OMPTIER_PLATFORM=none "$omptier" topology | grep '^figures: from the firmware' || exit 1
