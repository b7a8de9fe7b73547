/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * OMPTier's additions to OpenMP's memory management, for C11 and C++11 and later.
 *
 * Works over any omp.h: the one OMPTier installs, clang's, gcc's. The spaces, allocators and traits
 * are numbers that OMPTier's OpenMP runtime knows. Only the functions at the end need libomptier at
 * link time.
 *
 *     omp_alloctrait_t traits[] = {{ompx_atk_access_pattern, ompx_atv_access_pattern_random},
 *                                  {omp_atk_fallback, omp_atv_default_mem_fb}};
 *     omp_allocator_handle_t fast = omp_init_allocator(ompx_hbm_mem_space, 2, traits);
 *     double *x = (double *)omp_alloc(n * sizeof *x, fast);
 *
 * omp_init_allocator refuses an unknown key, value or space, a contradiction named below, a cyclic
 * fallback, and a further allocator where about 32,000 exist: it returns omp_null_allocator, and one
 * warning states why.
 */
#ifndef OMPX_MEMORY_H
#define OMPX_MEMORY_H

#include <omp.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Release of this header. A program built with an older header of the same major number works with
 * a newer library. "Since" marks additions after 1.0. */
#define OMPX_VERSION_MAJOR 1
#define OMPX_VERSION_MINOR 1
#define OMPX_VERSION_PATCH 0

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Memory spaces and predefined allocators (500-504) ------------------------------------------
 *
 * ompx_auto   any kind: of those with room, the best for the traits. Placement "preferred".
 * ompx_dram   ordinary memory of the processors.        ) placement "required":
 * ompx_hbm    high-bandwidth memory beside processors.  ) that kind of memory,
 * ompx_nvm    non-volatile memory used as memory.       ) else the fallback trait
 * ompx_cxl    memory behind a CXL link.                 ) (default omp_atv_default_mem_fb)
 *
 * A kind that this machine lacks behaves as a full one: the fallback is taken.
 *
 * Meaning of the standard spaces, seen from the allocating thread's processor:
 *   omp_high_bw_mem_space    highest bandwidth (mean of read and write; within 10 % the lower
 *                            latency wins)
 *   omp_low_lat_mem_space    lowest read latency
 *   omp_large_cap_mem_space  largest capacity
 *   omp_const_mem_space      highest read bandwidth (within 10 % the lower latency wins)
 * omp_default_mem_space is the runtime's own memory; with pinned or partition, it prefers DRAM.
 */
#define ompx_auto_mem_space ((omp_memspace_handle_t)500)
#define ompx_dram_mem_space ((omp_memspace_handle_t)501)
#define ompx_hbm_mem_space ((omp_memspace_handle_t)502)
#define ompx_nvm_mem_space ((omp_memspace_handle_t)503)
#define ompx_cxl_mem_space ((omp_memspace_handle_t)504)

#define ompx_auto_mem_alloc ((omp_allocator_handle_t)500)
#define ompx_dram_mem_alloc ((omp_allocator_handle_t)501)
#define ompx_hbm_mem_alloc ((omp_allocator_handle_t)502)
#define ompx_nvm_mem_alloc ((omp_allocator_handle_t)503)
#define ompx_cxl_mem_alloc ((omp_allocator_handle_t)504)

/* ---- Trait keys (from 5000) ---------------------------------------------------------------------
 *
 * Accepted with every memory space, beside the standard traits. Values of key 5000 + k are numbered
 * from 5100 + 20 k. omp_atv_default is accepted for every key and means "not stated".
 *
 * The omp.h that OMPTier installs has the keys as enumerators of omp_alloctrait_key_t (and then
 * defines OMPX_KEYS_IN_OMP_H); over another omp.h they are macros with the same meaning.
 */
