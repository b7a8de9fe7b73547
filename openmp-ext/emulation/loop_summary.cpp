// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the accesses of an emulated loop to its patterns: those of whole iterations, an entry per
// instruction.
#include "emulation/loop_accesses.hpp"

#include "emulation/streams_in_turn.hpp"

#include <algorithm>
#include <map>

namespace omptier {
namespace {

constexpr float k_steady = 0.9f;          // of the steps: needs no index
constexpr float k_usual = 0.5f;           // of the steps: they follow some rule
constexpr std::size_t k_some_tested = 10; // an access in so many

} // namespace

// The range between the first and the last visit of one instruction: of those visited at least
// twice, the one visited least. It is in an outermost loop, so the parts of nested loops keep their
// proportion.
bool LoopAccesses::whole_iterations(std::size_t& first, std::size_t& last) {
  struct Seen {
    std::size_t first, last, count;
    std::size_t length() const { return last - first; }
  };
  const auto choose = [&](std::size_t from) {
    std::map<std::pair<std::uint64_t, int>, Seen> seen;
    std::size_t longest = 0;
    for (std::size_t i = from; i < std::min(visits_.size(), complete_); ++i) {
      const auto [at, fresh] = seen.try_emplace({visits_[i].pc, visits_[i].depth}, Seen{i, i, 0});
      at->second.last = i;
      ++at->second.count;
      longest = std::max(longest, at->second.length());
    }
    const Seen* best = nullptr;
    for (const auto& [key, one] : seen) {
      if (one.count < 2 || one.length() * 3 < longest) continue;
      if (best == nullptr || one.count < best->count ||
          (one.count == best->count && one.length() > best->length()))
        best = &one;
    }
    if (best == nullptr) return false;
    first_visit_ = best->first, last_visit_ = best->last;
    first = visits_[first_visit_].first_access;
    last = visits_[last_visit_].first_access;
    iterations_ = 0;
    for (std::size_t i = best->first; i < best->last; ++i)
      if (visits_[i].pc == loop_.head && visits_[i].depth == 0) ++iterations_;
    return first < last || !lost_inside().empty();
  };
  return choose(settled_) || (settled_ > 0 && choose(0));
}

// How many accesses, the first ones, are the copy or filling that the sample interrupted, if the
// whole iterations from first to last do not contain it: they are of a loop that ran later.
std::size_t LoopAccesses::copied_alone(std::size_t first, std::size_t last) const {
  const auto copied = static_cast<std::size_t>(
      std::ranges::find(accesses_, false, &Access::sampled) - accesses_.begin());
  for (std::size_t i = first; i < last && copied > 0; ++i)
    if (accesses_[i].pc == accesses_[0].pc) return 0;
  return copied;
}

std::span<const LoopAccesses::Lost> LoopAccesses::lost_inside() const {
  const auto begin = std::ranges::lower_bound(lost_, first_visit_, {}, &Lost::visit);
  const auto end = std::ranges::lower_bound(lost_, last_visit_, {}, &Lost::visit);
  return {begin, end};
}

double LoopAccesses::bytes_of(std::size_t first, std::size_t last) const {
  double bytes = 0;
  for (std::size_t i = first; i < last; ++i)
    bytes += accesses_[i].bytes;
  for (const Lost& lost : lost_inside())
    bytes += lost.bytes;
  return bytes;
}

AccessPattern LoopAccesses::summary_of(std::span<const Access* const> accesses,
                                       bool& in_no_order) const {
  AccessPattern pattern;
  std::map<std::int64_t, unsigned> strides;
  std::vector<std::uint64_t> known; // addresses
  std::uint64_t bytes = 0;          // of one of them
  unsigned chases = 0, steps = 0;
  for (std::size_t i = 0; i < accesses.size(); ++i) {
    if (!accesses[i]->vague) known.push_back(accesses[i]->address), bytes = accesses[i]->bytes;
    if (i == 0) continue;
    if (accesses[i]->vague || accesses[i - 1]->vague) continue;
    ++steps;
    const auto moved = static_cast<std::int64_t>(accesses[i]->address - accesses[i - 1]->address);
    ++strides[moved];
    // A single pointer may be an array of pointers; what stays where it is is no list.
    if (accesses[i]->links > 1 && moved != 0) ++chases;
  }
  if (steps == 0) return pattern;
  const auto all = static_cast<float>(steps);
  pattern.chased = static_cast<float>(chases) / all;
  if (const auto step = chases == 0 ? step_of_streams(known) : std::nullopt) {
    pattern.strides[0] = {*step, 1};
    return pattern;
  }
  std::vector<std::pair<unsigned, std::int64_t>> order;
  for (const auto& [stride, count] : strides)
    order.emplace_back(count, stride);
  std::sort(order.rbegin(), order.rend());
  if (chases == 0 && order.front().first < k_usual * all)
    if (const auto [are, step] = streams_in_no_order(known, bytes);
        are == StreamsInNoOrder::Are::certain) {
      pattern.strides[0] = {step, 1};
      in_no_order = true;
      return pattern;
    }
  for (std::size_t i = 0; i < std::min<std::size_t>(order.size(), AccessPattern::k_strides); ++i)
    pattern.strides[i] = {order[i].second, static_cast<float>(order[i].first) / all};
  return pattern;
}

void LoopAccesses::summarize(std::size_t first, std::size_t last, const RegisterSample& sample,
                             double weight) {
  // Gathers with one base are merged: an unrolled loop spreads its lanes over several.
  struct Of {
    std::vector<const Access*> anywhere, inside;
    std::size_t tested = 0;
    double bytes = 0;
  };
  std::map<std::pair<std::uint64_t, bool>, Of> by_instruction;
  std::map<std::pair<std::uint64_t, bool>, std::uint64_t> gathers; // instruction by base
  const double bytes = bytes_of(first, last);
  for (std::size_t i = 0; i < accesses_.size(); ++i) {
    const Access& access = accesses_[i];
    std::uint64_t pc = access.pc;
    if (access.base != 0) pc = gathers.try_emplace({access.base, access.store}, pc).first->second;
    Of& of = by_instruction[{pc, access.store}];
    of.anywhere.push_back(&access);
    if (i < first || i >= last) continue;
    of.inside.push_back(&access);
    if (access.tested) ++of.tested;
    of.bytes += access.bytes;
  }
  for (const auto& [key, of] : by_instruction) {
    if (of.inside.empty()) continue;
    bool in_no_order = false;
    AccessPattern pattern = summary_of(of.anywhere, in_no_order);
    const bool steady = pattern.strides[0].share >= k_steady || pattern.chased >= 0.5f;
    const Index index = steady && !in_no_order ? Index{} : index_of(of.anywhere);
    if (index.step != 0 && !index.is_own) { // counters: tuples are dealt to partitions, say
      pattern.through = index.address;
      if (!steady) pattern.strides = {{{index.step, 1}}}; // a stream for each
    } else if (!steady && index.is_own) {
      pattern.chased = 1;
    } else if (!steady) {
      pattern.through = index.address;
      pattern.fresh = index_reuse_.of(index.array);
    }
    const Access* drawn = of.inside[++draws_ * 0x9e3779b97f4a7c15 % of.inside.size()];
    if (drawn->vague) // its place is unknown; take another's
      for (const Access* access : of.inside)
        if (!access->vague) drawn = access;
    // The sample has both ends of a copy; later ends come from memory that may have been released.
    for (const Access* access : of.anywhere)
      if (access->sampled) drawn = access;
    pattern.time = sample.time;
    pattern.thread = sample.thread;
    pattern.pc = key.first;
    pattern.address = drawn->address;
    pattern.kind = key.second ? AccessKind::store : AccessKind::load;
    if (of.tested * k_some_tested > of.inside.size()) pattern.kind = AccessKind::unknown;
    pattern.accesses = static_cast<float>(weight / bytes * double(of.inside.size()));
    pattern.bytes = static_cast<float>(weight / bytes * of.bytes);
    patterns_.push_back(pattern);
  }
  add_lost(sample, weight / bytes);
}

void LoopAccesses::add_lost(const RegisterSample& sample, double scale) {
  std::map<std::pair<std::uint64_t, bool>, AccessPattern> by_instruction;
  for (const Lost& lost : lost_inside()) {
    AccessPattern& pattern = by_instruction[{lost.pc, lost.store}];
    pattern.pc = lost.pc;
    pattern.kind = lost.store ? AccessKind::store : AccessKind::load;
    pattern.accesses += static_cast<float>(scale);
    pattern.bytes += static_cast<float>(scale * lost.bytes);
  }
  for (auto& [key, pattern] : by_instruction) {
    pattern.time = sample.time;
    pattern.thread = sample.thread;
    patterns_.push_back(pattern);
  }
}

} // namespace omptier
