/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * ompx_place_range: statics, a mapping, a block of ours; what is refused and why; bytes kept while
 * other threads write. The kernel is asked where the pages are. place_range dram=NODE [hbm=NODE]
 */
#include "allocators_cases.h"

#include <errno.h>
#include <stdatomic.h>
#include <sys/mman.h>

#define MIB ((size_t)1 << 20)

static char bss[4 * 1048576 + 1000];
static char data[1048576] = {7, 8, 9};

static void refused(void* begin, size_t bytes, omp_allocator_handle_t allocator, int expected,
                    const char* what) {
  errno = 0;
  const int result = ompx_place_range(begin, bytes, allocator);
  check(result == -1 && errno == expected, "%s: result %d, errno %d instead of %d", what, result,
        errno, expected);
}

/* All whole pages of a range that is touched everywhere. */
static void whole_pages_on(const char* begin, size_t bytes, int kind, const char* what) {
  const uintptr_t first = ((uintptr_t)begin + 4095) & ~(uintptr_t)4095;
  const uintptr_t last = ((uintptr_t)begin + bytes) & ~(uintptr_t)4095;
  check(bytes_on_kind((void*)first, last - first, kind) == last - first, "%s", what);
}

int main(int argc, char** argv) {
  read_nodes(argc - 1, argv + 1);
  const int there = node_of[1] >= 0 ? 1 : 0; /* hbm, else dram */
  const omp_allocator_handle_t to = there ? ompx_hbm_mem_alloc : ompx_dram_mem_alloc;

  /* Half touched, then the rest by first touch. */
  memset(bss, 1, 2 * MIB);
  check(ompx_place_range(bss, sizeof bss, to) == 0, ".bss: %s", strerror(errno));
  memset(bss + 2 * MIB, 2, sizeof bss - 2 * MIB);
  whole_pages_on(bss, sizeof bss, there, ".bss lies there");
  check(bss[5] == 1 && bss[3 * MIB] == 2, "bytes of .bss");

  /* A file's pages, of which none was written yet. */
  check(ompx_place_range(data, sizeof data, to) == 0, ".data: %s", strerror(errno));
  check(data[0] == 7 && data[2] == 9 && data[3] == 0, "bytes of .data");
  memset(data, 3, sizeof data);
  whole_pages_on(data, sizeof data, there, ".data lies there");

  ompx_placement_t where;
  memset(&where, 0, sizeof where);
  where.struct_size = sizeof where;
  check(ompx_get_placement(bss + MIB, 4096, &where) == 0 && where.wanted_kind == there &&
            where.bytes[there] == 4096 && strstr(where.reason, "ompx_place_range") != NULL,
        "ompx_get_placement: %s", where.reason);

  /* There and back while another thread writes. */
  char* mapping = mmap(NULL, 10 * MIB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* block = (char*)(((uintptr_t)mapping + 2 * MIB - 1) & ~(uintptr_t)(2 * MIB - 1));
  madvise(block, 8 * MIB, MADV_HUGEPAGE);
  atomic_int done = 0;
  long written = 0;
#pragma omp parallel num_threads(2)
  {
    if (omp_get_thread_num() == 0) {
      for (int i = 0; i < 4; ++i)
        check(ompx_place_range(block, 8 * MIB, i % 2 == 0 ? to : ompx_dram_mem_alloc) == 0 ||
                  errno == EAGAIN,
              "moved while written: %s", strerror(errno));
      done = 1;
    } else {
      while (!done)
        for (size_t at = 0; at < 8 * MIB; at += 4096)
          block[at] = (char)++written;
    }
  }
  check(ompx_place_range(block, 8 * MIB, to) == 0, "at rest: %s", strerror(errno));
  memset(block, 4, 8 * MIB);
  whole_pages_on(block, 8 * MIB, there, "the mapping lies there");

  /* The ledger counts a range placed twice, or partly anew, once. Huge pages that the part cuts move
   * no more than that. */
  check(ompx_place_range(block + 3 * MIB, 2 * MIB, ompx_dram_mem_alloc) == 0, "a part");
  whole_pages_on(block + 3 * MIB, 2 * MIB, 0, "the part lies in DRAM");
  whole_pages_on(block, 3 * MIB, there, "what is before it lies where it lay");
  whole_pages_on(block + 5 * MIB, 3 * MIB, there, "what is behind it lies where it lay");
  for (size_t at = 0; at < 8 * MIB; ++at)
    if (block[at] != 4) check(0, "byte %zu of the mapping", at);

  char* ours = omp_alloc(3 * MIB, to);
  memset(ours, 5, 3 * MIB);
  check(ompx_place_range(ours, 3 * MIB, to) == 0, "a whole block of ours: %s", strerror(errno));
  refused(ours, 4096, to, EINVAL, "part of a block of ours");
  if (there)
    refused(ours, 3 * MIB, ompx_dram_mem_alloc, EINVAL, "a block that is required elsewhere");
  omp_free(ours, to);

  refused(NULL, MIB, to, EINVAL, "nothing");
  refused(bss + 1, 4095, to, EINVAL, "no whole page");
  refused(bss, SIZE_MAX, to, EINVAL, "wraps around");
  refused(bss, MIB, omp_default_mem_alloc, EINVAL, "no kind");
  refused(bss, MIB, ompx_auto_mem_alloc, EINVAL, "any kind");
  refused(bss, MIB, ompx_cxl_mem_alloc, ENOENT, "a kind that is not here");
  munmap(block + 4 * MIB, MIB);
  refused(block, 8 * MIB, to, ENOMEM, "a hole");
  printf("place_range holds, %d checks\n", checks);
  return 0;
}
