#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# timing_ratios.sh NODE_KERNELS, inside the timed machine dram-hbm-nvm: are the ratios of the access
# patterns' times on HBM (node 1) and NVM (node 2) to DRAM (node 0) within 15 % of what this model is
# specified to show, and in the right order? Medians of three repeats, interleaved over the nodes. Says
# each ratio; status 76 if one is not.
"$1" 0,1,2 16 3 >/tmp/ratios || exit 1
cat /tmp/ratios
awk '
    function expect(pattern, node, ratio) { wanted[pattern " " node] = ratio; count++ }
    BEGIN {
        expect("triad", 1, 0.42); expect("triad", 2, 5.1)
        expect("chase", 1, 1.56); expect("chase", 2, 3.7)
        expect("fill", 1, 0.27); expect("fill", 2, 6.2)
    }
    # pattern "node" N "seconds" S "relative" R (LOW-HIGH)
    $2 == "node" {
        key = $1 " " $3
        seen[key] = $7
        if (!(key in wanted)) next
        checked++
        if ($7 < wanted[key] * 0.85 || $7 > wanted[key] * 1.15) {
            printf "%s on node %s: %.3f is not within 15 %% of %.2f\n", $1, $3, $7, wanted[key]
            bad = 76
        }
    }
    END {
        if (checked != count) { printf "%d ratios of %d found\n", checked, count; exit 1 }
        # Loads that wait for latency: HBM is slower than DRAM, NVM slower than both.
        if (!(seen["gather 1"] > 1.1 && seen["gather 2"] > seen["gather 1"])) { print "gather: wrong order"; bad = 76 }
        exit bad
    }' /tmp/ratios
