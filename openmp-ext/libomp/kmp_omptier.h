// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Declares what the inserted lines of libomp call. This file is copied into libomp's source folder
// and included at the end of kmp.h; the definitions are in kmp_omptier.inc, included at the end of
// kmp_alloc.cpp.
//
// One pointer decides everything. Before libomp is initialised it holds the address of a marker
// (the library has not been looked for yet), afterwards the library's table, or null: then every
// inserted line is one load and one branch not taken. A table stays for the life of the process,
// also through libomp's shut-down and restart and in forked children, because memory handed out
// through it may be freed at any time.
#ifndef KMP_OMPTIER_H
#define KMP_OMPTIER_H

#include "omptier_hooks.h"

// C linkage, since LLVM's files disagree on the type of a handle (omp.h's enumeration, or a
// pointer).
#pragma GCC visibility push(hidden)
extern "C" {

extern const omptier_hooks* __kmp_omptier_table;

// The present table, a copy of the library's; the marker counts as a table here.
static inline const omptier_hooks* __kmp_omptier() {
  return __atomic_load_n(&__kmp_omptier_table, __ATOMIC_ACQUIRE);
}

// The return address in the program of the exported routine that uses this macro.
#define KMP_OMPTIER_CALLER __builtin_return_address(0)
// A thread number that no thread has: marks calls of __kmpc_init_allocator and
// __kmpc_destroy_allocator that were already offered to the table (both ignore the number).
#define KMP_OMPTIER_OFFERED INT_MIN

// Loads the library and takes its table; true when there is one. Called while libomp initialises,
// under its lock. With a table libomp does not load memkind, whose spaces the library then serves,
// and which would bring some thirty libraries into every start.
extern bool __kmp_omptier_attach();
// OMP_ALLOCATOR: true when the table accepted the text and the default allocator is set.
extern bool __kmp_omptier_parse_allocator(const char* name, const char* value);
// OMP_DISPLAY_ENV: the text from which the table made the default allocator, or null.
extern const char* __kmp_omptier_allocator_name();
// OMP_DISPLAY_ENV=verbose: adds the table's lines; none if nothing of it is in use.
extern void __kmp_omptier_display(kmp_str_buf_t* buffer);
// libomp is shut down (it may start again).
extern void __kmp_omptier_end();

// Each offers the call to the table; if that declines, does what libomp does and reports it to the
// table.
extern omp_allocator_handle_t __kmp_omptier_init_allocator(omp_memspace_handle_t space, int count,
                                                           omp_alloctrait_t traits[]);
// At its end LLVM 22 destroys the default allocator, with KMP_GTID_SHUTDOWN for a thread.
extern void __kmp_omptier_destroy_allocator(omp_allocator_handle_t allocator, int gtid = 0);
extern void* __kmp_omptier_calloc(size_t count, size_t size, size_t alignment,
                                  omp_allocator_handle_t allocator, const void* caller);
extern void* __kmp_omptier_realloc(void* block, size_t size, omp_allocator_handle_t allocator,
                                   omp_allocator_handle_t free_allocator, const void* caller);
// The two most frequent routines end in jumps on both paths: a routine that continues with libomp's
// own lines saves registers first, which doubles its cost. What the table declines comes back to
// these two, which do what libomp does and report it to the table, if there is one.
extern void* __kmp_omptier_stock_alloc(size_t size, size_t alignment, uintptr_t allocator,
                                       const void* caller);
extern void __kmp_omptier_stock_release(void* block, uintptr_t allocator);
static inline void* __kmp_omptier_alloc(size_t size, size_t alignment,
                                        omp_allocator_handle_t allocator, const void* caller) {
  const omptier_hooks* table = __kmp_omptier();
  if (!table) return __kmp_omptier_stock_alloc(size, alignment, (uintptr_t)allocator, caller);
  return table->allocate_quickly(size, alignment, (uintptr_t)allocator, caller,
                                 __kmp_omptier_stock_alloc);
}
static inline void __kmp_omptier_free(void* block, omp_allocator_handle_t allocator) {
  const omptier_hooks* table = __kmp_omptier();
  if (!table) return __kmp_omptier_stock_release(block, (uintptr_t)allocator);
  table->release_quickly(block, (uintptr_t)allocator, __kmp_omptier_stock_release);
}

extern kmp_uint32 __kmp_omptier_team_size(int gtid, unsigned requested);

extern void (*__kmp_omptier_barrier_hook)(void); // null: there is none
extern void __kmp_omptier_call_barrier_hook(int gtid);

} // extern "C"
#pragma GCC visibility pop

// One parallel construct, on the thread that meets it: begin before the team is made, end after its
// threads have arrived. libomp's threads for hidden helper tasks are no construct of the program.
class kmp_omptier_region_t {
  const omptier_hooks* table;
  const void* codeptr;

public:
  kmp_omptier_region_t(int gtid, const void* caller, unsigned requested = 0)
      : table(__kmp_omptier()), codeptr(caller) {
    if (table == nullptr) return;
    if (KMP_HIDDEN_HELPER_THREAD(gtid))
      table = nullptr;
    else
      table->region_begin(codeptr, __kmp_omptier_team_size(gtid, requested));
  }
  ~kmp_omptier_region_t() {
    if (table != nullptr) table->region_end(codeptr);
  }
  kmp_omptier_region_t(const kmp_omptier_region_t&) = delete;
  kmp_omptier_region_t& operator=(const kmp_omptier_region_t&) = delete;
};

// Called on the primary thread of a team at a barrier, between gather and release.
static inline void __kmp_omptier_barrier(int gtid) {
  if (__atomic_load_n(&__kmp_omptier_barrier_hook, __ATOMIC_RELAXED) != nullptr)
    __kmp_omptier_call_barrier_hook(gtid);
}

// Names in libgomp's version nodes, as programs compiled by gcc look them up. VERSION: a routine of
// this file under its own name. DIFFERS: another function in place of such a routine. ONLY: a name
// that libomp lacks. If libomp has the name, it must also be bound to its own node by name, or the
// linker drops it.
#define KMP_OMPTIER_VERSION(routine, tag, node) KMP_OMPTIER_VERSION_EXPANDED(routine, tag, node)
#define KMP_OMPTIER_VERSION_EXPANDED(routine, tag, node)                                           \
  extern "C" __typeof__(routine) __kmp_omptier_##routine##_##tag __attribute__((alias(#routine))); \
  KMP_OMPTIER_VERSION_DIFFERS(routine, __kmp_omptier_##routine##_##tag, node)
#define KMP_OMPTIER_VERSION_DIFFERS(routine, function, node)                                       \
  KMP_OMPTIER_VERSION_ONLY(routine, function, node);                                               \
  __asm__(".symver " KMP_STR(routine) "," KMP_STR(routine) "@@VERSION, remove\n\t")
#define KMP_OMPTIER_VERSION_ONLY(name, function, node)                                             \
  __asm__(".symver " KMP_STR(function) "," KMP_STR(name) "@" node "\n\t")

#endif // KMP_OMPTIER_H
