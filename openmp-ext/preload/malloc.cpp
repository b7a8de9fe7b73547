// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Intercepts the program's malloc. Blocks that do not concern us cost a compare and a jump: small
// ones by size, frees by the bounds of all blocks ever handed out. The rest is in blocks.cpp, and
// for recorded small blocks in small_spans.cpp.
//
// C++'s new and delete, Fortran's ALLOCATE and the C library's own calls (strdup, getline) arrive
// here because they call malloc and free. A program's own new and delete are not intercepted.
#include "base/rounding.hpp"
#include "preload/blocks.hpp"
#include "preload/library.hpp"
#include "preload/mmap.hpp"
#include "preload/next.hpp"
#include "preload/next_malloc.hpp"
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

__attribute__((noinline)) void* large_aligned(void* (*next)(std::size_t, std::size_t),
                                              std::size_t alignment, std::size_t bytes,
                                              const void* caller) {
  void* block = is_alignment(alignment) ? place(bytes, alignment, false, caller) : nullptr;
  return block != nullptr ? block : served(next(alignment, bytes), bytes, caller);
}

} // namespace

OMPTIER_EXPORT void* malloc(std::size_t bytes) {
  if (is_small(bytes)) [[likely]]
    return g_next.malloc(bytes);
  if (may_be_in_spans(bytes)) return small_spans::allocate(bytes, OMPTIER_CALL, recorded_malloc);
  return recorded_malloc(bytes, __builtin_return_address(0));
}

OMPTIER_EXPORT void free(void* block) {
  if (may_be_ours(block)) [[unlikely]] {
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
  if (may_be_in_spans(bytes))
    if (void* block = from_spans(bytes, OMPTIER_CALL)) return std::memset(block, 0, bytes);
  if (bytes < k_least_recorded && is_left_out()) return g_next.calloc(count, size);
  return large_calloc(count, size, __builtin_return_address(0));
}

OMPTIER_EXPORT void* realloc(void* block, std::size_t bytes) {
  if (is_small(bytes) && !may_be_ours(block)) [[likely]]
    return g_next.realloc(block, bytes);
  if (small_spans::holds(block)) return resize_in_spans(block, bytes, OMPTIER_CALL);
  if (block == nullptr && may_be_in_spans(bytes))
    if (void* fresh = from_spans(bytes, OMPTIER_CALL)) return fresh;
  return resize(block, bytes, __builtin_return_address(0));
}

OMPTIER_EXPORT void* reallocarray(void* block, std::size_t count, std::size_t size) {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  if (is_small(bytes) && !may_be_ours(block)) return g_next.reallocarray(block, count, size);
  if (small_spans::holds(block)) return resize_in_spans(block, bytes, OMPTIER_CALL);
  if (block == nullptr && may_be_in_spans(bytes))
    if (void* fresh = from_spans(bytes, OMPTIER_CALL)) return fresh;
  return resize(block, bytes, __builtin_return_address(0));
}

OMPTIER_EXPORT void* aligned_alloc(std::size_t alignment, std::size_t bytes) {
  if (is_small(bytes)) return g_next.aligned_alloc(alignment, bytes);
  if (is_alignment(alignment) && may_be_in_spans(bytes))
    if (void* block = small_spans::allocate_aligned(bytes, alignment, OMPTIER_CALL)) return block;
  return large_aligned(g_next.aligned_alloc, alignment, bytes, __builtin_return_address(0));
}

OMPTIER_EXPORT void* memalign(std::size_t alignment, std::size_t bytes) {
  if (is_small(bytes)) return g_next.memalign(alignment, bytes);
  if (is_alignment(alignment) && may_be_in_spans(bytes))
    if (void* block = small_spans::allocate_aligned(bytes, alignment, OMPTIER_CALL)) return block;
  return large_aligned(g_next.memalign, alignment, bytes, __builtin_return_address(0));
}

OMPTIER_EXPORT int posix_memalign(void** result, std::size_t alignment, std::size_t bytes) {
  if (!is_small(bytes) && is_alignment(alignment) && alignment % sizeof(void*) == 0) {
    void* block = may_be_in_spans(bytes)
                      ? small_spans::allocate_aligned(bytes, alignment, OMPTIER_CALL)
                      : nullptr;
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
