// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A process that has no use for our malloc is given back the next one, as if this library had never
// stood in front of it: the loader has bound everybody's references to us by then, so they are
// bound again, and what is bound later (lazily, or by libraries to come) does not find us any more.
// A call then costs what it costs without us. An IFUNC symbol would say the same, but glibc 2.36
// resolves one while its library is not relocated yet ("Relink … with …", then a crash).
#pragma once

#include <cstddef>
#include <cstdint>

namespace omptier::preload {

// One function of ours that stands in front of another.
struct Interposed {
  const char* name;
  std::uintptr_t next;
  std::uintptr_t ours = 0; // found by step_aside
};

// References to ours in all loaded modules become references to next, and our symbols are no longer
// found. What the kernel or the loader's layout does not allow stays: it works, through us. Called
// once, before main. Returns how many references were changed.
std::size_t step_aside(Interposed* functions, std::size_t count);

} // namespace omptier::preload
