#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# chunked_gain.sh PROGRAM: in the timed machine, the example's product of tiles larger than the last-level
# cache takes at least 1.4 times as long in NVM alone as with its chunks in DRAM.
set -e
seconds() {
  "$program" multiply --in nvm --size 1024 --rows 64 --chunk 512 "$@" > /tmp/chunked_gain
  awk '$1 == "seconds" { print $2 }' /tmp/chunked_gain
}
program=$1
alone=$(seconds --plain)
chunks=$(seconds)
grep -q '^copied yes$' /tmp/chunked_gain
echo "NVM alone $alone s, chunks in DRAM $chunks s"
awk "BEGIN { exit !($alone >= 1.4 * $chunks) }"
