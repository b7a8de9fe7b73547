// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where debug information lies that was split from its program (Debian's -dbgsym packages, objcopy
// --add-gnu-debuglink): by build ID, by the program's link, and for what dwz shares between programs.
// Only files of this machine: libdwfl's own search loads a network client with some twenty libraries.
#pragma once

#include <elfutils/libdwfl.h>

namespace omptier {

// A Dwfl_Callbacks::find_debuginfo. Returns an open file, and its name in memory of malloc; -1 if
// there is none.
int find_debug_file(Dwfl_Module* module, void** user_data, const char* name, Dwarf_Addr base,
                    const char* file, const char* link, GElf_Word checksum, char** found);

} // namespace omptier
