// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See stack.hpp. The walk keeps three registers (return address, stack pointer, frame pointer) and
// unwinds each frame by its rule. Rules are found in .eh_frame once per return address and cached
// in a lock-free table: an entry is two words, the first being the key xor-ed with the second, so a
// torn entry matches nothing. A rule also carries a hash of the call instruction's bytes, because
// after dlclose and dlopen other code may lie at the same address. If a frame's rule is complex,
// the C++ runtime's unwinder does the whole walk: slower, equally exact.
#include "objects/stack.hpp"

#include "base/options.hpp"
#include "objects/modules.hpp"
#include "objects/unwind_rule.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <type_traits>
#include <unwind.h>

#if defined(__SANITIZE_ADDRESS__)
#define OMPTIER_READS_STACK __attribute__((no_sanitize("address")))
#else
#define OMPTIER_READS_STACK
#endif

namespace omptier {
namespace {

constexpr unsigned k_deepest_walk = 512; // frames of all kinds, before the walk gives up
constexpr unsigned k_cache_entries = 16384;
constexpr std::uintptr_t k_largest_frame = std::uintptr_t{1} << 32;

struct CachedRule {
  UnwindRule rule;
  bool system = false;
  bool runtime = false;
};

// One word: code hash 16 | offset/8 27 | saved_at/8 10 | kind 2 | frame pointer 1 | system 1 |
// runtime 1 | used 1.
std::uint64_t pack(const CachedRule& cached, std::uint64_t code_hash) {
  const UnwindRule& rule = cached.rule;
  return code_hash << 48 | std::uint64_t{rule.cfa_offset / 8} << 16 |
         std::uint64_t{rule.saved_at / 8} << 6 | std::uint64_t(rule.kind) << 4 |
         std::uint64_t{rule.from_frame_pointer} << 3 | std::uint64_t{cached.system} << 2 |
         std::uint64_t{cached.runtime} << 1 | 1;
}

CachedRule unpack(std::uint64_t word) {
  CachedRule cached;
  cached.rule.cfa_offset = static_cast<std::uint32_t>(word >> 16 & 0x7ffffff) * 8;
  cached.rule.saved_at = static_cast<std::uint32_t>(word >> 6 & 0x3ff) * 8;
  cached.rule.kind = static_cast<UnwindRule::Kind>(word >> 4 & 3);
  cached.rule.from_frame_pointer = (word >> 3 & 1) != 0;
  cached.system = (word >> 2 & 1) != 0;
  cached.runtime = (word >> 1 & 1) != 0;
  return cached;
}

struct CacheEntry {
  std::atomic<std::uint64_t> key{0}, word{0};
};
constinit CacheEntry g_cache[k_cache_entries] = {};

// The eight bytes before the return address are the call and what precedes it. A return address on
// a walked stack is always mapped code.
OMPTIER_READS_STACK std::uint64_t hash_of_code(ReturnAddress address) {
  std::uint64_t bytes;
  __builtin_memcpy(&bytes, reinterpret_cast<const void*>(address - 8), sizeof bytes);
  return bytes * 0x9e3779b97f4a7c15u >> 48;
}

CachedRule look_up_rule(ReturnAddress address) {
  CachedRule cached;
  const LoadedModule* module = module_of(address);
  if (module == nullptr) return cached;
  cached.system = module->system;
  cached.runtime = module->runtime;
#if defined(__x86_64__)
  if (module->unwind_table != nullptr)
    cached.rule = find_unwind_rule(reinterpret_cast<std::uintptr_t>(module->unwind_table),
                                   {module->begin, module->end}, address - 1);
#else
  cached.rule.kind = UnwindRule::Kind::complex;
#endif
  return cached;
}

CachedRule rule_at(ReturnAddress address) {
  if (address < 4096) return {};
  CacheEntry& entry = g_cache[(address * 0x9e3779b97f4a7c15u) >> 50];
  const std::uint64_t word = entry.word.load(std::memory_order_relaxed);
  const std::uint64_t key = entry.key.load(std::memory_order_relaxed);
  if ((word & 1) != 0 && key == (address ^ word) && hash_of_code(address) == word >> 48)
    return unpack(word);
  const LoadedModule* module = module_of(address);
  if (module == nullptr) return {}; // generated code or a wild value: never dereferenced
  const CachedRule cached = look_up_rule(address);
  const std::uint64_t fresh = pack(cached, hash_of_code(address));
  entry.word.store(fresh, std::memory_order_relaxed);
  entry.key.store(address ^ fresh, std::memory_order_relaxed);
  return cached;
}
static_assert(k_cache_entries == 1u << (64 - 50));

// Selects, in the order of a walk, the frames that make a site.
class FrameChooser {
public:
  // caller null: the first one outside of the OpenMP runtime and of ours.
  FrameChooser(const void* caller, ReturnAddress* out, unsigned max)
      : caller_(reinterpret_cast<ReturnAddress>(caller)), out_(out), max_(max) {}

  // False when the walk is over.
  bool add(ReturnAddress address, const CachedRule& cached) {
    if (!started_ && caller_ == 0 && !cached.runtime) caller_ = address;
    if (!started_ && address != caller_) return true;
    if (started_ && cached.runtime) {
      if (count_ == 0) met_ = {address, last_};
      return false;
    }
    started_ = true;
    last_ = address;
    if (!cached.system && !cached.runtime) out_[count_++] = address;
    return count_ < max_;
  }

