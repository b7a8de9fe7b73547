// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See index_reuse.hpp.
#include "emulation/index_reuse.hpp"

#include "emulation/process_memory.hpp"

#include <algorithm>
#include <cstring>

namespace omptier {
namespace {

constexpr std::uint64_t k_spread = 0x9e3779b97f4a7c15;
constexpr unsigned k_line_bits = 6;
constexpr std::uint64_t k_tracked = 4;
constexpr std::size_t k_looked_at = 2 * std::size_t{k_indices_before};

bool is_tracked(std::uint64_t line) {
  return (line * k_spread >> 32) % k_tracked == 0;
}

// Four bytes are taken as signed: of either sort, indices differ by as much.
std::uint64_t index_in(const std::byte* from, std::uint32_t bytes) {
  std::int32_t narrow = 0;
  std::uint64_t wide = 0;
  if (bytes != sizeof narrow) return std::memcpy(&wide, from, sizeof wide), wide;
  std::memcpy(&narrow, from, sizeof narrow);
  return static_cast<std::uint64_t>(std::int64_t{narrow});
}

} // namespace

float fresh_part(std::span<const std::uint64_t> indices, std::uint64_t scale) {
  const std::size_t counted = indices.size() / 2;
  std::unordered_map<std::uint64_t, std::size_t> latest; // by line
  std::size_t followed = 0, fresh = 0;
  for (std::size_t i = 0; i < indices.size(); ++i) {
    const std::uint64_t line = indices[i] * scale >> k_line_bits;
    if (!is_tracked(line)) continue;
    const auto [before, is_first] = latest.try_emplace(line, i);
    const bool is_fresh = is_first || i - before->second > counted;
    before->second = i;
    if (i < indices.size() - counted) continue;
    ++followed;
    fresh += is_fresh ? 1 : 0;
  }
  if (followed == 0) return 0;
  // Half an access, as nothing was seen: 0 says that it is not known.
  return static_cast<float>(std::max(0.5, double(fresh)) / double(followed));
}

// Before the place; at the array's begin, those to come tell as much.
bool IndexReuse::read(const IndexArray& array) {
  const std::size_t bytes = k_looked_at * array.bytes;
  read_.resize(bytes);
  if (!read_own_memory(array.at - bytes, read_.data(), bytes) &&
      !read_own_memory(array.at, read_.data(), bytes))
    return false;
  indices_.clear();
  for (std::size_t i = 0; i < k_looked_at; ++i)
    indices_.push_back(index_in(&read_[i * array.bytes], array.bytes));
  return true;
}

float IndexReuse::of(const IndexArray& array) {
  if (array.scale == 0 || (array.bytes != 4 && array.bytes != 8)) return 0;
  const std::uint64_t key = (array.pc * 64 + array.scale) * k_spread + array.at / k_index_array;
  if (known_.size() >= k_most_kept && !known_.contains(key)) known_.clear();
  Known& known = known_[key];
  if (known.calls == 0 && read(array)) known = {fresh_part(indices_, array.scale), k_again};
  if (known.calls > 0) --known.calls;
  return known.fresh;
}

} // namespace omptier
