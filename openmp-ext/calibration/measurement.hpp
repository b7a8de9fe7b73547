// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is measured of a memory. A task is one quantity of one node as a group of processors sees
// it, a result its value with what repeats say about its noise. The quantities are those of
// platform.hpp and model/cost.hpp: latencies of an idle memory, one access after the other;
// bandwidths of all threads together, writes without the reads of their lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace omptier {

enum class Quantity : std::uint8_t {
  read_latency,  // ns of a load that needs the load before
  write_latency, // ns of an atomic addition that needs the one before: it waits for its line
  read,          // bytes/s in order
  write,         // bytes/s in order, past the caches where the processor can
  copy,          // bytes/s read and written together, as many of each
  gather,        // bytes/s of lines at random places
  gather_4,      // the same in aligned groups of 4, 8 and 16 lines: what the medium moves at once
  gather_8,
  gather_16,
  strided,        // bytes/s of lines, of each fourth line
  tiled,          // bytes/s in order within tiles of 4 KiB, these at random places
  loaded_latency, // ns, as read_latency, while all other threads read
  read_both,      // bytes/s of half of the threads each from this node and the other one
  move_small,     // ns of moving a page of 4 KiB from the other node to this one
  move_huge,      // ns of moving a huge page
};
inline constexpr std::size_t k_quantities = 15;

// "read-latency", as in files and JSON; and the way back.
std::string_view name_of(Quantity quantity);
std::optional<Quantity> quantity_named(std::string_view name);
bool is_time(Quantity quantity); // nanoseconds; else bytes per second

struct Task {
  Quantity quantity = Quantity::read;
  unsigned group = 0; // of processors
  unsigned node = 0;
  unsigned threads = 1;
  int other = -1; // second node, of read_both and moves
  unsigned visit = 0; // what is used is measured twice, some time apart: 0, then 1

  bool operator==(const Task&) const = default;
};

struct Result {
  Task task;
  double value = 0;         // the median; 0 = could not be measured
  double low = 0, high = 0; // 95 %, of the median
  unsigned repeats = 0;
  std::string problem; // why there is no value
  bool of_node = false;            // the problem, of which all tasks of the node have it
  std::vector<double> visits = {}; // the values of both, if there were two: see together()

  double spread() const { return value > 0 ? (high - low) / value : 0; }
};

// Of both visits of a task: an interval that holds both, so that a value is trusted only if they
// agree. Repeats in a row are disturbed, or helped, by the same things, and look alike by that.
Result together(const Result& first, const Result& second);

// An interval wider than this part of the value is no basis for decisions.
inline constexpr double k_most_spread = 0.10;
inline bool is_trusted(const Result& result) {
  return result.value > 0 && result.spread() <= k_most_spread;
}

} // namespace omptier
