#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# timing_placement.sh HOT_AND_STREAMED, inside the timed machine dram-hbm-nvm: random data in DRAM with
# streamed data in HBM beats all in DRAM, streamed data in NVM loses to that, all in NVM is worst.
# Compares the fastest of six: other work on the host can only add time.
"$1" 0,0/0,1/0,2/2,2 6 >/tmp/placements || exit 1
cat /tmp/placements
awk '
    $(NF - 1) == "fastest" { seconds[NR] = $NF }
    END {
        if (NR != 4 || seconds[1] <= 0) { print "not four placements"; exit 1 }
        if (!(seconds[2] < 0.8 * seconds[1])) { print "streamed data in HBM does not gain"; bad = 1 }
        if (!(seconds[3] > 1.5 * seconds[1])) { print "streamed data in NVM do not lose"; bad = 1 }
        if (!(seconds[4] > 1.03 * seconds[3])) { print "all in NVM is not worst"; bad = 1 }
        exit bad
    }' /tmp/placements
