#!/bin/sh
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Cases for `omptier sandbox`: machine_cases.sh OMPTIER FOLDER FIXTURES CASE. A case runs in a folder
# of its own, whose path on QEMU's command line also tells whether one of its machines is left over.
set -u
omptier=$1 folder=$2/$4 fixtures=$3 case=$4
programs=$(dirname "$(dirname "$omptier")")/tests
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder" || exit 1

die() {
  echo "$case: $*" >&2
  echo "--- out" >&2; head -c 2000 out >&2
  echo "--- err" >&2; head -c 2000 err >&2
  exit 1
}
sandbox() { "$omptier" sandbox --machine xeon-max-flat --timeout 100 "$@"; }
# expect STATUS OPTIONS... -- COMMAND...: output in out and err
expect() {
  wanted=$1
  shift
  sandbox "$@" > out 2> err
  got=$?
  [ "$got" -eq "$wanted" ] || die "status $got instead of $wanted: $*"
}
says() { grep -qF -- "$1" err || die "does not say: $1"; }
one_line() { [ "$(grep -c '^omptier' err)" -eq 1 ] || die "not one line of ours"; }
silent() { [ ! -s err ] || die "says something"; }
machines_here() { pgrep -f "path=$folder( |,|\$)" || true; }
# Ends that a signal brings about: the machine may take a moment to be gone.
no_machine_left() {
  for _ in 1 2 3 4 5 6 7 8 9 10; do
    [ -z "$(machines_here)" ] && return
    sleep 0.5
  done
  die "a machine is left: $(machines_here)"
}
# A cache of this case's own that shares the guest image with the real one.
own_cache() {
  real=${OMPTIER_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/omptier}
  expect 0 -- true # makes the image if this is the first test of all
  mkdir cache
  ln -s "$real/guest" cache/guest
}
distances() { sed -n '/^node distances/,$p' "$1"; }
attributes() { sed -n '/<memattr/,$p' "$1"; }

case $case in
topology.*)
  machine=${case#topology.}
  "$omptier" sandbox --machine "$machine" --timeout 100 -- \
    sh -c 'numactl -H > numactl; lstopo --of xml > xml' > out 2> err || die "does not run"
  for part in distances attributes; do
    if [ $part = distances ]; then file=numactl fixture=$machine.numactl.txt
    else file=xml fixture=$machine.xml; fi
    $part $file > found
    $part "$fixtures/$fixture" > wanted
    [ -s wanted ] || die "the fixture has no $part"
    diff wanted found > err || die "$part are not those of the fixture"
  done
  ;;
status)
  expect 0 -- true
  silent
  expect 7 -- sh -c 'exit 7'
  expect 255 -- sh -c 'exit 255'
  expect 139 -- sh -c 'kill -SEGV $$'
  silent
  ;;
streams)
  expect 0 -- sh -c 'seq 1 300000; echo problem >&2'
  seq 1 300000 | cmp - out || die "output is not exact"
  [ "$(cat err)" = problem ] || die "stderr is not exact"
  ;;
live)
  # The first line must come while the program still waits for what is written afterwards.
  mkfifo lines
  sandbox -- sh -c 'echo first; until [ -e go ]; do sleep 0.1; done; echo second' > lines 2> err &
  { read -r first; [ "$first" = first ] && touch go; read -r second; } < lines
  wait $! || die "status $?"
  [ "$second" = second ] || die "no second line"
  ;;
input)
  seq 1 100000 > numbers
  sandbox --stdin -- sh -c 'cat > copy; echo done' < numbers > out 2> err || die "status $?"
  cmp numbers copy || die "input is not exact"
  sandbox --stdin -- head -n 1 < numbers > out 2> err || die "a program that stops reading: $?"
  [ "$(cat out)" = 1 ] || die "first line of input"
  sandbox -- wc -c < numbers > out 2> err || die "status $?"
  [ "$(cat out)" = 0 ] || die "without --stdin there is input"
  ;;
files)
  expect 0 -- sh -c 'pwd; echo text > written; mkdir -p a/b; ls /usr/bin/env; findmnt -no OPTIONS /'
  [ "$(cat written)" = text ] && [ -d a/b ] || die "the current folder is not written to"
  [ "$(head -n 1 out)" = "$PWD" ] || die "not the same folder"
  grep -q '^ro,' out || die "/ is not read-only"
  expect 1 -- touch /etc/omptier-was-here
  says Read-only
  host_file=$(mktemp)
  expect 0 -- sh -c "[ ! -e $host_file ] && echo own > /tmp/omptier-own && cat /tmp/omptier-own"
  rm "$host_file"
  [ ! -e /tmp/omptier-own ] || die "/tmp is the host's"
  mkdir 'a folder, with=signs'
  cd 'a folder, with=signs' && sandbox -- touch file && [ -e file ] || die "a folder with signs"
  ;;
