#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# timing_stretched.sh OMPTIER MACHINE COMMAND…: runs the command in the timed machine, and again with the
# machine's time stretched twice and four times as far while it says that this host emulates too slowly. The
# status is the last run's.
omptier=$1 machine=$2
shift 2
said=$(mktemp) || exit 1
trap 'rm -f "$said"' EXIT
for dilation in 200 400 800; do
  "$omptier" sandbox --machine "$machine" "--timed=$dilation" --timeout $((2 * dilation)) -- "$@" 2>"$said"
  status=$?
  cat "$said" >&2
  grep -q "omptier timing: emulation was" "$said" || break
done
exit "$status"
