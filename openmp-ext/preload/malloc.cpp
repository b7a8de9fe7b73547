// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Intercepts the program's malloc. Blocks that do not concern us cost a compare and a jump: small
// ones by size, frees by the bounds of all blocks ever handed out. The rest is in blocks.cpp, and
// for small blocks that are recorded or placed in small_spans.cpp and placed_small.cpp.
//
// C++'s new and delete, Fortran's ALLOCATE and the C library's own calls (strdup, getline) arrive
// here because they call malloc and free. A program's own new and delete are not intercepted.
#include "base/rounding.hpp"
#include "preload/blocks.hpp"
#include "preload/library.hpp"
#include "preload/mmap.hpp"
#include "preload/next.hpp"
#include "preload/next_malloc.hpp"
#include "preload/placed_small.hpp"
#include "preload/recording.hpp"
#include "preload/small_spans.hpp"
#include "preload/step_aside.hpp"

#include <cerrno>
#include <cstring>
#include <unistd.h>

using namespace omptier::preload;

namespace {

// Out of line, so that the fast path needs no stack frame.
__attribute__((noinline)) void* large_malloc(std::size_t bytes, const void* caller) {
  if (bytes < k_least_recorded) {
    void* small = g_next.malloc(bytes);
    record_block(small, bytes, caller);
    return small;
  }
  void* block = place(bytes, 0, false, caller);
  return block != nullptr ? block : served(g_next.malloc(bytes), bytes, caller);
}

// For a recorded block whose site has no span.
void* recorded_malloc(std::size_t bytes, const void* caller) {
  if (bytes < k_least_recorded && is_left_out()) return g_next.malloc(bytes);
  return large_malloc(bytes, caller);
}

// Whether a recorded block may come from its site's spans. Plans place larger ones only.
static_assert(small_spans::k_below > k_least_recorded && small_spans::k_below < k_least_bytes);
inline bool may_be_in_spans(std::size_t bytes) {
  return bytes < small_spans::k_below && small_spans::are_used();
}

// Whether the plan may place the small block.
inline bool may_be_placed(std::size_t bytes) {
  return placed_small::are_used() && bytes < k_least_bytes;
}

// Null: it does not.
__attribute__((noinline)) void* placed(std::size_t bytes, std::size_t alignment, Call call) {
  const placed_small::Site* site = placed_small::site_of(bytes, call);
  return site != nullptr ? placed_small::allocate(*site, bytes, alignment, call.code) : nullptr;
}

// Null: the site has no spans.
__attribute__((noinline)) void* from_spans(std::size_t bytes, Call call) {
  return small_spans::allocate(bytes, call,
                               [](std::size_t, const void*) -> void* { return nullptr; });
}

__attribute__((noinline)) void* large_calloc(std::size_t count, std::size_t size,
                                             const void* caller) {
  void* block = place(count * size, 0, true, caller);
  return block != nullptr ? block : served(g_next.calloc(count, size), count * size, caller);
}

// The block stays if it fills half of its room, or if there is no memory for a smaller one.
__attribute__((noinline)) void* resize_in_spans(void* block, std::size_t bytes, Call call) {
  if (bytes == 0) return small_spans::release(block), nullptr;
  const std::size_t room = small_spans::size_of(block);
  if (bytes <= room && bytes > room / 2) return block;
  void* fresh = bytes < small_spans::k_below
                    ? small_spans::allocate(bytes, call, recorded_malloc)
                    : large_malloc(bytes, call.code);
  if (fresh == nullptr) return bytes <= room ? block : nullptr;
  std::memcpy(fresh, block, bytes < room ? bytes : room);
  small_spans::release(block);
  return fresh;
}

// An invalid alignment is left to the program's malloc to refuse.
bool is_alignment(std::size_t alignment) {
  return alignment != 0 && (alignment & (alignment - 1)) == 0;
}

// The new call decides, as for larger blocks; what already has room stays. bytes: small, not 0.
__attribute__((noinline)) void* resize_small(void* block, std::size_t bytes, Call call) {
  const std::size_t ours = size_of_ours(block);
  if (ours != 0 && ours < k_least_bytes && stays_in_place(block, bytes)) return block;
  const placed_small::Site* site = placed_small::site_of(bytes, call);
  if (site == nullptr || is_early_block(block)) return resize(block, bytes, call.code);
  const std::size_t old_bytes = ours != 0 ? ours : next_size(block);
  if (old_bytes == 0) return resize(block, bytes, call.code); // of a size that nobody knows
  void* fresh = placed_small::allocate(*site, bytes, 0, call.code);
  if (fresh == nullptr) return nullptr;
  std::memcpy(fresh, block, old_bytes < bytes ? old_bytes : bytes);
  give_back(block);
  return fresh;
}

void* resize_perhaps_placed(void* block, std::size_t bytes, Call call) {
  if (bytes == 0) return resize(block, bytes, call.code);
  if (placed_small::is_of_nobody(call) && !may_be_ours(block)) return g_next.realloc(block, bytes);
  return block == nullptr ? placed_small::allocate_or_next(bytes, call)
                          : resize_small(block, bytes, call);
}

// What realloc and reallocarray do unless the program's malloc serves them at once.
[[gnu::always_inline]] inline void* resized(void* block, std::size_t bytes, Call call) {
  if (small_spans::holds(block)) return resize_in_spans(block, bytes, call);
  if (may_be_placed(bytes)) return resize_perhaps_placed(block, bytes, call);
  if (block == nullptr && may_be_in_spans(bytes))
    if (void* fresh = from_spans(bytes, call)) return fresh;
  return resize(block, bytes, call.code);
}

// Null: neither recorded in spans nor placed.
void* small_aligned(std::size_t bytes, std::size_t alignment, Call call) {
  constexpr std::size_t k_most_placed = 4096;
  if (!is_alignment(alignment)) return nullptr;
  if (may_be_in_spans(bytes)) return small_spans::allocate_aligned(bytes, alignment, call);
  return may_be_placed(bytes) && alignment <= k_most_placed ? placed(bytes, alignment, call)
                                                            : nullptr;
}

__attribute__((noinline)) void* large_aligned(void* (*next)(std::size_t, std::size_t),
                                              std::size_t alignment, std::size_t bytes,
                                              const void* caller) {
  void* block = is_alignment(alignment) ? place(bytes, alignment, false, caller) : nullptr;
  return block != nullptr ? block : served(next(alignment, bytes), bytes, caller);
}

} // namespace

