#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# check_paths.sh BUILD SOURCE: installs the build; no string of any installed file, debug information
# included, may name a folder of the machine that built it (the build, the source, the user's, the
# cache of fetched sources), and libraries are looked for relative to the file that needs them.
set -eu
build=$1 source=$2
work=$build/tests/no-build-paths
rm -rf "$work"
mkdir -p "$work"
cmake --install "$build" --prefix "$work/prefix" > "$work/install.log"

printf '%s\n' "$build" "$source" > "$work/folders"
for folder in "${HOME:-}" "${OMPTIER_CACHE:-}" "${XDG_CACHE_HOME:-}"; do
  case $folder in /?*) printf '%s/\n' "${folder%/}" >> "$work/folders" ;; esac
done

find "$work/prefix" -type f > "$work/files"
found=0 files=0 elf=0
while read -r file; do
  files=$((files + 1))
  if readelf -d "$file" > "$work/dynamic" 2> /dev/null && [ -s "$work/dynamic" ]; then
    elf=$((elf + 1))
    if grep -E '\((RPATH|RUNPATH)\)' "$work/dynamic" | sed 's/.*\[\(.*\)\]/\1/' | tr ':' '\n' |
       grep -v '^\$ORIGIN'; then
      echo "search path that is not relative: ${file#"$work/prefix/"}" >&2
      found=1
    fi
  fi
  # pkg-config's file names the folder that it was installed to.
  strings -a "$file" | sed "s|$work/prefix/||g" > "$work/strings"
  grep -F -f "$work/folders" "$work/strings" > "$work/named" || true
  if [ -s "$work/named" ]; then
    echo "names folders of this machine: ${file#"$work/prefix/"}" >&2
    sort -u "$work/named" | head -n 5 >&2
    found=1
  fi
done < "$work/files"
[ "$elf" -ge 3 ] || { echo "only $elf programs and libraries were installed" >&2; exit 1; }
[ "$found" -eq 0 ] || exit 1
echo "no build paths in $files files"
