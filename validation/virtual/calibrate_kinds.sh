#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Inside the timed machine dram-cxl. Usage: calibrate_kinds.sh OMPTIER
set -u
omptier=$1
OMPTIER_PLATFORM=/tmp/platform.json
"$omptier" calibrate --quick --time 0.25 -o $OMPTIER_PLATFORM || exit 1
export OMPTIER_PLATFORM
"$omptier" topology > /tmp/topology || exit 1
cat /tmp/topology
grep -q '^figures: measured on ' /tmp/topology || exit 1 # all nodes
grep -q '^ *0 *DRAM .* memory of its own CPUs' /tmp/topology || exit 1
grep -q '^ *1 *CXL .*(by attributes)' /tmp/topology || exit 1
"$omptier" check | grep '^works *memory figures .*measured on'
