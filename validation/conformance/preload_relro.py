#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""preload_relro.py PROGRAM PRELOAD: where RELRO ends within a page (as it does where pages are of
64 KiB), the loader leaves that page writable, and so does the library that steps aside.

Linkers for this machine end RELRO at a page: its header in a copy of the program is made longer.
"""

import os
import pathlib
import shutil
import struct
import sys
import tempfile

from trial import clean_environment, run

PT_GNU_RELRO = 0x6474E552
MEMORY_SIZE = 40 # in an Elf64_Phdr


def lengthen(path, more):
    file = bytearray(path.read_bytes())
    first, = struct.unpack_from("<Q", file, 32)
    size, count = struct.unpack_from("<HH", file, 54)
    for at in range(first, first + size * count, size):
        if struct.unpack_from("<I", file, at)[0] == PT_GNU_RELRO:
            begin, = struct.unpack_from("<Q", file, at + 16)
            length, = struct.unpack_from("<Q", file, at + MEMORY_SIZE)
            struct.pack_into("<Q", file, at + MEMORY_SIZE, length + more)
            path.write_bytes(file)
            return (begin + length + more) % os.sysconf("SC_PAGESIZE")
    sys.exit("the program has no RELRO")


def main():
    program, preload = map(pathlib.Path, sys.argv[1:3])
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "program"
        for more in 0, 64, 4000:
            shutil.copy(program, copy)
            if lengthen(copy, more) == 0 and more != 0:
                sys.exit("RELRO ends at a page")
            for variable in {}, {"LD_PRELOAD": str(preload)}:
                done = run(copy, env=clean_environment(**variable))
                if done.stdout != "data writable, constants not\n":
                    sys.exit(f"{more} bytes more, {variable}: {done}")
    print("what lies behind RELRO stays writable, RELRO is read-only again")


main()
