// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The OpenMP allocator routines, for runtimes without OMPTier: Debian's libomp, GCC's libgomp. On
// our patched runtime each is a jump to the runtime's own. On another one, libomptier.so is called
// first, with the same table that the patched runtime uses, and what it declines goes to that
// runtime. The first call that finds a runtime identifies it: only the patched libomp has both
// clang's entries and the version nodes of gcc's programs.
//
// An allocator of ours must not reach a runtime that would use it as a pointer. So every entry that
// a compiler can call with an allocator is here (omp_*, __kmpc_*, GOMP_*).
#include "preload/library.hpp"
#include "preload/next.hpp"
#include "preload/recording.hpp"

#include <atomic>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <initializer_list>
#include <link.h>
#include <pthread.h>

#define CALLER __builtin_return_address(0)

namespace omptier::preload {
namespace {

using Handle = std::uintptr_t;
constexpr Handle k_default_mem_alloc = 1;

// Replaces a routine that the runtime behind us lacks.
template <typename R, typename... A> R nothing(A...) {
  return R();
}
template <typename F> struct Routine;
template <typename R, typename... A> struct Routine<R(A...)> {
  R (*function)(A...) = nothing<R, A...>;
  R operator()(A... arguments) const { return function(arguments...); }
  explicit operator bool() const { return function != nothing<R, A...>; }
};

struct NextOpenMp {
  Routine<void*(std::size_t, Handle)> alloc;
  Routine<void*(std::size_t, std::size_t, Handle)> aligned_alloc;
  Routine<void*(std::size_t, std::size_t, Handle)> calloc;
  Routine<void*(std::size_t, std::size_t, std::size_t, Handle)> aligned_calloc;
  Routine<void*(void*, std::size_t, Handle, Handle)> realloc;
  Routine<void(void*, Handle)> free;
  Routine<Handle(Handle, int, const omptier_trait*)> init_allocator;
  Routine<void(Handle)> destroy_allocator;
  Routine<Handle()> get_default_allocator;
  Routine<void*(int, std::size_t, Handle)> kmpc_alloc;
  Routine<void*(int, std::size_t, std::size_t, Handle)> kmpc_aligned_alloc;
  Routine<void(int, void*, Handle)> kmpc_free;
  Routine<Handle(int, Handle, int, const omptier_trait*)> kmpc_init_allocator;
  Routine<void(int, Handle)> kmpc_destroy_allocator;
  Routine<void*(std::size_t, std::size_t, Handle)> gomp_alloc;
  Routine<void(void*, Handle)> gomp_free;
};
constinit NextOpenMp g_runtime;
// Called first; null until the runtime is known, and for the patched runtime.
std::atomic<const omptier_hooks*> g_hooks{nullptr};
std::atomic<bool> g_known{false};
// The loader's count of modules when no runtime was among them; one may come by dlopen.
std::atomic<unsigned long long> g_none_among{0};

unsigned long long modules_so_far() {
  unsigned long long count = 0;
  const auto first = [](dl_phdr_info* info, std::size_t, void* argument) {
    *static_cast<unsigned long long*>(argument) = info->dlpi_adds;
    return 1;
  };
  ::dl_iterate_phdr(first, &count);
  return count;
}

// The runtime may have been loaded by a module of the program's, where RTLD_NEXT does not find it.
void* find_runtime() {
  if (::dlsym(RTLD_NEXT, "omp_get_max_threads") != nullptr) return RTLD_NEXT;
  for (const char* name : {"libomp.so.5", "libomp.so", "libgomp.so.1", "libiomp5.so"})
    if (void* handle = ::dlopen(name, RTLD_LAZY | RTLD_NOLOAD)) return handle;
  return nullptr;
}

template <typename F> void look_up(void* handle, Routine<F>& routine, const char* name) {
  preload::look_up(routine.function, name, handle);
}

bool is_patched(void* handle) {
  return ::dlsym(handle, "__kmpc_fork_call") != nullptr &&
         ::dlvsym(handle, "omp_alloc", "OMP_5.0.1") != nullptr;
}

constexpr std::uintptr_t k_access_thread = 8; // omp_atv_thread

// Functions of a stock runtime that libomptier.so gets in place of libomp's.
void* stock_allocate(std::size_t bytes, std::size_t alignment, Handle handle) {
  if (handle == 0) handle = k_default_mem_alloc;
  if (alignment != 0 && g_runtime.aligned_alloc)
    return g_runtime.aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1), handle);
  return g_runtime.alloc(bytes, handle);
}
void stock_free(void* block) {
  g_runtime.free(block, 0);
}
// Unknown for such a runtime. Called only for a realloc of its blocks, which is done here.
std::size_t stock_size(const void*) {
  return 0;
}
Handle default_allocator() {
  return g_runtime.get_default_allocator ? g_runtime.get_default_allocator() : k_default_mem_alloc;
}
// Unknown too: the block's allocator is then the one given to free, or the default.
Handle stock_owner(const void*) {
  return 0;
}
// Teams and contention groups cannot be distinguished from outside, so all threads share a pool.
std::uintptr_t scope(std::uintptr_t access) {
  return access == k_access_thread ? ::pthread_self() : 1;
}
// Such a runtime does not let anybody in while its threads wait.
void call_at_barriers(void (*)()) {}
constexpr omptier_runtime k_stock = {OMPTIER_HOOKS_VERSION,
                                     sizeof(omptier_runtime),
                                     stock_allocate,
                                     stock_free,
                                     stock_size,
                                     default_allocator,
                                     stock_owner,
                                     scope,
                                     call_at_barriers};

