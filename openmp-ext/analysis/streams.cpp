// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See streams.hpp. Accesses of one site that are near each other are one stream: the rows of a
// stencil, the instructions of an unrolled loop.
#include "analysis/streams.hpp"

#include "analysis/loop_traffic.hpp"
#include "analysis/object_pattern.hpp"

#include "model/demand.hpp"

#include <algorithm>
#include <cmath>

namespace omptier {
namespace {

constexpr double k_golden = 0.6180339887498949; // multiples of it fill [0, 1) evenly

using AccessSpan = std::span<const LoopAccess>;

// Prefetchers see lines: a walk that touches each of them is as good as sequential.
bool is_stream(AccessSpan site) {
  PatternEvidence evidence;
  for (const LoopAccess& access : site)
    evidence.add(*access.pattern);
  const ObjectPattern pattern = evidence.decide();
  return pattern.kind == PatternKind::sequential || pattern.kind == PatternKind::tiled ||
         (pattern.kind == PatternKind::strided && double(pattern.stride) <= k_line_bytes);
}

// Adjacent accesses move a line once: what the farthest step passes, at most the lines touched.
double lines_of(AccessSpan near) {
  double passed = 0, touched = 0;
  for (const LoopAccess& access : near) {
    const LoggedPattern& pattern = *access.pattern;
    const double accesses = double{pattern.accesses};
    const auto step = std::abs(double(pattern.strides[0].bytes));
    touched += std::max(double{pattern.bytes}, accesses * k_line_bytes) / k_line_bytes;
    const bool known = pattern.strides[0].share > 0;
    passed = std::max(passed, known ? accesses * step / k_line_bytes
                                    : double{pattern.bytes} / k_line_bytes);
  }
  return std::min(passed, touched);
}

void add_stream(AccessSpan near, std::vector<Stream>& streams) {
  const auto one_of = [&](AccessKind kind) {
    return std::ranges::find_if(
        near, [&](const LoopAccess& access) { return access.pattern->kind == kind; });
  };
  const auto add = [&](const LoopAccess& access, double lines) {
    const LoggedPattern& pattern = *access.pattern;
    streams.push_back({access.site, access.cached ? 0 : lines, pattern.address, pattern.place,
                       pattern.kind == AccessKind::store ? AccessKind::store : AccessKind::load,
                       pattern.strides[0].bytes});
  };
  const double lines = lines_of(near);
  const auto load = one_of(AccessKind::load), store = one_of(AccessKind::store);
  if (store == near.end())
    add(near.front(), lines);
  else if (load == near.end())
    add(*store, 2 * lines); // written back, and read before
  else
    add(*load, lines), add(*store, lines);
}

} // namespace

std::vector<Stream> streams_of(std::vector<LoopAccess> accesses) {
  std::ranges::sort(accesses, [](const LoopAccess& one, const LoopAccess& other) {
    return one.site != other.site ? one.site < other.site
                                  : one.pattern->address < other.pattern->address;
  });
  std::vector<Stream> streams;
  const AccessSpan all(accesses);
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    while (end < all.size() && all[end].site == all[begin].site)
      ++end;
    if (!is_stream(all.subspan(begin, end - begin))) continue;
    for (std::size_t first = begin, last = begin; first < end; first = last) {
      while (last < end && all[last].pattern->address - all[first].pattern->address <= k_core_cache)
        ++last;
      add_stream(all.subspan(first, last - first), streams);
    }
  }
  return streams;
}

const Stream* StreamDealer::nearest(std::uint64_t pc, std::uint32_t site,
                                    std::uint64_t address) const {
  const auto known = loops_.find(pc);
  if (known == loops_.end()) return nullptr;
  const auto distance = [&](const Stream& stream) {
    return std::max(stream.address, address) - std::min(stream.address, address);
  };
  const Stream* nearest = nullptr;
  for (const Stream& stream : known->second)
    if (stream.site == site && (nearest == nullptr || distance(stream) < distance(*nearest)))
      nearest = &stream;
  return nearest;
}

const Stream* StreamDealer::deal(std::uint64_t pc, std::uint32_t site) {
  const auto known = loops_.find(pc);
  if (known == loops_.end()) return nullptr;
  const std::vector<Stream>& streams = known->second;
  double all = 0;
  bool blamed = false;
  for (const Stream& stream : streams) {
    all += stream.lines;
    blamed = blamed || stream.site == site;
  }
  if (!blamed || !(all > 0)) return nullptr;
  double whole = 0;
  const double at = 2 * std::modf(k_golden * double(++dealt_), &whole) - 1;
  if (at < 0) return nullptr; // the half that stays
  double sum = 0;
  for (const Stream& stream : streams) {
    sum += stream.lines;
    if (sum > at * all) return &stream;
  }
  return nullptr;
}

} // namespace omptier
