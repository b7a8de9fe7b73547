#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Several semantics programs in one run of the virtual machine, since starting it costs more than most
# of them: semantics.sh FOLDER [argument for all=…]… THEME[:case,case…]… runs FOLDER/semantics_THEME
# one after the other, as often as needed to fail in all that fail.
export OMP_WAIT_POLICY=passive
folder=$1
shift
common= failed=0
for argument in "$@"; do
  case $argument in
    *=* | times) common="$common $argument" ;;
    *)
      theme=${argument%%:*} cases=
      case $argument in *:*) cases=$(printf %s "${argument#*:}" | tr , ' ') ;; esac
      printf '%s: ' "$theme"
      "$folder/semantics_$theme" $common $cases 2>"/tmp/$theme.said" || {
        failed=1
        cat "/tmp/$theme.said"
      }
      ;;
  esac
done
exit $failed