void look_up_routines(NextOpenMp& found, void* handle) {
  look_up(handle, found.alloc, "omp_alloc");
  look_up(handle, found.aligned_alloc, "omp_aligned_alloc");
  look_up(handle, found.calloc, "omp_calloc");
  look_up(handle, found.aligned_calloc, "omp_aligned_calloc");
  look_up(handle, found.realloc, "omp_realloc");
  look_up(handle, found.free, "omp_free");
  look_up(handle, found.init_allocator, "omp_init_allocator");
  look_up(handle, found.destroy_allocator, "omp_destroy_allocator");
  look_up(handle, found.get_default_allocator, "omp_get_default_allocator");
  look_up(handle, found.kmpc_alloc, "__kmpc_alloc");
  look_up(handle, found.kmpc_aligned_alloc, "__kmpc_aligned_alloc");
  look_up(handle, found.kmpc_free, "__kmpc_free");
  look_up(handle, found.kmpc_init_allocator, "__kmpc_init_allocator");
  look_up(handle, found.kmpc_destroy_allocator, "__kmpc_destroy_allocator");
  look_up(handle, found.gomp_alloc, "GOMP_alloc");
  look_up(handle, found.gomp_free, "GOMP_free");
}

// Takes no lock, since a fork could leave it locked: two threads find and store the same values.
void find_out() {
  const unsigned long long modules = modules_so_far();
  if (modules == g_none_among.load(std::memory_order_relaxed)) return;
  void* handle = find_runtime();
  if (handle == nullptr) {
    g_none_among.store(modules, std::memory_order_relaxed);
    return;
  }
  NextOpenMp found;
  look_up_routines(found, handle);
  g_runtime = found;
  if (!is_patched(handle))
    if (const omptier_malloc* table = library()) {
      table->attach(&k_stock);
      g_hooks.store(table->openmp, std::memory_order_relaxed);
      watch_placed_blocks();
    }
  g_known.store(true, std::memory_order_release);
}
const omptier_hooks* hooks() {
  if (!g_known.load(std::memory_order_acquire)) [[unlikely]]
    find_out();
  return g_hooks.load(std::memory_order_relaxed);
}

void* reported(const omptier_hooks* table, void* block, std::size_t bytes, Handle handle,
               const void* caller) {
  if (block != nullptr) table->stock_allocated(block, bytes, handle, caller);
  return block;
}

