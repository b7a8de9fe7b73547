// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See small_calls.hpp. A call of only one word is stored as its own next one.
#include "preload/small_calls.hpp"

#include <cstring>

namespace omptier::preload {
namespace {

bool is_same(const KnownCall& known, const omptier_call_words& words) {
  const std::size_t count = words.count;
  return known.count == count &&
         std::memcmp(known.code, words.code, count * sizeof *words.code) == 0 &&
         std::memcmp(known.above, words.above, count * sizeof *words.above) == 0;
}

} // namespace

bool SmallCalls::add(const omptier_call_words& words, SmallSite& site) {
  if (words.count == 0 || words.count > OMPTIER_MOST_CALL_WORDS) return false;
  const std::uint32_t above = words.count > 1 ? words.above[1] : 0;
  bool first = false; // with that innermost address
  unsigned at = slot_of(words.code[0]);
  for (;; at = (at + 1) % k_call_slots) { // at most half full
    const std::uint64_t known = innermost_[at].code.load(std::memory_order_relaxed);
    first = known == 0;
    if (first) break;
    if (known != words.code[0]) continue;
    if (innermost_[at].above != above) return false;
    break;
  }
  const std::uint64_t next = words.code[words.count > 1 ? 1 : 0];
  auto& head = by_two_[slot_of(key_of(words.code[0], next))];
  unsigned alike = 0; // each costs a malloc some comparisons
  for (const KnownCall* other = head.load(std::memory_order_relaxed); other != nullptr;
       other = other->next) {
    if (is_same(*other, words)) return true;
    if (++alike == k_most_alike) return false;
  }
  if (used_ == k_most_calls) return false;
  KnownCall& call = calls_[used_++];
  call.site = &site;
  call.count = words.count;
  std::memcpy(call.code, words.code, words.count * sizeof *words.code);
  std::memcpy(call.above, words.above, words.count * sizeof *words.above);
  call.code[1] = next;
  call.next = head.load(std::memory_order_relaxed);
  head.store(&call, std::memory_order_release);
  if (!first) return true; // others read the slot
  innermost_[at].above = above;
  innermost_[at].code.store(words.code[0], std::memory_order_release);
  return true;
}

void SmallCalls::forget() {
  for (unsigned i = 0; i < k_call_slots; ++i) {
    innermost_[i].code.store(0, std::memory_order_relaxed);
    by_two_[i].store(nullptr, std::memory_order_relaxed);
  }
  used_ = 0;
}

} // namespace omptier::preload
