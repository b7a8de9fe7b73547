#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# timing_placement.sh HOT_AND_STREAMED, inside the timed machine dram-hbm-nvm: random data in DRAM with
# streamed data in HBM beats all in DRAM, streamed data in NVM loses to that, all in NVM is worst.
# Compares the fastest of two; a slow or busy host can only add time, so up to three rounds follow.
judge() {
    awk '
    $(NF - 1) == "fastest" {
        placement = $4 substr($8, 1, length($8) - 1)
        if (!(placement in seconds) || $NF < seconds[placement]) seconds[placement] = $NF
        count += 1
    }
    END {
        all_dram = seconds["0,0"]
        if (count % 4 != 0 || !(all_dram > 0)) { print "not four placements"; exit 1 }
        if (!(seconds["0,1"] < 0.8 * all_dram)) { print "streamed data in HBM does not gain"; bad = 76 }
        if (!(seconds["0,2"] > 1.5 * all_dram)) { print "streamed data in NVM do not lose"; bad = 76 }
        if (!(seconds["2,2"] > 1.03 * seconds["0,2"])) { print "all in NVM is not worst"; bad = 76 }
        exit bad
    }' /tmp/placements
}
: >/tmp/placements
for round in 1 2 3 4; do
    "$1" 0,0/0,1/0,2/2,2 2 >>/tmp/placements || exit 1
    echo "round $round"
    judge
    status=$?
    [ $status = 76 ] || break
done
cat /tmp/placements
exit $status
