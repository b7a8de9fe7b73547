// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See next_malloc.hpp. The loader relocates this library before any code of the process runs, so
// the initial pointers are valid from the first call on; the first call comes from the loader or
// the C library, on the only thread. (Two threads that both look up store the same values.)
#include "preload/next_malloc.hpp"

#include "base/rounding.hpp"
#include "preload/blocks.hpp"
#include "preload/next.hpp"

#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <initializer_list>

namespace omptier::preload {
namespace {

__attribute__((tls_model("initial-exec"))) thread_local bool looking_up = false;

alignas(16) char early_buffer[16384];
std::size_t early_used = 0;
bool kept = false;

void* take_early(std::size_t bytes) {
  bytes = round_up(bytes, 16);
  if (bytes > sizeof early_buffer - early_used) return nullptr;
  void* block = early_buffer + early_used;
  early_used += bytes;
  cover(block, bytes); // so that free checks it
  return block;
}

void look_up_all() {
  if (kept) return;
  looking_up = true;
  NextMalloc next = g_next;
  look_up(next.malloc, "malloc");
  look_up(next.calloc, "calloc");
  look_up(next.realloc, "realloc");
  look_up(next.reallocarray, "reallocarray");
  look_up(next.free, "free");
  look_up(next.aligned_alloc, "aligned_alloc");
  look_up(next.posix_memalign, "posix_memalign");
  look_up(next.memalign, "memalign");
  look_up(next.valloc, "valloc");
  look_up(next.pvalloc, "pvalloc");
  look_up(next.malloc_usable_size, "malloc_usable_size");
  g_next = next;
  looking_up = false;
}

// If no library has the function, the pointer stays First and the call fails.
template <auto Member, auto First, typename R, typename... A> R look_up_and_call(A... arguments) {
  look_up_all();
  if (g_next.*Member == First) return R();
  return (g_next.*Member)(arguments...);
}

void* first_malloc(std::size_t bytes) {
  if (looking_up) return take_early(bytes);
  return look_up_and_call<&NextMalloc::malloc, first_malloc, void*>(bytes);
}
void* first_calloc(std::size_t count, std::size_t size) {
  if (looking_up) return take_early(count * size); // the loader's own sizes; zeroed memory
  return look_up_and_call<&NextMalloc::calloc, first_calloc, void*>(count, size);
}
void* first_realloc(void* block, std::size_t bytes) {
  if (looking_up) return block == nullptr ? take_early(bytes) : nullptr;
  return look_up_and_call<&NextMalloc::realloc, first_realloc, void*>(block, bytes);
}
void* first_reallocarray(void* block, std::size_t count, std::size_t size) {
  if (looking_up) return nullptr;
  return look_up_and_call<&NextMalloc::reallocarray, first_reallocarray, void*>(block, count, size);
}
void first_free(void* block) {
  if (looking_up || block == nullptr) return;
  look_up_and_call<&NextMalloc::free, first_free, void>(block);
}
void* first_aligned_alloc(std::size_t alignment, std::size_t bytes) {
  if (looking_up) return nullptr;
  return look_up_and_call<&NextMalloc::aligned_alloc, first_aligned_alloc, void*>(alignment, bytes);
}
int first_posix_memalign(void** block, std::size_t alignment, std::size_t bytes) {
  if (looking_up) return ENOMEM;
  look_up_all();
  if (g_next.posix_memalign == first_posix_memalign) return ENOMEM;
  return g_next.posix_memalign(block, alignment, bytes);
}
void* first_memalign(std::size_t alignment, std::size_t bytes) {
  if (looking_up) return nullptr;
  return look_up_and_call<&NextMalloc::memalign, first_memalign, void*>(alignment, bytes);
}
void* first_valloc(std::size_t bytes) {
  if (looking_up) return nullptr;
  return look_up_and_call<&NextMalloc::valloc, first_valloc, void*>(bytes);
}
void* first_pvalloc(std::size_t bytes) {
  if (looking_up) return nullptr;
  return look_up_and_call<&NextMalloc::pvalloc, first_pvalloc, void*>(bytes);
}
std::size_t first_malloc_usable_size(void* block) {
  if (looking_up) return 0;
  return look_up_and_call<&NextMalloc::malloc_usable_size, first_malloc_usable_size, std::size_t>(
      block);
}

constexpr NextMalloc k_first = {
    first_malloc,
    first_calloc,
    first_realloc,
    first_reallocarray,
    first_free,
    first_aligned_alloc,
    first_posix_memalign,
    first_memalign,
    first_valloc,
    first_pvalloc,
    first_malloc_usable_size,
};

} // namespace

constinit NextMalloc g_next = k_first;

bool find_next_malloc() {
  look_up_all();
  const NextMalloc first = k_first;
  const auto* next = reinterpret_cast<const char*>(&g_next);
  const auto* unknown = reinterpret_cast<const char*>(&first);
  for (std::size_t at = 0; at < sizeof first; at += sizeof(void*))
    if (std::memcmp(next + at, unknown + at, sizeof(void*)) == 0) return false;
  return early_used == 0;
}

void keep_next_malloc() {
  look_up_all();
  kept = true;
}

bool next_malloc_has_headers() {
#if defined(__x86_64__)
  void* c_library = find_next_malloc() ? ::dlopen("libc.so.6", RTLD_LAZY | RTLD_NOLOAD) : nullptr;
  if (c_library == nullptr) return false;
  const bool serves = ::dlsym(c_library, "malloc") == reinterpret_cast<void*>(g_next.malloc);
  ::dlclose(c_library);
  if (!serves) return false;
  for (const std::size_t bytes : {std::size_t{20}, std::size_t{1001}, std::size_t{1} << 20}) {
    void* block = g_next.malloc(bytes);
    if (block == nullptr) return false;
    // Valgrind and similar tools put allocators of their own behind the C library's names. Their
    // usable size equals the requested one; the word before their blocks must not be read.
    const std::size_t usable = g_next.malloc_usable_size(block);
    const std::size_t word =
        usable != bytes ? static_cast<const std::size_t*>(block)[-1] : std::size_t{0};
    g_next.free(block);
    const bool mapped = (word & 2) != 0;
    if (word / 8 * 8 != usable + (mapped ? 2 : 1) * sizeof word) return false;
  }
  return true;
#else
  return false;
#endif
}

bool next_malloc_knows_sizes() {
  static_cast<void>(find_next_malloc());
  Dl_info frees, sizes;
  return ::dladdr(reinterpret_cast<const void*>(g_next.free), &frees) != 0 &&
         ::dladdr(reinterpret_cast<const void*>(g_next.malloc_usable_size), &sizes) != 0 &&
         frees.dli_fbase == sizes.dli_fbase;
}

bool is_early_block(const void* block) {
  const char* at = static_cast<const char*>(block);
  return at >= early_buffer && at < early_buffer + sizeof early_buffer;
}

std::size_t early_bytes_from(const void* block) {
  return static_cast<std::size_t>(early_buffer + early_used - static_cast<const char*>(block));
}

} // namespace omptier::preload
