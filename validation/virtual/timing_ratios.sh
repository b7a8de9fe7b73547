#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# timing_ratios.sh NODE_KERNELS, inside the timed machine dram-hbm-nvm: are the ratios of the access
# patterns' times on HBM (node 1) and NVM (node 2) to DRAM (node 0) within 15 % of what this model is
# specified to show, and in the right order? The fastest of two repeats each, interleaved over the nodes;
# a slow or busy host can only add time, so where a ratio is not right yet, another round follows.
# Says each ratio; status 76 if one is not right at last.
judge() {
    awk '
    function expect(pattern, node, ratio) { wanted[pattern " " node] = ratio; count++ }
    BEGIN {
        expect("triad", 1, 0.30); expect("triad", 2, 4.75)
        expect("chase", 1, 1.62); expect("chase", 2, 3.85)
        expect("gather", 1, 0.87); expect("gather", 2, 12.2)
        expect("fill", 1, 0.49); expect("fill", 2, 6.5)
    }
    # pattern "node" N "seconds" S "relative" R (LOW-HIGH) "fastest" S
    $2 == "node" {
        key = $1 " " $3
        if (!(key in fastest) || $NF < fastest[key]) fastest[key] = $NF
    }
    END {
        for (key in fastest) {
            split(key, part)
            if (fastest[part[1] " 0"] > 0) seen[key] = fastest[key] / fastest[part[1] " 0"]
        }
        for (key in wanted) {
            if (!(key in seen)) { print key ": no time"; exit 1 }
            printf "%s: %.3f of node 0, expected %.2f\n", key, seen[key], wanted[key]
            if (seen[key] < wanted[key] * 0.85 || seen[key] > wanted[key] * 1.15) {
                print "  not within 15 %"
                bad = 76
            }
        }
        exit bad
    }' /tmp/ratios
}
: >/tmp/ratios
for round in 1 2; do
    "$1" 0,1,2 16 2 >>/tmp/ratios || exit 1
    echo "round $round"
    judge
    status=$?
    [ $status = 76 ] || break
done
cat /tmp/ratios
exit $status
