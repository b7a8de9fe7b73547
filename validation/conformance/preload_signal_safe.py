#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""preload_signal_safe.py OBJECT…: what stands in front of sigaction and signal, and the timers' handler,
call only what POSIX lets a signal handler call, and each other: no lock, no memory, no stdio, no timer made.
"""

import pathlib
import re
import subprocess
import sys

# Not of POSIX's list: gettid and getrusage are bare system calls, SIGRTMIN a look at a number. dlsym is for the first
# call of all, which the library's constructor makes.
SAFE = {"sigaction", "timer_settime", "clock_gettime", "getpid", "gettid", "getrusage", "__errno_location",
        "__libc_current_sigrtmin"}
FILES = {
    "signals.cpp.o": SAFE | {"dlsym", "omptier::preload::g_record", "omptier::preload::is_recorder(void const*)"},
    "timer_signal.cpp.o": SAFE,
}
COMPILERS = re.compile(r"_GLOBAL_OFFSET_TABLE_|__stack_chk_fail|__tls_get_addr|"
                       r"guard variable|__gxx_personality_v0|DW\.ref\..*")

seen = set()
for path in map(pathlib.Path, ";".join(sys.argv[1:]).split(";")): # CMake's lists
    if path.name not in FILES:
        continue
    seen.add(path.name)
    output = subprocess.run(["nm", "-uC", path], capture_output=True, text=True, check=True).stdout
    wanted = {line.split(None, 1)[1].strip() for line in output.splitlines() if line.strip()}
    wrong = {name for name in wanted - FILES[path.name] if not COMPILERS.fullmatch(name)}
    if wrong or not wanted:
        sys.exit(f"{path.name} calls {sorted(wrong)}")
if seen != set(FILES):
    sys.exit(f"not found: {set(FILES) - seen}")
print("nothing that a signal handler may not call")
