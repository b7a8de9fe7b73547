// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Gives a process that does not need our malloc the next one, as if this library had never
// intercepted it. By then the loader has bound all modules' references to us, so they are bound
// again, and later bindings (lazy ones, or of libraries to come) no longer find our symbols. A call
// then costs what it costs without us. An IFUNC symbol could do the same, but glibc 2.36 resolves
// it before its library is relocated ("Relink … with …", then a crash).
#pragma once

#include <cstddef>
#include <cstdint>

namespace omptier::preload {

struct Interposed {
  const char* name;
  std::uintptr_t next;
  std::uintptr_t ours = 0; // found by step_aside, given to lead_to_ours
};

// References to ours in all loaded modules become references to next, and our symbols are hidden.
// References that the kernel or the loader's layout does not let us change still work, through us.
// Called once, before main. Returns how many references were changed.
std::size_t step_aside(Interposed* functions, std::size_t count);

// The reverse of step_aside: whoever looks a function up by the handle of the library that has next
// (Python's CDLL("libc.so.6").free) finds ours, because blocks of ours may be passed to it. Covers
// all names of the function. Returns how many symbols were changed.
std::size_t lead_to_ours(const Interposed* functions, std::size_t count);

} // namespace omptier::preload