environment)
  OMP_NUM_THREADS=3 KMP_X=1 SECRET=2 OMPTIER_PLAN=p expect 0 --env A=b --env 'C=d e' -- env
  for line in OMP_NUM_THREADS=3 KMP_X=1 OMPTIER_PLAN=p A=b 'C=d e' OMP_WAIT_POLICY=passive; do
    grep -qxF "$line" out || die "$line is missing"
  done
  grep -q SECRET out && die "the rest of the environment is passed on"
  expect 0 --timed --env A=1 B=2 -- sh -c 'echo "$A $B"'
  grep -qx '1 2' out || die "of two variables for one --env, one is missing"
  says "s of guest time"
  one_line
  OMP_WAIT_POLICY=active expect 0 -- env
  grep -qx OMP_WAIT_POLICY=active out || die "the user's wait policy is lost"
  ;;
unprivileged)
  expect 0 --unprivileged -- sh -c 'id -u; echo x > mine; cat mine; cat /proc/1/mem || true'
  [ "$(sed -n 1p out)" != 0 ] || die "it is root"
  [ "$(sed -n 2p out)" = x ] || die "the current folder cannot be written"
  says "ermission denied"
  expect 0 --unprivileged -- grep -E 'NoNewPrivs' /proc/self/status
  grep -q '1$' out || die "privileges can be had back"
  ;;
left_running)
  expect 4 -- sh -c 'sleep 1000 & echo started; exit 4'
  [ "$(cat out)" = started ] || die "output"
  ;;
timeout)
  "$omptier" sandbox --machine xeon-max-flat --timeout 3 -- sleep 1000 > out 2> err
  [ $? -eq 124 ] || die "status"
  says "no end within 3 s"
  one_line
  no_machine_left
  ;;
panic)
  expect 125 -- sh -c 'echo c > /proc/sysrq-trigger; sleep 100'
  says "kernel panicked: sysrq triggered crash"
  one_line
  ;;
illegal)
  expect 132 -- "$programs/machine_illegal"
  says "build it for x86-64-v3"
  one_line
  expect 5 -- sh -c "$programs/machine_illegal; exit 5"
  says "build it for x86-64-v3"
  ;;
out_of_memory)
  # A control group makes the want quicker: the kernel does and says the same.
  expect 137 -- sh -c 'cd /sys/fs/cgroup && echo +memory > cgroup.subtree_control && mkdir small &&
    echo 32M > small/memory.max && echo $$ > small/cgroup.procs && exec tail /dev/zero'
  says "ran out of memory and its kernel killed tail"
  one_line
  ;;
full_tmp)
  expect 1 -- dd if=/dev/zero of=/tmp/file bs=1M
  says "/tmp of the machine is full"
  one_line
  ;;
not_found)
  expect 127 -- no-such-program
  says "cannot run no-such-program: No such file"
  expect 126 -- /etc/passwd
  says "cannot run /etc/passwd: Permission denied"
  one_line
  expect 127 -- /tmp/program
  says "a /tmp and /run of its own"
  below=$(mktemp -d /tmp/omptier-XXXXXX)
  cp /bin/true "$below/tool-below-tmp"
  (PATH=$below:$PATH && export PATH && expect 127 -- tool-below-tmp) || exit 1
  rm -r "$below"
  says "a /tmp and /run of its own"
  ;;
usage)
  "$omptier" sandbox --machine no-such -- true > out 2> err
  [ $? -eq 2 ] || die "status"
  for machine in $("$omptier" sandbox --list | cut -d' ' -f1); do says "$machine"; done
  one_line
  expect 2
  says "no command"
  expect 2 --timed=fast -- true
  says "the dilation is a number"
  expect 2 --env NAME -- true
  says "NAME=value"
  expect 2 --env A=1 B=2 --timed -- true
  says "options come before"
  one_line
  expect 2 --no-such-option -- true
  ;;
missing_qemu)
  PATH=/nonexistent "$omptier" sandbox --machine dram-cxl -- true > out 2> err
  [ $? -eq 125 ] || die "status"
  says "install it (Debian: apt-get install qemu-system-x86)"
  one_line
  ;;
missing_image)
  # With nothing but QEMU in PATH the image cannot be made either.
  mkdir path
  ln -s "$(command -v qemu-system-x86_64)" path/
  OMPTIER_CACHE=$PWD/empty PATH=$PWD/path "$omptier" sandbox --machine dram-cxl -- true > out 2> err
  [ $? -eq 125 ] || die "status"
  says "make-guest"
  one_line
  ;;