OMPTIER_EXPORT void* malloc(std::size_t bytes) {
  const std::size_t least = g_least_bytes.load(std::memory_order_relaxed);
  if (bytes < least) [[likely]]
    return g_next.malloc(bytes);
  if (least != 0) { // not recorded
    if (placed_small::is_of_nobody(OMPTIER_CALL)) return g_next.malloc(bytes);
    return may_be_placed(bytes) ? placed_small::allocate_or_next(bytes, OMPTIER_CALL)
                                : large_malloc(bytes, __builtin_return_address(0));
  }
  if (may_be_in_spans(bytes)) return small_spans::allocate(bytes, OMPTIER_CALL, recorded_malloc);
  return recorded_malloc(bytes, __builtin_return_address(0));
}

OMPTIER_EXPORT void free(void* block) {
  if (may_be_ours(block)) [[unlikely]] {
    if (placed_small::are_used()) return placed_small::release(block);
    if (small_spans::holds(block)) return small_spans::release(block);
    return is_short(block) ? g_next.free(block) : give_back(block);
  }
  return g_next.free(block);
}

// C23's, for C libraries that have them: the sizes are a hint that is not needed here.
OMPTIER_EXPORT void free_sized(void* block, std::size_t) {
  free(block);
}
OMPTIER_EXPORT void free_aligned_sized(void* block, std::size_t, std::size_t) {
  free(block);
}

OMPTIER_EXPORT void* calloc(std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes) || is_small(bytes)) [[likely]]
    return g_next.calloc(count, size); // more than there is: refused there
  if (may_be_placed(bytes)) {
    if (placed_small::is_of_nobody(OMPTIER_CALL)) return g_next.calloc(count, size);
    void* block = placed(bytes, 0, OMPTIER_CALL);
    return block != nullptr ? std::memset(block, 0, bytes) : g_next.calloc(count, size);
  }
  if (may_be_in_spans(bytes))
    if (void* block = from_spans(bytes, OMPTIER_CALL)) return std::memset(block, 0, bytes);
  if (bytes < k_least_recorded && is_left_out()) return g_next.calloc(count, size);
  return large_calloc(count, size, __builtin_return_address(0));
}

OMPTIER_EXPORT void* realloc(void* block, std::size_t bytes) {
  if (is_small(bytes) && !may_be_ours(block)) [[likely]]
    return g_next.realloc(block, bytes);
  return resized(block, bytes, OMPTIER_CALL);
}

