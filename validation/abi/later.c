/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * A program built with the header of a release to come: its structures are longer. And the one
 * convention of errors: a result, and errno with it.
 */
#include <errno.h>
#include <ompx_memory.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(condition)                                                                           \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "later.c:%d: %s\n", __LINE__, #condition);                                   \
      exit(1);                                                                                     \
    }                                                                                              \
  } while (0)

/* The call gives that result, and errno is the expected one; errno 0 where nothing fails. */
#define GIVES(call, result, expected)                                                              \
  do {                                                                                             \
    errno = 0;                                                                                     \
    CHECK((call) == (result));                                                                     \
    CHECK((expected) == 0 || errno == (expected));                                                 \
  } while (0)

typedef struct {
  ompx_placement_t known;
  size_t later[3];
} later_placement_t;
typedef struct {
  ompx_outcome_t known;
  char later[5];
} later_outcome_t;

static void placements(const void *block) {
  later_placement_t where;
  memset(&where, 0, sizeof where);
  where.known.struct_size = sizeof where;
  GIVES(ompx_get_placement(block, 0, &where.known), ompx_success, 0);
  CHECK(where.known.block_bytes == 1 << 20 && where.known.struct_size == sizeof where);
  CHECK(where.later[0] == 0 && where.later[2] == 0);
  where.later[1] = 1; /* a wish that today's library does not know */
  GIVES(ompx_get_placement(block, 0, &where.known), ompx_error_errno, E2BIG);
  where.later[1] = 0;
  where.known.struct_size = offsetof(ompx_placement_t, reason); /* less than there ever was */
  GIVES(ompx_get_placement(block, 0, &where.known), ompx_error_errno, EINVAL);
  where.known.struct_size = (size_t)-1; /* never set */
  GIVES(ompx_get_placement(block, 0, &where.known), ompx_error_errno, E2BIG);
  GIVES(ompx_get_placement(block, 0, NULL), ompx_error_errno, EINVAL);
}

static void outcomes(void) {
  later_outcome_t outcome;
  memset(&outcome, 0, sizeof outcome);
  outcome.known.struct_size = sizeof(ompx_outcome_t) + sizeof outcome.later;
  char *declared;
  CHECK(ompx_declare(&declared, 1 << 20, ompx_auto_mem_space, 0, NULL) == ompx_success);
  GIVES(ompx_commit(ompx_order_density, &outcome.known), ompx_success, 0);
  CHECK(outcome.known.considered == 1 && declared != NULL && outcome.later[0] == 0);
  outcome.later[4] = 1;
  GIVES(ompx_commit(ompx_order_density, &outcome.known), ompx_error_invalid_argument, E2BIG);
  GIVES(ompx_apply(ompx_order_density, &outcome.known), ompx_error_invalid_argument, E2BIG);
  outcome.known.struct_size = offsetof(ompx_outcome_t, bytes_moved);
  GIVES(ompx_apply(ompx_order_density, &outcome.known), ompx_error_invalid_argument, EINVAL);
  omp_free(declared, omp_null_allocator);
}

static void chunks(void) {
  static char data[64];
  struct {
    ompx_chunked_array_t known;
    size_t later[4];
  } array = {.known = {.struct_size = sizeof array,
                       .data = data,
                       .rows = 8,
                       .row_bytes = 8,
                       .mode = ompx_atv_access_mode_read_only}};
  struct {
    ompx_chunk_t known;
    size_t later[4];
  } chunk = {.known = {.struct_size = sizeof chunk}};
  ompx_chunked_t* chunked = NULL;
  GIVES(ompx_chunked_begin(&array.known, &chunked), ompx_success, 0);
  GIVES(ompx_chunked_next(chunked, &chunk.known), ompx_success, 0);
  CHECK(chunk.known.rows == 8 && chunk.known.struct_size == sizeof chunk && chunk.later[0] == 0);
  chunk.later[3] = 1;
  GIVES(ompx_chunked_next(chunked, &chunk.known), ompx_error_invalid_argument, E2BIG);
  GIVES(ompx_chunked_end(chunked), ompx_success, 0);
  array.later[0] = 1;
  GIVES(ompx_chunked_begin(&array.known, &chunked), ompx_error_invalid_argument, E2BIG);
}

int main(void) {
  char *block = (char *)omp_alloc(1 << 20, ompx_auto_mem_alloc);
  CHECK(block != NULL);
  memset(block, 1, 1 << 20);
  placements(block);
  outcomes();

  /* errno with every error, and -1 where it was -1 before there were results */
  char *none = NULL;
  const omp_alloctrait_t fixed[] = {{ompx_atk_placement, ompx_atv_placement_preferred}};
  const omp_alloctrait_t unknown[] = {{(omp_alloctrait_key_t)5999, 1}};
  GIVES(ompx_declare(NULL, 1, ompx_auto_mem_space, 0, NULL), ompx_error_invalid_argument, EINVAL);
  GIVES(ompx_declare(&none, 1, ompx_auto_mem_space, 1, unknown), ompx_error_bad_traits, EINVAL);
  GIVES(ompx_withdraw(&none), ompx_error_not_found, ENOENT);
  GIVES(ompx_update_traits(block, 1, fixed), ompx_error_fixed_trait, EPERM);
  GIVES(ompx_phase("no name"), -1, EINVAL);
  GIVES(ompx_dump(-1), -1, EBADF);
  GIVES(ompx_place_range(NULL, 1, ompx_dram_mem_alloc), -1, EINVAL);
  GIVES(ompx_name("no name"), 0, EINVAL);
  GIVES(ompx_chunked_end(NULL), ompx_error_invalid_argument, EINVAL);
  chunks();
  CHECK(ompx_error_errno == -1);
  omp_free(block, omp_null_allocator);
  puts("a program of a later release runs");
  return 0;
}