#ifndef OMPX_KEYS_IN_OMP_H
#ifdef __cplusplus
} /* extern "C" */
namespace ompx {
namespace detail {
/* Makes a key that a foreign omp.h lacks, by copying bits, since the cast is undefined in C++. A
 * constant expression where the compiler has __builtin_bit_cast. */
#if defined(__has_builtin)
#if __has_builtin(__builtin_bit_cast)
#define OMPX_BIT_CAST 1
#endif
#endif
#ifdef OMPX_BIT_CAST
constexpr omp_alloctrait_key_t key(unsigned number) {
  static_assert(sizeof(omp_alloctrait_key_t) == sizeof(unsigned), "trait keys are 32 bits wide");
  return __builtin_bit_cast(omp_alloctrait_key_t, number);
}
#undef OMPX_BIT_CAST
#else
inline omp_alloctrait_key_t key(unsigned number) {
  static_assert(sizeof(omp_alloctrait_key_t) == sizeof(unsigned), "trait keys are 32 bits wide");
  omp_alloctrait_key_t result;
  memcpy(&result, &number, sizeof result);
  return result;
}
#endif
} // namespace detail
} // namespace ompx
extern "C" {
#define OMPX_TRAIT_KEY(number) (::ompx::detail::key(number))
#else
#define OMPX_TRAIT_KEY(number) ((omp_alloctrait_key_t)(number))
#endif
/* How accesses go through the data: an ompx_atv_access_pattern_* value. */
#define ompx_atk_access_pattern OMPX_TRAIT_KEY(5000)
/* Bytes from one access to the next; 1 to 2^40; needs access_pattern strided. */
#define ompx_atk_access_stride OMPX_TRAIT_KEY(5001)
/* How reads and writes are mixed: an ompx_atv_access_mode_* value. Only for ompx_commit and
 * ompx_apply. */
#define ompx_atk_access_mode OMPX_TRAIT_KEY(5002)
/* Accesses per second, by all threads to all live blocks of the allocator. 0 (never) to 2^62. For
 * omp_alloc, only 0 has an effect. */
#define ompx_atk_access_frequency OMPX_TRAIT_KEY(5003)
/* Which threads access the data: an ompx_atv_access_origin_* value. Does not affect placement. */
#define ompx_atk_access_origin OMPX_TRAIT_KEY(5004)
/* Share that all live blocks of the allocator have of the time that the program waits for memory,
 * in per mille (0-1000). For omp_alloc, only 0 has an effect. */
#define ompx_atk_importance OMPX_TRAIT_KEY(5005)
/* Whether latency or bandwidth of the memory matters: an ompx_atv_sensitivity_* value. */
#define ompx_atk_sensitivity OMPX_TRAIT_KEY(5006)
/* ompx_atv_placement_required: the space's memory, else the fallback. ompx_atv_placement_preferred:
 * the space's memory while it has room, else the next best. required is refused with
 * ompx_auto_mem_space. */
#define ompx_atk_placement OMPX_TRAIT_KEY(5007)
/* How long blocks live: an ompx_atv_lifetime_* value. Does not affect placement. */
#define ompx_atk_lifetime OMPX_TRAIT_KEY(5008)
/* Name (from ompx_name) of data that ompx_commit and ompx_apply put into one kind of memory. */
#define ompx_atk_group OMPX_TRAIT_KEY(5009)
/* Name (from ompx_name) under which reports show the blocks. */
#define ompx_atk_label OMPX_TRAIT_KEY(5010)
/* omp_atv_false: ompx_apply moves no page. omp_atv_true: it may, as by default; refused together
 * with pinned. */
#define ompx_atk_migratable OMPX_TRAIT_KEY(5011)
#endif /* OMPX_KEYS_IN_OMP_H */

/* ---- Trait values ---------------------------------------------------------------------------- */
#ifndef OMPX_VALUES_IN_OMP_H
enum {
  ompx_atv_access_pattern_sequential = 5100,
  ompx_atv_access_pattern_strided = 5101,
  ompx_atv_access_pattern_tiled = 5102,
  ompx_atv_access_pattern_random = 5103,
  ompx_atv_access_pattern_pointer_chase = 5104,

  ompx_atv_access_mode_read_only = 5140,
  ompx_atv_access_mode_read_mostly = 5141, /* priced as 90 % reads */
  ompx_atv_access_mode_read_write = 5142,
  ompx_atv_access_mode_write_mostly = 5143, /* 90 % writes */
  ompx_atv_access_mode_write_only = 5144,

  ompx_atv_access_origin_single_thread = 5180,
  ompx_atv_access_origin_multiple_threads = 5181,

  ompx_atv_sensitivity_latency = 5220,
  ompx_atv_sensitivity_bandwidth = 5221,
  ompx_atv_sensitivity_both = 5222, /* half each */
  ompx_atv_sensitivity_none = 5223, /* the slowest memory will do */

  ompx_atv_placement_required = 5240,
  ompx_atv_placement_preferred = 5241,

  ompx_atv_lifetime_program = 5260,
  ompx_atv_lifetime_phase = 5261,
  ompx_atv_lifetime_temporary = 5262
};
#endif /* OMPX_VALUES_IN_OMP_H */

/* ---- Functions (libomptier) ---------------------------------------------------------------------
 *
 * All but ompx_name return an ompx_result_t: 0 is success, 1 incomplete success, anything else an
 * error. An error also sets errno (for perror) and, unless documented otherwise, changes nothing.
 * ompx_name returns 0 on an error, and sets errno. (ompx_get_placement, ompx_dump, ompx_phase and
 * ompx_place_range return -1 on every error: test for -1, then read errno. The first three are
 * older than ompx_result_t and always did.) Under `omptier run` without libomptier, all fail with
 * ENOSYS. None may be called from a signal handler.
 *
 * A structure that the library fills begins with struct_size, its size in bytes. The program sets
 * it before the call; the library does not change it. An older or newer header's size is fine:
 * the library fills the members that it knows and that fit. Members that it does not know must be
 * zero and stay so. Errors:
 *   EINVAL  the size is less than that of the structure's first release;
 *   E2BIG   a member unknown to this library is not zero, or the size is over 4096. */
typedef enum ompx_result {
  ompx_success = 0,
  ompx_incomplete = 1,             /* done, but not everything is in its best place */
  ompx_error_errno = -1,           /* errno alone has the reason: see the function */
  ompx_error_invalid_argument = 2, /* EINVAL: null or repeated pointer, 0 bytes, count below 0,
                                      unknown order; EINVAL or E2BIG: struct_size */
  ompx_error_bad_traits = 3,       /* EINVAL: unknown or contradicting; one warning names them */
  ompx_error_fixed_trait = 4,      /* EPERM: placement and OpenMP's own traits are fixed */
  ompx_error_not_found = 5,        /* ENOENT: not declared; no block or allocator of OMPTier's */
  ompx_error_no_runtime = 6,       /* ENOSYS: the OpenMP runtime in this process is not OMPTier's */
  ompx_error_out_of_memory = 7,    /* ENOMEM: for the library's own lists */
  ompx_error_moves_refused = 8     /* EPERM: the kernel moves no pages (containers may forbid it) */
} ompx_result_t;

/* Makes a trait value of a name, for ompx_atk_group and ompx_atk_label, which take no other values.
 * The text is copied. The same text gives the same value throughout the process.
 *   name     1 to 255 characters of [A-Za-z0-9_.-], ended by a zero.
 *   returns  the value, or 0 and errno: EINVAL the text is NULL or malformed; ENOMEM no memory for
 *            it, or there are 2^20 names.
 * Thread-safe. */
omp_uintptr_t ompx_name(const char *name);

/* Kinds of memory, as indices of ompx_placement_t.bytes. */
enum {
  ompx_kind_dram = 0,
  ompx_kind_hbm = 1,
  ompx_kind_nvm = 2,
  ompx_kind_cxl = 3,
  ompx_kind_unknown = 4 /* a node whose kind is not known */
};

/* Length of ompx_placement_t.node_bytes. */
#define OMPX_MAX_NODES 64

/* Where a range of memory is. All sizes in bytes. Concurrent calls must not share a structure. */
typedef struct ompx_placement {
  size_t struct_size; /* in: sizeof(ompx_placement_t); set it before the call */
  size_t bytes[5];    /* in memory now, by kind (ompx_kind_*), as the kernel reports the pages */
  size_t untouched;   /* not in memory: never touched, or swapped out */
  size_t unqueried;   /* the kernel refused to say where (containers may) */
  size_t node_bytes[OMPX_MAX_NODES]; /* bytes[] by NUMA node; nodes from 64 on: not here */
  size_t block_bytes; /* requested size, if the address lies in a block of ours; else 0 */
  int wanted_kind;    /* ompx_kind_* that was wanted first; -1: none was */
  int required;       /* 1 if the wanted kind was required */
  char reason[192];   /* one line for people: the decision and its reason; "" for unknown memory */
} ompx_placement_t;

/* Asks the kernel where the pages of [address, address + bytes) are.
 *   address  any address of the process; need not be ours. Of the first and last page only the part
 *            in the range counts.
 *   bytes    length, in bytes; 0 = the whole block of ours that contains address.
 *   returns  ompx_success; ompx_error_errno: EINVAL result is NULL, or bytes is 0 and address lies
 *            in no block of ours; EINVAL, E2BIG for struct_size.
 * About 0.1 microseconds a page. Thread-safe. */
ompx_result_t ompx_get_placement(const void *address, size_t bytes, ompx_placement_t *result);

/* Since 1.1. Moves existing memory (a static array, a COMMON block, a mapping, a stack) to a kind
 * of memory. Pages that are not in memory yet will be put there too. The content stays, and other
 * threads may use it meanwhile.
 *   begin      first byte of the range; need not be aligned.
 *   bytes      length, in bytes. Only pages wholly in the range are moved: the first and last page
 *              of an unaligned range hold other data, too, and stay where they are.
 *   allocator  the target: ompx_dram_mem_alloc, ompx_hbm_mem_alloc, ompx_nvm_mem_alloc,
 *              ompx_cxl_mem_alloc, or any other but those of ompx_auto_mem_space and
 *              omp_default_mem_space. Its alignment, pool and fallback are ignored.
 *   returns    ompx_success: by the kernel's report, all pages that are in memory lie there.
 *              ompx_error_errno:
 *              EINVAL  begin is NULL; no whole page; the range wraps around; the allocator is
 *                      unknown or of these two spaces; or the range is in a block of omp_alloc's,
 *                      unless it is the whole block, of 256 KiB or more, and neither required
 *                      elsewhere, pinned, in parts, nor in OMPTIER_PMEM's folder;
 *              ENOENT  this machine has no such memory;
 *              ENOSPC  it has no room (capacity ledger, node, the library's own lists), or is a DAX
 *                      directory: nothing was moved;
 *              ENOMEM  some of the range is not mapped;
 *              EPERM   the kernel or a container refuses to move pages (some may have moved);
 *              EAGAIN  some pages did not arrive (ompx_get_placement shows where they are), or
 *                      another thread is moving the block. A block of omp_alloc's of which most
 *                      pages did not arrive stays where it was.
 * The ledger counts the pages under that kind until the range is placed again or the process ends.
 * About 250 microseconds a MiB in 4 KiB pages. Thread-safe. */
ompx_result_t ompx_place_range(void *begin, size_t bytes, omp_allocator_handle_t allocator);

/* Writes all live objects and the capacity ledger as text to a file descriptor.
 *   fd       open for writing; left open.
 *   returns  ompx_success; ompx_error_errno: that of write(2).
 * Thread-safe; blocks that other threads allocate during the call may be missing. */
ompx_result_t ompx_dump(int fd);

/* Names the phase of the program that begins here; the next call ends it. Reports of recorded runs
 * show it; it does not affect placement.
 *   name     as for ompx_name; NULL ends the phase.
 *   returns  ompx_success; ompx_error_errno: EINVAL the name is malformed, ENOMEM as ompx_name.
 * Thread-safe; a phase is process-wide: call from one thread, outside parallel regions. */
ompx_result_t ompx_phase(const char *name);

/* ---- Declare and commit (since 1.1) -------------------------------------------------------------
 *
 * Declare several allocations, then commit them. The commit decides for all of them together which
 * get the fast memory: by their traits, the figures of this machine's memory and its free room, not
 * by the order of requests.
 *
 *     double *grid, *table;
 *     ompx_declare(&grid, n, ompx_auto_mem_space, 2, traits_of_grid);
 *     ompx_declare(&table, m, ompx_auto_mem_space, 3, traits_of_table);
 *     ompx_commit(ompx_order_density, NULL);
 *     ... omp_free(grid, omp_null_allocator);
 *
 * Cost of a block in a kind of memory, computed as omptier advise does:
 *     importance x (time of one access there / time of one access in DRAM).
 * sensitivity, else access_pattern, decides whether an access is scattered (latency) or streamed
 * (bandwidth). access_mode gives the mix of reads and writes. Without importance, access_frequency
 * x time of one access counts. Blocks with neither split the rest of the 1000 per mille
 * in proportion to size. All blocks of a group (ompx_atk_group) go to one kind of memory that all of
 * them may use: if the better kind has no room for all, none goes there. Required blocks come first.
 * Blocks with sensitivity none, importance 0 or access_frequency 0 get the slowest memory with
 * room.
 *
 * If the process has another OpenMP runtime than OMPTier's, ompx_commit returns
 * ompx_error_no_runtime. */

/* Which blocks are served first if not all fit. */
typedef enum ompx_order {
  ompx_order_density = 0,    /* the set that saves most time, found as omptier advise does */
  ompx_order_importance = 1, /* most important first, whatever its size */
  ompx_order_declaration = 2 /* first declared (ompx_apply: first found) first */
} ompx_order_t;

/* Outcome of a commit or an apply. Counts of blocks, sizes in bytes. Not to be shared, as above. */
typedef struct ompx_outcome {
  size_t struct_size; /* in: sizeof(ompx_outcome_t); set it before the call */
  size_t considered;  /* blocks decided on */
  size_t as_wished;   /* in the memory that each would get alone */
  size_t next_best;   /* in another tier of memory */
  size_t fallback;    /* ompx_commit: in the runtime's memory, by the fallback trait */
  size_t failed;      /* ompx_commit: NULL, by the fallback trait null_fb, or memory ran out */
  size_t bytes_moved; /* ompx_apply: bytes that the kernel reports as arrived */
} ompx_outcome_t;

/* Declares an allocation; nothing is allocated before ompx_commit.
 *   address_of_pointer  where the commit stores the block's address; set to NULL now. Must stay
 *                       valid until commit or withdrawal. One declaration per pointer.
 *   bytes               size in bytes, 1 or more. The block is aligned to 16 bytes, or to the
 *                       alignment trait if that is more.
 *   space               as for omp_init_allocator; ompx_auto_mem_space lets the commit choose.
 *   count, traits       as for omp_init_allocator; copied. importance and access_frequency are for
 *                       this block alone.
 *   returns             ompx_success, ompx_error_invalid_argument, ompx_error_bad_traits,
 *                       ompx_error_out_of_memory.
 * Thread-safe. Declarations belong to the process: a commit by any thread takes all of them. */
ompx_result_t ompx_declare(void *address_of_pointer, size_t bytes, omp_memspace_handle_t space,
                           int count, const omp_alloctrait_t *traits);

/* Takes back a declaration that is not committed yet. The pointer stays NULL.
 *   address_of_pointer  as given to ompx_declare.
 *   returns             ompx_success, ompx_error_not_found.
 * Thread-safe. */
ompx_result_t ompx_withdraw(void *address_of_pointer);

/* Decides on everything declared since the last commit, allocates it in the order of declaration
 * and sets the pointers. Free a block with omp_free(block, omp_null_allocator). If no memory that a
 * block may use has room, its fallback trait decides; with null_fb the pointer is NULL.
 *   order    which blocks are served first.
 *   outcome  NULL, or the structure to fill.
 *   returns  ompx_success: all as wished, or nothing was declared; ompx_incomplete: some are not
 *            (see outcome); ompx_error_invalid_argument, ompx_error_no_runtime,
 *            ompx_error_out_of_memory: nothing was allocated, the declarations stay.
 * Thread-safe: when it returns, all pointers that the calling thread declared before are set, by
 * this or another thread's commit. */
ompx_result_t ompx_commit(ompx_order_t order, ompx_outcome_t *outcome);

/* Changes traits of one live block; the others stay. Moves nothing: ompx_apply does.
 *   block          first address of a block in OMPTier's memory. If its allocator has other blocks
 *                  too, the block gets traits of its own and leaves the allocator's pool.
 *   count, traits  those to change: any key of this header but placement. omp_atv_default resets a
 *                  trait.
 *   returns        ompx_success, ompx_error_invalid_argument, ompx_error_bad_traits,
 *                  ompx_error_fixed_trait, ompx_error_not_found, ompx_error_out_of_memory.
 * Thread-safe; no thread may free the block during the call. */
ompx_result_t ompx_update_traits(void *block, int count, const omp_alloctrait_t *traits);

/* Changes traits of an allocator, for its live and its future blocks. Moves nothing.
 *   allocator      made by omp_init_allocator. ompx_error_not_found: it is predefined, or the
 *                  runtime's own (omp_default_mem_space without a trait of this header).
 *   count, traits  as for ompx_update_traits.
 *   returns        as ompx_update_traits, but never ompx_error_out_of_memory.
 * Thread-safe: a concurrent allocation sees the old or the new value of each trait. */
ompx_result_t ompx_update_allocator(omp_allocator_handle_t allocator, int count,
                                    const omp_alloctrait_t *traits);

/* Decides again, as a commit would, on all live blocks that may move, and moves their pages. Blocks
 * of 256 KiB and more may move if their allocator has a trait of this header, unless required,
 * pinned, migratable=false, in parts, or placed by a plan. Other threads may use them
 * meanwhile.
 *   order    which blocks are served first.
 *   outcome  NULL, or the structure to fill; bytes_moved comes from the kernel, after the moves.
 *   returns  ompx_success: all blocks are in their best place; ompx_incomplete: some are not;
 *            ompx_error_moves_refused: there was room, but no block could move;
 *            ompx_error_invalid_argument, ompx_error_out_of_memory.
 * Takes 0.1 to 1 ms a MiB moved. Thread-safe. */
ompx_result_t ompx_apply(ompx_order_t order, ompx_outcome_t *outcome);

/* ---- Arrays in chunks (since 1.1) ---------------------------------------------------------------
 *
 * Passes an array that is larger than fast memory through it, chunk by chunk. While the program
 * computes on one chunk, threads of the library write the one before back and fetch the next one.
 *
 *     ompx_chunked_array_t array = {.struct_size = sizeof array, .data = field, .rows = n,
 *                                   .row_bytes = m * sizeof *field,
 *                                   .mode = ompx_atv_access_mode_read_write};
 *     ompx_chunked_t *chunked = NULL;
 *     ompx_chunk_t chunk = {.struct_size = sizeof chunk};
 *     if (ompx_chunked_begin(&array, &chunked) != ompx_success) abort();
 *     while (ompx_chunked_next(chunked, &chunk) == ompx_success && chunk.data != NULL)
 *       compute((double *)chunk.data, chunk.rows);   // with "omp parallel for" inside
 *     ompx_chunked_end(chunked);
 *
 * A row is what lies together: a line of a C array, a column of a Fortran one, a plane of a mesh,
 * or a single element. A chunk is some rows, or a part of each of them (a tile). It is addressed
 * through the returned pointer only: until ompx_chunked_end, the array itself may lack what was
 * written.
 *
 * If the array lies in the fastest memory already, or faster memory has no room for two chunks, the
 * chunks are the array itself, and nothing is copied: see ompx_chunk_t.copied. Chunks that are
 * written and have a halo are always copies. */

/* An array in chunks, from ompx_chunked_begin to ompx_chunked_end. */
typedef struct ompx_chunked ompx_chunked_t;

/* What ompx_chunked_begin is to do. Members that are not mentioned are 0. */
typedef struct ompx_chunked_array {
  size_t struct_size;  /* in: sizeof(ompx_chunked_array_t); set it before the call */
  void *data;          /* first byte of the array; any memory of the process */
  size_t rows;         /* of the array; 1 or more */
  size_t row_bytes;    /* of a row, in bytes; 1 or more */
  size_t row_stride;   /* bytes from one row's begin to the next; 0 = row_bytes */
  omp_uintptr_t mode;  /* ompx_atv_access_mode_read_only: chunks are not written back;
                          ompx_atv_access_mode_read_write;
                          ompx_atv_access_mode_write_only: chunks are not fetched, and every byte of
                          them must be written */
  size_t chunk_rows;   /* rows of a chunk; the last one may have fewer. 0 = chosen: by the room and
                          the speed of the memories, so that handing chunks over takes about 1 %.
                          Arrays gone through together need the same: chunk.rows of the first */
  size_t chunk_bytes;  /* bytes that a chunk has of each row; the last ones of a row may be fewer.
                          0 = whole rows */
  size_t halo_rows;    /* rows before and behind each chunk that are fetched with it; at most
                          chunk_rows. They are the array's as before ompx_chunked_begin, and are not
                          written back. With read_write: whole rows and no order; and chunks are
                          always copied. Not with write_only */
  const size_t *order; /* numbers of chunks in the order in which the program wants them; copied.
                          Numbers count from 0, along the rows first. A chunk may come again, with
                          what was written to it. NULL = each once, rising */
  size_t order_count;  /* length of order; needs chunk_rows */
  omp_allocator_handle_t allocator; /* of the two buffers; omp_null_allocator (0) = the fastest
                                       memory that has room and is faster than the array's */
} ompx_chunked_array_t;

/* A chunk, until the next call for the same array. Offsets in the array: byte first_byte of row
 * first_row. Not to be shared, as above. */
typedef struct ompx_chunk {
  size_t struct_size; /* in: sizeof(ompx_chunk_t); set it before the call */
  void *data;         /* first byte of its first row; NULL: there is no further chunk */
  void *with_halo;    /* the same of the halo before it: data, where there is none */
  size_t number;      /* of the chunk; see ompx_chunked_array_t.order */
  size_t first_row;   /* in the array */
  size_t rows;        /* without halo */
  size_t first_byte;  /* in each row */
  size_t bytes;       /* of each row */
  size_t stride;      /* bytes from one row's begin to the next, where data points to */
  size_t halo_before; /* halo rows before it; none before the array's first row */
  size_t halo_after;  /* halo rows behind it; none behind the array's last row */
  int copied;         /* 1: a copy, in faster memory if that has room; 0: the array itself */
  int kind;           /* ompx_kind_* of the memory that data points to */
} ompx_chunk_t;

/* Begins to fetch the first chunk of an array.
 *   array    the array and its chunks; copied. The program must not free the array, nor write to it
 *            except through chunks, before ompx_chunked_end.
 *   chunked  set to what the other functions take.
 *            NULL after an error.
 *   returns  ompx_success; ompx_error_invalid_argument: array or chunked is NULL, or a member is
 *            wrong: a warning (5070), printed once for each, says which; EINVAL, E2BIG for
 *            struct_size; ompx_error_out_of_memory: for the library's lists, or for the copies of
 *            chunks that are written and have a halo.
 * OMPTIER_VERBOSE=1 prints the chosen chunks, or why there are no copies. Thread-safe; arrays in
 * chunks are independent of each other, if their memory is. */
ompx_result_t ompx_chunked_begin(const ompx_chunked_array_t *array, ompx_chunked_t **chunked);

/* Gives up the present chunk and waits for the next one. Behind the last one, returns once
 * everything is written back.
 *   chunk    filled. It must not be used any more once the function is called again.
 *   returns  ompx_success, also behind the last chunk (data is NULL);
 *            ompx_error_invalid_argument: chunked or chunk is NULL; EINVAL, E2BIG for struct_size.
 * Thread-safe for different arrays; one thread at a time for each. Not to be called by several
 * threads of a team for the same chunk. A forked child may go on with its copy. */
ompx_result_t ompx_chunked_next(ompx_chunked_t *chunked, ompx_chunk_t *chunk);

/* Writes back what is not written yet, also of a loop that ended early, and frees the buffers.
 *   returns  ompx_success; ompx_error_invalid_argument: chunked is NULL.
 * Thread-safe, as ompx_chunked_next. */
ompx_result_t ompx_chunked_end(ompx_chunked_t *chunked);

#ifdef __cplusplus
}
#endif
#endif /* OMPX_MEMORY_H */