// What the runtime may be shown of the allocator that a block of its own is freed with.
Handle theirs(Handle handle) {
  return library()->stock_handle(handle);
}

// False: the runtime is to free the block, with the handle that is left.
bool release(const omptier_hooks* table, void* block, Handle& handle) {
  if (table->release(block, handle) != 0) return true;
  if (block != nullptr) table->stock_released(block);
  handle = theirs(handle);
  return false;
}

// The routines on a runtime that is not ours; caller = return address of the exported routine.
__attribute__((noinline)) void* stock_alloc(const omptier_hooks* table, std::size_t bytes,
                                            std::size_t alignment, Handle handle,
                                            const void* caller) {
  void* block = nullptr;
  if (table->allocate(bytes, alignment, handle, caller, &block) != 0) return block;
  block = alignment != 0 ? g_runtime.aligned_alloc(alignment, bytes, handle)
                         : g_runtime.alloc(bytes, handle);
  return reported(table, block, bytes, handle, caller);
}

__attribute__((noinline)) void* stock_calloc(const omptier_hooks* table, std::size_t count,
                                             std::size_t size, std::size_t alignment, Handle handle,
                                             const void* caller) {
  void* block = nullptr;
  if (table->allocate_zeroed(count, size, alignment, handle, caller, &block) != 0) return block;
  block = alignment != 0 ? g_runtime.aligned_calloc(alignment, count, size, handle)
                         : g_runtime.calloc(count, size, handle);
  return reported(table, block, count * size, handle, caller);
}

// For a block of the runtime's own, perhaps into our memory: only the runtime knows its size.
void* resize_stock(const omptier_hooks* table, void* block, std::size_t bytes, Handle handle,
                   Handle free_handle, const void* caller) {
  void* ours = nullptr;
  if (table->allocate(bytes, 0, handle != 0 ? handle : free_handle, caller, &ours) == 0) {
    table->stock_released(block);
    return reported(table, g_runtime.realloc(block, bytes, handle, theirs(free_handle)), bytes,
                    handle, caller);
  }
  if (ours == nullptr) return nullptr; // null_fb: the old block stays
  table->stock_released(block);
  void* grown = g_runtime.realloc(block, bytes, k_default_mem_alloc, 0);
  if (grown == nullptr) {
    table->release(ours, 0);
    return nullptr;
  }
  std::memcpy(ours, grown, bytes);
  g_runtime.free(grown, 0);
  return ours;
}

__attribute__((noinline)) void* stock_realloc(const omptier_hooks* table, void* block,
                                              std::size_t bytes, Handle handle, Handle free_handle,
                                              const void* caller) {
  if (block == nullptr || library()->size_of(block) != 0) {
    void* result = nullptr;
    if (table->reallocate(block, bytes, handle, free_handle, caller, &result) != 0) return result;
    return reported(table, g_runtime.realloc(block, bytes, handle, free_handle), bytes, handle,
                    caller);
  }
  if (bytes != 0) return resize_stock(table, block, bytes, handle, free_handle, caller);
  table->stock_released(block);
  return g_runtime.realloc(block, bytes, theirs(handle), theirs(free_handle));
}

} // namespace

void find_openmp_runtime() {
  hooks();
}

} // namespace omptier::preload

using namespace omptier::preload;

// On our own runtime each ends in a jump, so that the runtime sees the program's own call.

OMPTIER_EXPORT void* omp_alloc(std::size_t bytes, Handle handle) {
  if (const omptier_hooks* table = hooks()) return stock_alloc(table, bytes, 0, handle, CALLER);
  return g_runtime.alloc(bytes, handle);
}

OMPTIER_EXPORT void* omp_aligned_alloc(std::size_t alignment, std::size_t bytes, Handle handle) {
  if (const omptier_hooks* table = hooks())
    return stock_alloc(table, bytes, alignment, handle, CALLER);
  return g_runtime.aligned_alloc(alignment, bytes, handle);
}

