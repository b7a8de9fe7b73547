#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# timing_migration.sh MIGRATE, inside the timed machine dram-hbm-nvm: copying is about a quarter (0.18 to 0.33) of what
# moving 4 KiB pages between DRAM and HBM costs, and huge pages move in less time.
for way in "0 1" "1 0"; do
    # shellcheck disable=SC2086
    "$1" $way 8 3 || exit 1
done >/tmp/migration
cat /tmp/migration
sed -E 's/.*copy ([0-9.]+), move 4 KiB pages ([0-9.]+) .*move 2 MiB pages ([0-9.]+) .*/\1 \2 \3/' /tmp/migration |
    awk '{ copy += $1; small += $2; huge += $3 }
         END {
             share = copy / small
             printf "both ways: copying is %.3f of moving 4 KiB pages\n", share
             exit !(NR == 2 && share > 0.18 && share < 0.33 && huge < small)
         }'
