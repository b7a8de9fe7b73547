#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# timing_misses.sh OMPTIER MISS_SHARE TIMING_EVENTS: do the shares of two arrays by sampled records agree with
# those by the exported counts of all misses? Runs the program in the machine, reads the export here.
set -u
folder=$(mktemp -d) || exit 125
trap 'rm -rf "$folder"' EXIT
"$1" sandbox --machine dram-hbm-nvm --timed --memory-events --misses "$folder/misses" --timeout 200 \
    --env OMP_NUM_THREADS=4 --env OMP_WAIT_POLICY=passive --env OMP_PROC_BIND=true -- "$3" >"$folder/sampled"
status=$?
cat "$folder/sampled"
[ $status -eq 0 ] || exit $status
ranges=$(awk '$1 == "range" { print $2 }' "$folder/sampled")
# shellcheck disable=SC2086
"$2" "$folder/misses" $ranges >"$folder/counted" || exit 1
cat "$folder/counted"
awk '
    $1 == "range" && $3 == "share" { sampled[$2] = $4 }
    $1 == "records" { records = $2 }
    $1 == "range" && $3 == "misses" { counted[$2] = $4; all += $4 }
    END {
        for (range in sampled) {
            true_share = counted[range] / all
            error = 4 * sqrt(true_share * (1 - true_share) / records)
            printf "%s sampled %.4f true %.4f allowed %.4f\n", range, sampled[range], true_share, error
            if (sampled[range] - true_share > error || true_share - sampled[range] > error) bad = 1
            found++
        }
        exit bad || found != 2
    }' "$folder/sampled" "$folder/counted"