OMPTIER_EXPORT void* omp_calloc(std::size_t count, std::size_t size, Handle handle) {
  if (const omptier_hooks* table = hooks())
    return stock_calloc(table, count, size, 0, handle, CALLER);
  return g_runtime.calloc(count, size, handle);
}

OMPTIER_EXPORT void* omp_aligned_calloc(std::size_t alignment, std::size_t count, std::size_t size,
                                        Handle handle) {
  if (const omptier_hooks* table = hooks())
    return stock_calloc(table, count, size, alignment, handle, CALLER);
  return g_runtime.aligned_calloc(alignment, count, size, handle);
}

OMPTIER_EXPORT void* omp_realloc(void* block, std::size_t bytes, Handle handle,
                                 Handle free_handle) {
  if (const omptier_hooks* table = hooks())
    return stock_realloc(table, block, bytes, handle, free_handle, CALLER);
  return g_runtime.realloc(block, bytes, handle, free_handle);
}

OMPTIER_EXPORT void omp_free(void* block, Handle handle) {
  const omptier_hooks* table = hooks();
  if (table == nullptr || !release(table, block, handle)) g_runtime.free(block, handle);
}

OMPTIER_EXPORT Handle omp_init_allocator(Handle space, int count, const omptier_trait* traits) {
  Handle handle = 0;
  const omptier_hooks* table = hooks();
  if (table != nullptr && table->init_allocator(space, count, traits, &handle) != 0) return handle;
  return g_runtime.init_allocator(space, count, traits);
}

OMPTIER_EXPORT void omp_destroy_allocator(Handle handle) {
  const omptier_hooks* table = hooks();
  if (table == nullptr || table->destroy_allocator(handle) == 0)
    g_runtime.destroy_allocator(handle);
}

// Calls that clang emits for `#pragma omp allocate` and allocate clauses.

OMPTIER_EXPORT void* __kmpc_alloc(int thread, std::size_t bytes, Handle handle) {
  if (const omptier_hooks* table = hooks()) return stock_alloc(table, bytes, 0, handle, CALLER);
  return g_runtime.kmpc_alloc(thread, bytes, handle);
}

OMPTIER_EXPORT void* __kmpc_aligned_alloc(int thread, std::size_t alignment, std::size_t bytes,
                                          Handle handle) {
  if (const omptier_hooks* table = hooks())
    return stock_alloc(table, bytes, alignment, handle, CALLER);
  return g_runtime.kmpc_aligned_alloc(thread, alignment, bytes, handle);
}

OMPTIER_EXPORT void __kmpc_free(int thread, void* block, Handle handle) {
  const omptier_hooks* table = hooks();
  if (table == nullptr || !release(table, block, handle))
    g_runtime.kmpc_free(thread, block, handle);
}

OMPTIER_EXPORT Handle __kmpc_init_allocator(int thread, Handle space, int count,
                                            const omptier_trait* traits) {
  Handle handle = 0;
  const omptier_hooks* table = hooks();
  if (table != nullptr && table->init_allocator(space, count, traits, &handle) != 0) return handle;
  return g_runtime.kmpc_init_allocator(thread, space, count, traits);
}

OMPTIER_EXPORT void __kmpc_destroy_allocator(int thread, Handle handle) {
  const omptier_hooks* table = hooks();
  if (table == nullptr || table->destroy_allocator(handle) == 0)
    g_runtime.kmpc_destroy_allocator(thread, handle);
}

// Calls that gcc emits for allocate clauses.

OMPTIER_EXPORT void* GOMP_alloc(std::size_t alignment, std::size_t bytes, Handle handle) {
  if (const omptier_hooks* table = hooks())
    return stock_alloc(table, bytes, alignment, handle, CALLER);
  return g_runtime.gomp_alloc(alignment, bytes, handle);
}

OMPTIER_EXPORT void GOMP_free(void* block, Handle handle) {
  const omptier_hooks* table = hooks();
  if (table == nullptr || !release(table, block, handle)) g_runtime.gomp_free(block, handle);
}