  unsigned finish(RuntimeMet* met) {
    if (met != nullptr && met_.at != 0) *met = met_;
    if (count_ == 0) out_[count_++] = caller_;
    return count_;
  }

private:
  ReturnAddress caller_, last_ = 0;
  ReturnAddress* out_;
  unsigned max_, count_ = 0;
  RuntimeMet met_;
  bool started_ = false;
};

// Keeps every return address from the caller on, and its place.
class WordChooser {
public:
  WordChooser(const void* caller, StackWord* out, unsigned room, unsigned max_own)
      : caller_(reinterpret_cast<ReturnAddress>(caller)), out_(out), room_(room), left_(max_own) {}

  // place: of the next address; fixed: its distance from the one before is the same in every call.
  void at(std::uintptr_t place, bool fixed) {
    place_ = place;
    fixed_ = fixed;
  }
  bool add(ReturnAddress address, const CachedRule& cached) {
    if (count_ == 0 && address != caller_) return true;
    if (count_ == 0) first_ = last_ = place_;
    if (count_ != 0 && (cached.runtime || count_ == room_)) return false;
    if (!fixed_ && place_ - last_ > k_surely_stack && count_ != 0) return false;
    const bool own = !cached.system && !cached.runtime;
    if (own) last_own_ = count_;
    last_ = place_;
    out_[count_++] = {address, static_cast<std::uint32_t>(place_ - first_), own};
    return !own || --left_ != 0;
  }
  unsigned finish() const { return left_ == 0 ? count_ : std::min(count_, last_own_ + 2); }

private:
  // Bytes surely above the innermost frames: a thread's first function, the C library's data.
  static constexpr std::uintptr_t k_surely_stack = 1024;
  ReturnAddress caller_;
  StackWord* out_;
  unsigned room_, left_, count_ = 0, last_own_ = 0;
  std::uintptr_t place_ = 0, first_ = 0, last_ = 0;
  bool fixed_ = true;
};

enum class WalkEnd : std::uint8_t { done, complex };

#if defined(__x86_64__)
OMPTIER_READS_STACK std::uintptr_t read_word(std::uintptr_t address) {
  return *reinterpret_cast<const std::uintptr_t*>(address);
}

// frame: the frame address of a function of ours that has a frame pointer.
template <typename Chooser> WalkEnd walk_by_rules(std::uintptr_t frame, Chooser& chooser) {
  ReturnAddress address = read_word(frame + 8);
  std::uintptr_t frame_pointer = read_word(frame);
  std::uintptr_t stack_pointer = frame + 16;
  bool fixed = true;
  for (unsigned i = 0; i < k_deepest_walk; ++i) {
    const CachedRule cached = rule_at(address);
    if constexpr (std::is_same_v<Chooser, WordChooser>)
      chooser.at(stack_pointer - 8, fixed);
    if (!chooser.add(address, cached)) return WalkEnd::done;
    const UnwindRule& rule = cached.rule;
    if (rule.kind == UnwindRule::Kind::end) return WalkEnd::done;
    if (rule.kind == UnwindRule::Kind::complex) return WalkEnd::complex;
    const std::uintptr_t cfa =
        (rule.from_frame_pointer ? frame_pointer : stack_pointer) + rule.cfa_offset;
    // A stack only grows. Assembly without unwind information may use the frame pointer otherwise.
    if (cfa <= stack_pointer || cfa - stack_pointer > k_largest_frame || cfa % 8 != 0)
      return WalkEnd::done;
    address = read_word(cfa - 8);
    fixed = !rule.from_frame_pointer;
    if (rule.saved_at != 0) frame_pointer = read_word(cfa - rule.saved_at);
    stack_pointer = cfa;
  }
  return WalkEnd::done;
}
#endif

_Unwind_Reason_Code visit_frame(_Unwind_Context* context, void* argument) {
  auto* chooser = static_cast<FrameChooser*>(argument);
  const auto address = static_cast<ReturnAddress>(_Unwind_GetIP(context));
  if (address == 0) return _URC_NORMAL_STOP; // how the unwinder reports the end
  return chooser->add(address, rule_at(address)) ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

} // namespace

// Inlined, so that the walk begins at the frame of the function that calls it.
__attribute__((always_inline)) static inline unsigned
choose_frames(const void* caller, ReturnAddress* out, unsigned max, RuntimeMet* met) {
  FrameChooser chooser(caller, out, max);
#if defined(__x86_64__)
  const auto frame = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0));
  if (walk_by_rules(frame, chooser) == WalkEnd::done) return chooser.finish(met);
  chooser = FrameChooser(caller, out, max);
#endif
  _Unwind_Backtrace(visit_frame, &chooser);
  return chooser.finish(met);
}

__attribute__((noinline)) unsigned capture_stack(const void* caller, ReturnAddress* out,
                                                 unsigned max, RuntimeMet* met) {
  if (max == 0) return 0;
  // One frame is the caller, unless that lies in a library whose frames are dropped.
  if (const CachedRule at = rule_at(reinterpret_cast<ReturnAddress>(caller));
      max == 1 && !at.system && !at.runtime) {
    *out = reinterpret_cast<ReturnAddress>(caller);
    return 1;
  }
  return choose_frames(caller, out, max, met);
}

__attribute__((noinline)) unsigned capture_stack_below_runtime(ReturnAddress* out, unsigned max) {
  return max != 0 ? choose_frames(nullptr, out, max, nullptr) : 0;
}

__attribute__((noinline)) unsigned capture_words([[maybe_unused]] const void* caller,
                                                 [[maybe_unused]] StackWord* out,
                                                 [[maybe_unused]] unsigned room,
                                                 [[maybe_unused]] unsigned max_own) {
#if defined(__x86_64__)
  WordChooser chooser(caller, out, room, max_own);
  walk_by_rules(reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)), chooser);
  return chooser.finish();
#else
  return 0;
#endif
}

unsigned frames_to_keep() {
  return static_cast<unsigned>(
      std::clamp<std::uint64_t>(option_number(Option::depth), 1, k_max_frames));
}

} // namespace omptier
