#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# check_install.sh BUILD PROJECT LIBDIR RUNTIME: installs the build, moves the tree, builds PROJECT against it
# with clang and gcc, and runs what came out, on the installed runtime (the folder RUNTIME) and with
# nothing in the environment that would help it.
set -eu
build=$1 project=$2 libdir=$3 runtime=$4
work=$build/tests/install
rm -rf "$work"
mkdir -p "$work"
(umask 077 && cmake --install "$build" --prefix "$work/narrow" --component dev > "$work/install.log" 2>&1)
grep -q "umask 0077: folders that this installation makes are closed" "$work/install.log" || { cat "$work/install.log" >&2; exit 1; }
cmake --install "$build" --prefix "$work/first" > "$work/install.log"
mv "$work/first" "$work/moved"
prefix=$work/moved
unset LD_LIBRARY_PATH || true

for file in bin/omptier "$runtime/libomptier.so" "$runtime/libomptier_preload.so" "$runtime/libomp.so" \
            "$runtime/libomp.so.5" "$runtime/libiomp5.so" "$runtime/libgomp.so.1" include/ompx_memory.h \
            include/ompx_memory.hpp include/ompx_memory.f90 include/omptier/omp.h \
            "$libdir/cmake/OMPTier/OMPTierConfig.cmake" "$libdir/pkgconfig/omptier.pc"; do
  [ -e "$prefix/$file" ] || { echo "not installed: $file" >&2; exit 1; }
done
# Nothing that is installed, debug information aside, knows where it was built. (pkg-config's file knows where it
# was installed.)
find "$prefix" -type f > "$work/files"
while read -r file; do
  objcopy --strip-debug "$file" "$work/stripped" 2> /dev/null || cp "$file" "$work/stripped"
  if sed "s|$work/first/||g" "$work/stripped" | grep -qF -e "$build"; then
    echo "names the build folder: $file" >&2
    exit 1
  fi
done < "$work/files"
"$prefix/bin/omptier" --version | grep -q '^omptier '

for compilers in clang-19:clang++-19 gcc:g++; do
  compiler=${compilers%:*}
  cmake -S "$project" -B "$work/$compiler" -DCMAKE_C_COMPILER="$compiler" \
    -DCMAKE_CXX_COMPILER="${compilers#*:}" -DCMAKE_Fortran_COMPILER=gfortran \
    -DCMAKE_PREFIX_PATH="$prefix" > "$work/$compiler.log"
  cmake --build "$work/$compiler" >> "$work/$compiler.log"
  "$work/$compiler/downstream"
  "$work/$compiler/downstream_cxx"
  "$work/$compiler/downstream_fortran"
done

export PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
for compiler in clang-19 gcc; do
  # shellcheck disable=SC2046
  $compiler -fopenmp $(pkg-config --cflags omptier) "$project/downstream.c" \
    $(pkg-config --libs omptier) -o "$work/by_pkg_config"
  "$work/by_pkg_config"
done
# Where only programs run, there are no files for pkg-config; the installation is where it was made.
mv "$prefix" "$work/first"
mv "$work/first/$libdir/pkgconfig" "$work/pkgconfig"
"$work/by_pkg_config"
mv "$work/pkgconfig" "$work/first/$libdir/pkgconfig"
mv "$work/first" "$prefix"

# With a plan (of nothing), the preload library of the moved tree is used, and says nothing.
echo '{"version": 1, "modules": [], "entries": []}' > "$work/plan"
for openmp in omptier own; do
  "$prefix/bin/omptier" run --plan "$work/plan" --runtime $openmp -- \
    sh -c 'grep -q libomptier_preload.so /proc/self/maps' 2> "$work/said"
  [ ! -s "$work/said" ] || { cat "$work/said" >&2; exit 1; }
done
# Folders with names that ld.so divides. Neither starts the program on another runtime, nor says that all is well.
mv "$prefix" "$work/a:b"
status=0
"$work/a:b/bin/omptier" run -- true 2> "$work/said" || status=$?
[ $status = 125 ] && grep -q "has a colon or semicolon in its name" "$work/said" || { cat "$work/said" >&2; exit 1; }
"$work/a:b/bin/omptier" check > "$work/said" && exit 1
grep -q "^FAILS *OMPTier runtime.*has a colon" "$work/said" || { cat "$work/said" >&2; exit 1; }
mv "$work/a:b" "$work/a b"
"$work/a b/bin/omptier" check "$work/by_pkg_config" > "$work/said" || true
grep -q "^limited *malloc.*has a blank" "$work/said" || { cat "$work/said" >&2; exit 1; }
echo "installation holds"
