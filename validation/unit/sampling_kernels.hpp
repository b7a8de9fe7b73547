// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loops whose time per array can be measured: each array of a kernel can be exchanged for a piece
// of itself that stays in the cache ("resident"), and the time saved is what that array costs. That
// is the truth which sampled shares are held against. Plain C++ compiled at -O2, as programs are.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

namespace sampling_kernels {

struct Array {
  std::string name;
  const void* begin;
  std::size_t bytes;
  double accessed = 0;  // bytes an iteration, of a kernel of streams
  bool written = false; // by all of these accesses
};

struct Kernel {
  std::string name;
  std::vector<Array> arrays;
  // One unit of work, some milliseconds; bit i of resident: array i is read from its cached piece.
  std::function<void(unsigned resident)> run;
  // Streams wait for bandwidth rather than for one access: which of several equal streams is caught
  // waiting says less, and stores wait unseen in the store buffer. Known, and allowed for.
  bool streams = false;
  // Steps of the next iteration are under way behind the load that waits, and their time is blamed
  // on it: by how much is a matter of the machine's latencies. Known, and allowed for.
  bool overlaps = false;
};

// Allocates and fills the kernel's arrays (up to 512 MB, the example neutron 1.3 GB).
std::vector<std::string> names();
Kernel make(const std::string& name);
void give_back(const Kernel& kernel); // their memory
Kernel make_neutron();                // sampling_neutron.cpp

} // namespace sampling_kernels
