// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stands in for libomptier.so in tests of the patched libomp: writes one line for each call of the
// table to the file COUNTING_LOG names, and declines everything, so that libomp goes on as stock.
// With COUNTING_TAKES=1 it takes what concerns memory spaces and allocators 500 to 504, out of one
// static arena that is never given back.
//
// Lines hold only what does not change from run to run: predefined handles are numbers, others
// "own"; "from" is "program", or the base name of the file the caller's return address lies in.

#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include <dlfcn.h>
#include <fcntl.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "borders/libomp_hooks.h"

namespace {

const omptier_runtime* runtime;
int log_file = -1;
bool takes;

alignas(4096) char arena[1 << 20];
size_t arena_used;

bool in_arena(const void* block) {
  return block >= arena && block < arena + sizeof arena;
}
bool of_ours(uintptr_t number) {
  return number >= 500 && number <= 504;
}

// One write a line: threads do not mix within a line.
__attribute__((format(printf, 1, 2))) void note(const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (log_file >= 0 && write(log_file, line, static_cast<size_t>(length)) != length) abort();
}

struct Text {
  char characters[64];
};

Text handle_text(uintptr_t handle) {
  Text text;
  if (handle < 1024)
    snprintf(text.characters, sizeof text.characters, "%zu", handle);
  else
    snprintf(text.characters, sizeof text.characters, "own");
  return text;
}

Text from(const void* caller) {
  Text text = {"nowhere"};
  Dl_info info, program;
  const auto* entry = reinterpret_cast<const void*>(getauxval(AT_ENTRY));
  if (!dladdr(caller, &info) || !dladdr(entry, &program)) return text;
  const char* slash = strrchr(info.dli_fname, '/');
  snprintf(text.characters, sizeof text.characters, "%s",
           info.dli_fbase == program.dli_fbase ? "program"
           : slash != nullptr                  ? slash + 1
                                               : info.dli_fname);
  return text;
}

void* take(size_t size) {
  auto* block = arena + 64 + ((arena_used + 63) & ~size_t(63));
  arena_used = static_cast<size_t>(block - arena) + size;
  memcpy(block - sizeof size, &size, sizeof size);
  return block;
}

int init_allocator(uintptr_t space, int count, const omptier_trait* traits, uintptr_t* handle) {
  note("init_allocator space=%zu traits=%d first_key=%d\n", space, count,
       count > 0 ? traits[0].key : 0);
  if (!takes || !of_ours(space)) return 0;
  *handle = space;
  return 1;
}

int destroy_allocator(uintptr_t handle) {
  note("destroy_allocator %s\n", handle_text(handle).characters);
  return takes && of_ours(handle);
}

int allocate(size_t size, size_t alignment, uintptr_t handle, const void* caller, void** block) {
  note("allocate size=%zu alignment=%zu handle=%s from=%s\n", size, alignment,
       handle_text(handle).characters, from(caller).characters);
  if (!takes || !of_ours(handle != 0 ? handle : runtime->default_allocator())) return 0;
  *block = take(size);
  return 1;
}

int allocate_zeroed(size_t count, size_t size, size_t alignment, uintptr_t handle,
                    const void* caller, void** block) {
  note("allocate_zeroed count=%zu size=%zu alignment=%zu handle=%s from=%s\n", count, size,
       alignment, handle_text(handle).characters, from(caller).characters);
  if (!takes || !of_ours(handle)) return 0;
  *block = memset(take(count * size), 0, count * size);
  return 1;
}

int reallocate(void* block, size_t size, uintptr_t handle, uintptr_t free_handle,
               const void* caller, void** result) {
  note("reallocate size=%zu handle=%s free_handle=%s from=%s\n", size,
       handle_text(handle).characters, handle_text(free_handle).characters,
       from(caller).characters);
  if (!takes || !(of_ours(handle) || in_arena(block))) return 0;
  size_t old = 0;
  if (in_arena(block))
    memcpy(&old, static_cast<char*>(block) - sizeof old, sizeof old);
  else
    old = runtime->stock_size(block);
  *result = of_ours(handle) ? take(size) : runtime->stock_allocate(size, 0, handle);
  memcpy(*result, block, old < size ? old : size);
  if (!in_arena(block)) runtime->stock_free(block);
  return 1;
}

int release(void* block, uintptr_t handle) {
  note("release %s handle=%s\n", block == nullptr ? "null" : "block",
       handle_text(handle).characters);
  return takes && in_arena(block);
}

void stock_allocated(void* block, size_t size, uintptr_t handle, const void* caller) {
  // The size kept in libomp's own descriptor must agree with what we are told.
  note("stock_allocated size=%zu kept=%zu handle=%s from=%s\n", size, runtime->stock_size(block),
       handle_text(handle).characters, from(caller).characters);
}

void stock_released(void* block) {
  note("stock_released size=%zu\n", runtime->stock_size(block));
}

size_t display(char*, size_t) {
  return 0;
}

size_t parse_allocator(const char* text, uintptr_t* handle) {
  note("parse_allocator %s\n", text);
  constexpr char known[] = "ompx_hbm_mem_alloc";
  if (!takes || strncmp(text, known, sizeof known - 1) != 0) return 0;
  *handle = 502;
  return sizeof known - 1;
}

void region_begin(const void* codeptr, uint32_t threads) {
  note("region_begin threads=%u from=%s\n", threads, from(codeptr).characters);
  if (getenv("COUNTING_CODEPTR") != nullptr) note("codeptr region %p\n", codeptr);
}

void region_end(const void* codeptr) {
  note("region_end from=%s\n", from(codeptr).characters);
}
void barrier() {
  note("barrier\n");
}
void runtime_end() {
  note("runtime_end\n");
}

constexpr omptier_hooks table = {
    OMPTIER_HOOKS_VERSION,
    sizeof(omptier_hooks),
    init_allocator,
    destroy_allocator,
    allocate,
    allocate_zeroed,
    reallocate,
    release,
    stock_allocated,
    stock_released,
    display,
    parse_allocator,
    region_begin,
    region_end,
    runtime_end,
    nullptr,
    nullptr,
};

} // namespace

extern "C" __attribute__((visibility("default"))) const omptier_hooks*
omptier_runtime_attach(uint32_t version, const omptier_runtime* offered) {
  if (const char* path = getenv("COUNTING_LOG"); path != nullptr)
    log_file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  const char* takes_text = getenv("COUNTING_TAKES");
  takes = takes_text != nullptr && *takes_text == '1';
  runtime = offered;
  note("attach\n");
  runtime->call_at_barriers(barrier);
  // COUNTING_REFUSES: as if made for another version.
  return version == OMPTIER_HOOKS_VERSION && getenv("COUNTING_REFUSES") == nullptr ? &table
                                                                                   : nullptr;
}