full_cache)
  own_cache
  mkdir cache/snapshots
  # A file system of 8 MiB, in a mount name space of our own.
  # shellcheck disable=SC2016
  OMPTIER_CACHE=$PWD/cache unshare -rm sh -c '
    mount -t tmpfs -o size=8m none cache/snapshots && exec "$0" sandbox --machine xeon-max-flat \
      --timeout 100 -- sh -c "echo ran; exit 3"' "$omptier" > out 2> err
  [ $? -eq 3 ] || die "status"
  [ "$(cat out)" = ran ] || die "did not run"
  says "No space left on device; free some space, or set OMPTIER_CACHE"
  one_line
  ;;
damaged_snapshot)
  own_cache
  export OMPTIER_CACHE="$PWD/cache"
  expect 0 -- true
  truncate -s 20M cache/snapshots/*.state
  expect 3 -- sh -c 'exit 3'
  says "the saved machine is damaged"
  one_line
  [ -z "$(find cache/snapshots -name '*.state')" ] || die "it is still there"
  rm -r cache/snapshots
  ;;
stuck_output)
  # Nobody reads: the time limit and signals must still be heeded.
  mkfifo pipe
  sleep 100 < pipe &
  reader=$!
  "$omptier" sandbox --machine xeon-max-flat --timeout 3 -- yes > pipe 2> err
  got=$?
  kill $reader
  [ $got -eq 124 ] || die "status $got"
  ;;
parallel)
  for i in 1 2 3; do
    sandbox -- sh -c "echo $i > /tmp/x; sleep 1; cat /tmp/x; exit $i" > out.$i 2> err &
    eval "process$i=\$!"
  done
  for i in 1 2 3; do
    eval "wait \$process$i"
    [ $? -eq $i ] || die "status of $i"
    [ "$(cat out.$i)" = $i ] || die "output of $i"
  done
  ;;
race)
  own_cache
  export OMPTIER_CACHE="$PWD/cache"
  sandbox -- echo one > out.1 2> err &
  first=$!
  sandbox -- echo two > out.2 2>> err
  second=$?
  wait $first && [ $second -eq 0 ] || die "status"
  [ "$(cat out.1 out.2)" = "one
two" ] || die "output"
  [ "$(ls cache/snapshots | grep -c 'state$')" -eq 1 ] || die "not one snapshot"
  ls cache/snapshots | grep -q partial && die "something partial is left"
  rm -r cache/snapshots
  ;;
interrupted)
  for signal in INT TERM; do
    # A shell gives background commands SIGINT ignored, as a terminal does not.
    env --default-signal=INT "$omptier" sandbox --machine xeon-max-flat --timeout 100 -- \
      sh -c 'echo up; sleep 1000' > out 2> err &
    process=$!
    until [ -s out ]; do kill -0 $process || die "it ended"; sleep 0.1; done
    kill -$signal $process
    wait $process
    got=$?
    [ $got -eq $([ $signal = INT ] && echo 130 || echo 143) ] || die "$signal: status $got"
    says "stopped by"
    one_line
    no_machine_left
  done
  ;;
launcher_killed)
  "$omptier" sandbox --machine xeon-max-flat -- sh -c 'echo up; sleep 1000' > out 2> err &
  process=$!
  until [ -s out ]; do kill -0 $process || die "it ended"; sleep 0.1; done
  [ -n "$(machines_here)" ] || die "the machine is not seen"
  kill -KILL $process
  wait $process
  no_machine_left
  ;;
closed_output)
  { sandbox -- yes 2> err; echo $? > status; } | head -n 1 > out
  [ "$(cat status)" = 141 ] || die "status $(cat status)"
  silent
  ;;
no_snapshot)
  expect 6 --no-snapshot --console -- sh -c 'echo "<0>heard" > /dev/kmsg; sleep 1; exit 6'
  says heard
  ;;
fresh_clock)
  # A restored machine must not live in the past nor repeat its random numbers.
  before=$(date +%s)
  expect 0 -- sh -c 'date +%s; od -An -tx8 -N16 /dev/urandom; cat /proc/sys/kernel/random/uuid'
  cp out first
  after=$(date +%s)
  inside=$(head -n 1 first)
  [ "$inside" -ge "$before" ] && [ "$inside" -le "$after" ] || die "clock $inside"
  expect 0 -- sh -c 'date +%s; od -An -tx8 -N16 /dev/urandom; cat /proc/sys/kernel/random/uuid'
  for line in 2 3; do
    [ "$(sed -n ${line}p first)" != "$(sed -n ${line}p out)" ] || die "the same random numbers"
  done
  ;;
timed)
  pause=/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs
  expect 9 --timed --misses misses --statistics statistics -- sh -c "cat $pause; exit 9"
  [ "$(cat out)" = 1000000 ] || die "did not run, or khugepaged's 10 s are not 100 times as long"
  [ "$(head -c 8 misses)" = OMPTMISS ] || die "no misses exported"
  [ -s statistics ] || die "no statistics"
  # The model needs the kernel's symbols; without them moving pages would cost nothing.
  says "s of guest time"
  [ "$(wc -l < err)" -eq 1 ] || die "says more"
  ;;
batch)
  # One machine for all; after a time-out, another. Failed commands are run again, others are not.
  cat > commands <<'END'
# two of these fail
echo one >> ran; echo "a\"b"; uname -n

sh -c 'exit 3'
echo err >&2; sleep 30
cat; echo last
END
  "$omptier" sandbox --machine xeon-max-flat --timeout 4 --batch commands --results kept > out 2> err
  [ $? -eq 1 ] || die "status"
  [ "$(wc -l < out)" -eq 4 ] && [ "$(wc -l < kept)" -eq 4 ] || die "not a line each"
  grep -q '"line":2,.*"status":0,.*"output":"a\\"b\\nxeon-max-flat\\n","errors":""' out || die "line 2"
  grep -q '"line":4,.*"status":3,' out || die "line 4"
  grep -q '"line":5,.*"status":124,"seconds":4.0,' out || die "line 5"
  grep -q '"line":6,.*"status":0,.*"output":"last\\n"' out || die "line 6"
  says "4 of 4 commands"
  "$omptier" sandbox --machine xeon-max-flat --timeout 1 --batch commands --results kept > out 2> err
  [ "$(wc -l < out)" -eq 4 ] && [ "$(wc -l < kept)" -eq 6 ] || die "not only the failed ones again"
  [ "$(cat ran)" = one ] || die "ran twice"
  says "2 of 2 commands"
  ;;
batch_timed)
  # Each command has empty caches and the model to itself; two machines side by side.
  pause=/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs
  for i in 1 2 3 4; do echo "cat /proc/sys/kernel/hostname $pause # $i"; done > commands
  "$omptier" sandbox --machine dram-cxl --timed --timeout 60 --jobs 2 --batch commands > out 2> err ||
    die "status"
  [ "$(grep -c '"status":0,.*"output":"dram-cxl\\n1000000\\n","errors":""' out)" -eq 4 ] || die "results"
  for wrong in "--batch nowhere" "--batch ." "--batch commands --stdin" "--batch commands --jobs 0" \
               "--results kept -- true" "--batch commands --misses m"; do
    # shellcheck disable=SC2086
    "$omptier" sandbox --machine dram-cxl $wrong > out 2> err
    [ $? -eq 2 ] || die "status of $wrong"
    one_line
  done
  ;;
machine_file)
  # What --describe prints is a machine; a changed one is that machine.
  "$omptier" sandbox --describe dram-cxl > mine.machine || die "describe"
  sed -i 's/^memory cxl 2G/memory cxl 512M/; s/^local 250 260 55000/local 251 260 56000/' mine.machine
  "$omptier" sandbox --machine-file mine.machine --timeout 100 -- lstopo --of xml > xml 2> err ||
    die "does not run"
  grep -q 'name="ReadLatency"' xml && grep -q 'value="251"' xml || die "not this machine"
  grep -q 'value="4000"' xml || die "bandwidth is not the CPUs' part"
  sed -i 's/^sockets 1/sockets 0/; s/^duplex/simplex/' mine.machine
  "$omptier" sandbox --machine-file mine.machine -- true > out 2> err
  [ $? -eq 2 ] || die "status"
  says "mine.machine:4: sockets '0'"
  says "'simplex' is no keyword of a memory"
  "$omptier" sandbox --describe dram-cxl | sed 's/^memory dram 1G/memory dram 900000G/' > large.machine
  "$omptier" sandbox --machine-file large.machine -- true > out 2> err
  [ $? -eq 2 ] || die "status of a machine larger than the host"
  says "this host"
  "$omptier" sandbox --machine-file nowhere -- true > out 2> err
  [ $? -eq 2 ] || die "status of no file"
  one_line
  "$omptier" sandbox --describe nowhere > out 2> err
  [ $? -eq 2 ] || die "status of no machine"
  one_line
  ;;
*)
  die "no such case"
  ;;
esac
no_machine_left
