// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Recognises, in each malloc of a small block, the calls whose blocks have spans of their own
// (small_spans.hpp), or are placed by a plan (placed_small.hpp). A call is recognised by words on
// the thread's stack: its return addresses lie where they lay when the recorder walked that stack
// with unwind rules. So most mallocs cost one look-up of their return address; more of the stack is
// read only if that address is known.
//
// The tables only grow, under their owner's lock, and are read without one.
#pragma once

#include "borders/malloc_record.h"

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace omptier::preload {

// Where malloc was called. On x86-64 the return address lies at `slot` on the stack.
struct Call {
  const void* code;
  const std::uintptr_t* slot;
};

#if defined(__x86_64__) && defined(__clang__)
#define OMPTIER_CALL                                                                               \
  ::omptier::preload::Call{__builtin_return_address(0),                                            \
                           static_cast<std::uintptr_t*>(__builtin_frame_address(0)) + 1}
#elif defined(__x86_64__)
#define OMPTIER_CALL                                                                               \
  ::omptier::preload::Call{__builtin_return_address(0),                                            \
                           static_cast<std::uintptr_t*>(__builtin_dwarf_cfa()) - 1}
#else
#define OMPTIER_CALL                                                                               \
  ::omptier::preload::Call { __builtin_return_address(0), nullptr }
#endif

inline constexpr unsigned k_call_slots = 1024; // of each table
inline constexpr unsigned k_most_calls = 512;
inline constexpr unsigned k_most_alike = 8; // calls with the same two innermost words

// What is known of a site; the owner of the table derives from it.
struct SmallSite {};

struct KnownCall {
  SmallSite* site = nullptr;
  std::uint32_t count = 0;
  const KnownCall* next = nullptr; // with the same two innermost words
  std::uint64_t code[OMPTIER_MOST_CALL_WORDS] = {};
  std::uint32_t above[OMPTIER_MOST_CALL_WORDS] = {};
};

class SmallCalls {
public:
  // Null if the call belongs to no site. two: set to key_of the call's words, if its first
  // one is known.
  [[gnu::always_inline]] SmallSite* site_of(Call call, std::uint64_t& two) const {
    const auto code = reinterpret_cast<std::uint64_t>(call.code);
    for (unsigned at = slot_of(code);; at = (at + 1) % k_call_slots) {
      const std::uint64_t known = innermost_[at].code.load(std::memory_order_acquire);
      if (known == code) return site_behind(code, call, innermost_[at].above, two);
      if (known == 0) return nullptr;
    }
  }
  [[gnu::always_inline]] SmallSite* site_of(Call call) const {
    std::uint64_t two = 0;
    return site_of(call, two);
  }

  // Of a call's two innermost words.
  static std::uint64_t key_of(std::uint64_t code, std::uint64_t next) { return code + (next << 1); }

  // Caller holds the lock. True also for a known call. False: no room, or the next return address
  // is known at another place on the stack for calls with this first one.
  bool add(const omptier_call_words& words, SmallSite& site);
  // For a forked child's only thread.
  void forget();

private:
  static unsigned slot_of(std::uint64_t key) {
    constexpr unsigned k_bits = 10;
    static_assert(k_call_slots == 1u << k_bits);
    return static_cast<unsigned>(key * 0x9e3779b97f4a7c15u >> (64 - k_bits));
  }
  static std::uint64_t word_above(Call call, std::uint32_t above) {
    return *reinterpret_cast<const std::uint64_t*>(reinterpret_cast<const char*>(call.slot) +
                                                   above);
  }

  // From the innermost word outwards: those already read say how far the stack goes.
  [[gnu::always_inline]] SmallSite* site_behind(std::uint64_t code, Call call, std::uint32_t above,
                                                std::uint64_t& two) const {
    const std::uint64_t next = word_above(call, above);
    two = key_of(code, next);
    const KnownCall* known = by_two_[slot_of(two)].load(std::memory_order_acquire);
    for (; known != nullptr; known = known->next)
      if (is_call(*known, code, next, call)) return known->site;
    return nullptr;
  }
  static bool is_call(const KnownCall& known, std::uint64_t code, std::uint64_t next, Call call) {
    if (known.code[0] != code || known.code[1] != next) return false;
    for (unsigned i = 2; i < known.count; ++i)
      if (word_above(call, known.above[i]) != known.code[i]) return false;
    return true;
  }

  struct Innermost {
    std::atomic<std::uint64_t> code{0};
    std::uint32_t above = 0; // of the next return address
  };
  Innermost innermost_[k_call_slots] = {};
  std::atomic<const KnownCall*> by_two_[k_call_slots] = {};
  KnownCall calls_[k_most_calls] = {};
  unsigned used_ = 0;
};

} // namespace omptier::preload
