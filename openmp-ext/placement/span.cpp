// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Free blocks of one span, by their bits.
#include "placement/span.hpp"

namespace omptier {

void Span::open(unsigned size_class_wanted) {
  size_class = static_cast<std::uint16_t>(size_class_wanted);
  block_bytes = k_class_bytes[size_class_wanted];
  reciprocal = ~std::uint64_t{0} / block_bytes + 1;
  blocks = static_cast<std::uint32_t>(granules * k_granule / block_bytes);
  for (std::uint32_t b = 0; b <= blocks; ++b)
    records[b].clear();
  for (std::uint32_t w = 0; w < words(); ++w) {
    const std::uint32_t rest = blocks - w * 64;
    free_bits[w] = rest >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << rest) - 1;
  }
  free = blocks;
  hint = 0;
}

unsigned Span::take(FreeBlock* out, unsigned most) {
  unsigned taken = 0;
  for (; free != 0 && taken < most; ++hint)
    while (free_bits[hint] != 0 && taken < most) {
      const auto bit = static_cast<unsigned>(std::countr_zero(free_bits[hint]));
      free_bits[hint] &= free_bits[hint] - 1;
      const std::uint32_t block = hint * 64 + bit;
      out[taken++] = {address_of(block), &records[block]};
      --free;
      if (taken == most) return taken;
    }
  return taken;
}

bool Span::put(std::uintptr_t block) {
  const std::uint32_t index = index_of(block);
  const std::uint64_t bit = std::uint64_t{1} << index % 64;
  if (index >= blocks || (free_bits[index / 64] & bit) != 0 || records[index].bytes() != 0)
    return false;
  free_bits[index / 64] |= bit;
  hint = std::min(hint, index / 64);
  ++free;
  return true;
}

bool Span::is_sound(std::uint32_t& kept, std::string& why_not) const {
  std::uint32_t live = 0, set = 0;
  for (std::uint32_t b = 0; b < blocks; ++b) {
    const bool is_free = (free_bits[b / 64] >> b % 64 & 1) != 0;
    const std::uint32_t bytes = records[b].bytes();
    live += bytes != 0 ? 1 : 0;
    set += is_free ? 1 : 0;
    if (bytes != 0 && is_free) return why_not = "a live block is among the free", false;
    if (bytes > block_bytes) return why_not = "a block is larger than its class", false;
    if (is_free && b / 64 < hint) return why_not = "a free block lies before the hint", false;
  }
  if (records[blocks].is_live()) return why_not = "the block behind the last is live", false;
  if (set != free) return why_not = "free blocks do not add up", false;
  if (blocks % 64 != 0 && free_bits[blocks / 64] >> blocks % 64 != 0)
    return why_not = "a bit behind the last block is set", false;
  if (listed != (free != 0)) return why_not = "a span is in the wrong list", false;
  kept = blocks - live - set;
  return true;
}

} // namespace omptier