OMPTIER_EXPORT void* reallocarray(void* block, std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  if (is_small(bytes) && !may_be_ours(block)) return g_next.reallocarray(block, count, size);
  return resized(block, bytes, OMPTIER_CALL);
}

OMPTIER_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  if (is_small(bytes)) return g_next.aligned_alloc(alignment, bytes);
  if (void* block = small_aligned(bytes, alignment, OMPTIER_CALL)) return block;
  return large_aligned(g_next.aligned_alloc, alignment, bytes, __builtin_return_address(0));
}

OMPTIER_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) {
  if (is_small(bytes)) return g_next.memalign(alignment, bytes);
  if (void* block = small_aligned(bytes, alignment, OMPTIER_CALL)) return block;
  return large_aligned(g_next.memalign, alignment, bytes, __builtin_return_address(0));
}

OMPTIER_EXPORT int posix_memalign(void** result, std::size_t alignment, std::size_t bytes) {
  if (!is_small(bytes) && is_alignment(alignment) && alignment % sizeof(void*) == 0) {
    void* block = small_aligned(bytes, alignment, OMPTIER_CALL);
    if (block == nullptr) block = place(bytes, alignment, false, __builtin_return_address(0));
    if (block != nullptr) {
      *result = block;
      return 0;
    }
  }
  const int error = g_next.posix_memalign(result, alignment, bytes);
  if (error == 0) served(*result, bytes, __builtin_return_address(0));
  return error;
}

OMPTIER_EXPORT void* valloc(std::size_t bytes) {
  if (is_small(bytes)) return g_next.valloc(bytes);
  void* block = place(bytes, page(), false, __builtin_return_address(0));
  return block != nullptr ? block
                          : served(g_next.valloc(bytes), bytes, __builtin_return_address(0));
}

OMPTIER_EXPORT void* pvalloc(std::size_t bytes) {
  if (is_small(bytes) || bytes > ~std::size_t{0} - page()) return g_next.pvalloc(bytes);
  const std::size_t whole = omptier::round_up(bytes, page());
  void* block = place(whole, page(), false, __builtin_return_address(0));
  return block != nullptr ? block
                          : served(g_next.pvalloc(bytes), whole, __builtin_return_address(0));
}

OMPTIER_EXPORT std::size_t malloc_usable_size(void* block) {
  if (small_spans::holds(block)) return small_spans::size_of(block);
  return may_be_ours(block) ? usable_size(block) : g_next.malloc_usable_size(block);
}

namespace omptier::preload {

void take_blocks_by_handle() {
  const auto to = [](auto* function) { return reinterpret_cast<std::uintptr_t>(function); };
  const Interposed functions[] = {
      {"free", to(g_next.free), to(::free)},
      {"realloc", to(g_next.realloc), to(::realloc)},
      {"reallocarray", to(g_next.reallocarray), to(::reallocarray)},
      {"malloc_usable_size", to(g_next.malloc_usable_size), to(::malloc_usable_size)}};
  keep_next_malloc();
  lead_to_ours(functions, sizeof functions / sizeof *functions);
}

void leave_malloc_alone() {
  if (!find_next_malloc()) return;
  const auto to = [](auto* function) { return reinterpret_cast<std::uintptr_t>(function); };
  const NextMmap mmap_behind = next_mmap();
  Interposed functions[] = {{"malloc", to(g_next.malloc)},
                            {"calloc", to(g_next.calloc)},
                            {"realloc", to(g_next.realloc)},
                            {"reallocarray", to(g_next.reallocarray)},
                            {"free", to(g_next.free)},
                            {"aligned_alloc", to(g_next.aligned_alloc)},
                            {"posix_memalign", to(g_next.posix_memalign)},
                            {"memalign", to(g_next.memalign)},
                            {"valloc", to(g_next.valloc)},
                            {"pvalloc", to(g_next.pvalloc)},
                            {"malloc_usable_size", to(g_next.malloc_usable_size)},
                            {"pthread_create", to(next_pthread_create())},
                            {"thrd_create", to(next_thrd_create())},
                            {"__register_atfork", to(next_register_atfork())},
                            {"mmap", to(mmap_behind.mmap)},
                            {"mmap64", to(mmap_behind.mmap)},
                            {"munmap", to(mmap_behind.munmap)},
                            {"mremap", to(mmap_behind.mremap)},
                            {"sigaction", to(next_sigaction())},
                            {"signal", to(next_signal())}};
  step_aside(functions, sizeof functions / sizeof *functions);
}

} // namespace omptier::preload
