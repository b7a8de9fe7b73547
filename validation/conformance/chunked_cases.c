// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arrays in chunks, case by case: chunked_cases CASE [kind=node …], as allocators_cases. Buffers
// are those of ompx_dram_mem_alloc, so that chunks are copied on a machine with one kind of memory,
// too. Exit 0: the case holds.
#define _GNU_SOURCE
#include "allocators_cases.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/wait.h>

enum { k_rows = 1000, k_row = 136, k_stride = 160, k_chunk_rows = 7, k_tile = 48 };

static unsigned char array[k_rows * k_stride];

static unsigned char value_of(size_t row, size_t byte) {
  return (unsigned char)(row * 31 + byte * 7 + 1);
}
static void fill(void) {
  for (size_t row = 0; row < k_rows; ++row)
    for (size_t byte = 0; byte < k_stride; ++byte)
      array[row * k_stride + byte] = byte < k_row ? value_of(row, byte) : 0xee;
}

static ompx_chunked_array_t description(omp_uintptr_t mode) {
  return (ompx_chunked_array_t){.struct_size = sizeof(ompx_chunked_array_t),
                                .data = array,
                                .rows = k_rows,
                                .row_bytes = k_row,
                                .row_stride = k_stride,
                                .mode = mode,
                                .chunk_rows = k_chunk_rows,
                                .allocator = ompx_dram_mem_alloc};
}
#define READ_ONLY ompx_atv_access_mode_read_only
#define READ_WRITE ompx_atv_access_mode_read_write
#define WRITE_ONLY ompx_atv_access_mode_write_only

static ompx_chunked_t* begin(const ompx_chunked_array_t* what) {
  ompx_chunked_t* chunked = NULL;
  const ompx_result_t result = ompx_chunked_begin(what, &chunked);
  check(result == ompx_success, "begin: %d, %s", result, strerror(errno));
  return chunked;
}
static void end(ompx_chunked_t* chunked) {
  check(ompx_chunked_end(chunked) == ompx_success, "end");
}
static unsigned char* next(ompx_chunked_t* chunked, ompx_chunk_t* chunk) {
  chunk->struct_size = sizeof *chunk;
  check(ompx_chunked_next(chunked, chunk) == ompx_success, "next");
  return chunk->data;
}
static unsigned char* at(const ompx_chunk_t* chunk, ptrdiff_t row) {
  return (unsigned char*)chunk->data + row * (ptrdiff_t)chunk->stride;
}

// Every chunk once, rising, with the array's bytes and those of its halo; afterwards all its bytes
// are set. Returns how many chunks there were.
static size_t visit_all(const ompx_chunked_array_t* what) {
  ompx_chunked_t* chunked = begin(what);
  ompx_chunk_t chunk;
  size_t count = 0, bytes = 0;
  for (; next(chunked, &chunk) != NULL; ++count) {
    check(chunk.copied == 1 && chunk.number == count, "chunk %zu: copied %d", chunk.number,
          chunk.copied);
    const size_t behind = chunk.first_row + chunk.rows, halo = what->halo_rows;
    check(chunk.halo_before == (chunk.first_row < halo ? chunk.first_row : halo) &&
              chunk.halo_after == (k_rows - behind < halo ? k_rows - behind : halo),
          "chunk %zu: halo of %zu and %zu", count, chunk.halo_before, chunk.halo_after);
    check(chunk.with_halo == at(&chunk, -(ptrdiff_t)chunk.halo_before), "with_halo");
    const ptrdiff_t last = (ptrdiff_t)(chunk.rows + chunk.halo_after);
    for (ptrdiff_t row = -(ptrdiff_t)chunk.halo_before; row < last; ++row)
      for (size_t byte = 0; byte < chunk.bytes; ++byte) {
        unsigned char* it = at(&chunk, row) + byte;
        const unsigned char wanted =
            value_of((size_t)((ptrdiff_t)chunk.first_row + row), chunk.first_byte + byte);
        if (what->mode != WRITE_ONLY)
          check(*it == wanted, "chunk %zu, row %td, byte %zu", count, row, byte);
        *it = (unsigned char)(wanted + 1); // also of the halo, which must not come back
      }
    bytes += chunk.rows * chunk.bytes;
  }
  check(next(chunked, &chunk) == NULL, "a chunk behind the last");
  check(bytes == k_rows * k_row, "%zu bytes in chunks", bytes);
  end(chunked);
  return count;
}

// The array has what was set, or what it had; what is no part of its rows is as before.
static void expect_array(int more) {
  for (size_t row = 0; row < k_rows; ++row)
    for (size_t byte = 0; byte < k_stride; ++byte)
      check(array[row * k_stride + byte] ==
                (byte < k_row ? (unsigned char)(value_of(row, byte) + more) : 0xee),
            "row %zu, byte %zu of the array", row, byte);
}

static void case_modes(void) {
  const omp_uintptr_t modes[] = {READ_ONLY, READ_WRITE, WRITE_ONLY};
  for (int mode = 0; mode < 3; ++mode)
    for (int tiled = 0; tiled < 2; ++tiled) {
      fill();
      ompx_chunked_array_t what = description(modes[mode]);
      if (tiled) what.chunk_bytes = k_tile;
      const size_t count = visit_all(&what);
      check(count == (size_t)(tiled ? 143 * 3 : 143), "%zu chunks", count);
      expect_array(mode == 0 ? 0 : 1);
    }
  // One chunk, larger than the array; and single bytes without a gap, chunks as chosen.
  fill();
  ompx_chunked_array_t what = description(READ_WRITE);
  what.chunk_rows = 5 * k_rows;
  check(visit_all(&what) == 1, "one chunk");
  expect_array(1);
  static unsigned char large[1 << 24];
  what = description(READ_WRITE);
  what.data = large, what.rows = sizeof large, what.row_bytes = 1;
  what.row_stride = what.chunk_rows = 0;
  ompx_chunked_t* chunked = begin(&what);
  ompx_chunk_t chunk;
  size_t begun = 0;
  while (next(chunked, &chunk) != NULL) {
    check(chunk.first_row == begun && chunk.stride == 1, "row %zu", chunk.first_row);
    for (size_t i = 0; i < chunk.rows; ++i)
      at(&chunk, 0)[i] = (unsigned char)(at(&chunk, 0)[i] + (begun + i) % 251);
    begun += chunk.rows;
  }
  end(chunked);
  check(begun == sizeof large, "%zu bytes", begun);
  for (size_t i = 0; i < sizeof large; ++i)
    check(large[i] == i % 251, "byte %zu", i);
}

// In place: each new row is made of the old ones around it.
static void sweep_in_place(omp_allocator_handle_t allocator, size_t halo, int copied) {
  static unsigned char expected[k_rows * k_row];
  fill();
  for (size_t row = 0; row < k_rows; ++row)
    for (size_t byte = 0; byte < k_row; ++byte)
      expected[row * k_row + byte] =
          (unsigned char)(value_of(row, byte) + (row >= halo ? value_of(row - halo, byte) : 0) +
                          (row + halo < k_rows ? value_of(row + halo, byte) : 0));
  ompx_chunked_array_t what = description(READ_WRITE);
  what.halo_rows = halo;
  what.allocator = allocator;
  ompx_chunked_t* chunked = begin(&what);
  ompx_chunk_t chunk;
  unsigned char result[k_chunk_rows][k_row];
  while (next(chunked, &chunk) != NULL) {
    check(chunk.copied == copied, "copied %d", chunk.copied);
    for (size_t row = 0; row < chunk.rows; ++row)
      for (size_t byte = 0; byte < k_row; ++byte)
        result[row][byte] =
            (unsigned char)(at(&chunk, (ptrdiff_t)row)[byte] +
                            (row + chunk.halo_before >= halo
                                 ? at(&chunk, (ptrdiff_t)row - (ptrdiff_t)halo)[byte]
                                 : 0) +
                            (row + halo < chunk.rows + chunk.halo_after
                                 ? at(&chunk, (ptrdiff_t)(row + halo))[byte]
                                 : 0));
    for (size_t row = 0; row < chunk.rows; ++row)
      memcpy(at(&chunk, (ptrdiff_t)row), result[row], k_row);
  }
  end(chunked);
  for (size_t row = 0; row < k_rows; ++row)
    check(memcmp(array + row * k_stride, expected + row * k_row, k_row) == 0, "row %zu", row);
}

static void case_halo(void) {
  for (size_t halo = 1; halo <= k_chunk_rows; halo += 3) {
    fill();
    ompx_chunked_array_t what = description(READ_ONLY);
    what.halo_rows = halo;
    check(visit_all(&what) == 143, "chunks");
    what.chunk_bytes = k_tile;
    check(visit_all(&what) == 143 * 3, "tiles");
    expect_array(0);
    sweep_in_place(ompx_dram_mem_alloc, halo, 1);
    // Also where the chunks would else be the array itself: its rows are overwritten in place.
    sweep_in_place(omp_null_allocator, halo, 1);
  }
}

// What a visit writes, a later one sees, however near it is in the order.
static void case_order(void) {
  enum { k_longest = 400 };
  static size_t order[k_longest], given[k_longest];
  static unsigned visits[143 * 3];
  for (size_t length = 1; length <= k_longest; length = length * 7 / 4 + 1) {
    fill();
    memset(visits, 0, sizeof visits);
    size_t number = 5;
    for (size_t i = 0; i < length; ++i) { // runs, a-b-a, and leaps
      number = i % 5 == 0                 ? number
               : i % 5 == 1 || i % 5 == 3 ? (number + 1) % 429
               : i % 5 == 2               ? (number + 428) % 429
                                          : (number * 17 + 3) % 429;
      order[i] = number;
    }
    ompx_chunked_array_t what = description(READ_WRITE);
    what.chunk_bytes = k_tile;
    memcpy(given, order, sizeof given);
    what.order = given;
    what.order_count = length;
    ompx_chunked_t* chunked = begin(&what);
    memset(given, 0xff, sizeof given); // was copied
    ompx_chunk_t chunk;
    size_t position = 0;
    for (; next(chunked, &chunk) != NULL; ++position) {
      check(position < length && chunk.number == order[position], "position %zu: chunk %zu",
            position, chunk.number);
      for (size_t row = 0; row < chunk.rows; ++row)
        for (size_t byte = 0; byte < chunk.bytes; ++byte) {
          unsigned char* it = at(&chunk, (ptrdiff_t)row) + byte;
          check(*it == (unsigned char)(value_of(chunk.first_row + row, chunk.first_byte + byte) +
                                       visits[chunk.number]),
                "position %zu: not what was written", position);
          ++*it;
        }
      ++visits[chunk.number];
    }
    check(position == length, "%zu chunks of %zu", position, length);
    end(chunked);
    for (size_t row = 0; row < k_rows; ++row)
      for (size_t byte = 0; byte < k_row; ++byte)
        check(array[row * k_stride + byte] ==
                  (unsigned char)(value_of(row, byte) +
                                  visits[row / k_chunk_rows * 3 + byte / k_tile]),
              "row %zu, byte %zu after %zu visits", row, byte, length);
  }
}

// A loop that ends early keeps what it wrote, and leaves the rest.
static void case_early(void) {
  for (size_t visited = 0; visited < 5; ++visited) {
    fill();
    ompx_chunked_array_t what = description(READ_WRITE);
    ompx_chunked_t* chunked = begin(&what);
    ompx_chunk_t chunk;
    for (size_t i = 0; i < visited; ++i)
      memset(next(chunked, &chunk), 0, k_chunk_rows * k_row);
    end(chunked);
    for (size_t row = 0; row < k_rows; ++row)
      for (size_t byte = 0; byte < k_row; ++byte)
        check(array[row * k_stride + byte] ==
                  (row < visited * k_chunk_rows ? 0 : value_of(row, byte)),
              "row %zu of %zu visited chunks", row, visited);
  }
}

// No buffers: the chunks are the array itself, with its own stride.
static void in_place(omp_allocator_handle_t allocator) {
  fill();
  ompx_chunked_array_t what = description(READ_WRITE);
  what.allocator = allocator;
  what.chunk_bytes = k_tile;
  ompx_chunked_t* chunked = begin(&what);
  ompx_chunk_t chunk;
  size_t count = 0;
  for (; next(chunked, &chunk) != NULL; ++count) {
    check(chunk.copied == 0 && chunk.stride == k_stride &&
              chunk.data == array + chunk.first_row * k_stride + chunk.first_byte,
          "chunk %zu is not the array", count);
    for (size_t row = 0; row < chunk.rows; ++row)
      for (size_t byte = 0; byte < chunk.bytes; ++byte)
        ++at(&chunk, (ptrdiff_t)row)[byte];
  }
  end(chunked);
  check(count == 143 * 3, "%zu chunks", count);
  expect_array(1);
}

static void case_no_room(void) {
  if (node_of[ompx_kind_hbm] < 0) in_place(omp_null_allocator); // no kind is faster
  omp_alloctrait_t traits[] = {{omp_atk_pool_size, 500}, {omp_atk_fallback, omp_atv_null_fb}};
  const omp_allocator_handle_t small = omp_init_allocator(ompx_dram_mem_space, 2, traits);
  in_place(small);
  sweep_in_place(small, 2, 1); // needs copies, and gets them elsewhere
  omp_destroy_allocator(small);
}

// One line on stderr for each cause, and errno.
static void refuse(const char* member, ompx_chunked_array_t what) {
  static int pipes[2];
  if (pipes[1] == 0) check(pipe(pipes) == 0 && fcntl(pipes[0], F_SETFL, O_NONBLOCK) == 0, "pipe");
  const int before = dup(2);
  dup2(pipes[1], 2);
  ompx_chunked_t* chunked = (ompx_chunked_t*)array;
  errno = 0;
  const ompx_result_t result = ompx_chunked_begin(&what, &chunked);
  const int error = errno;
  dup2(before, 2);
  close(before);
  char text[2000] = "";
  const ssize_t length = read(pipes[0], text, sizeof text - 1);
  check(result == ompx_error_invalid_argument && error == EINVAL, "%s: %d, %s", member, result,
        strerror(error));
  check(chunked == NULL, "%s: the pointer is not NULL", member);
  check(length > 0 && strstr(text, "#5070: ompx_chunked_begin: ") != NULL &&
            strstr(text, member) != NULL && strchr(text, '\n') == text + length - 1,
        "%s: not one line that names it: %s", member, text);
}

static void case_refused(void) {
  const size_t order[] = {3, 142, 143};
  ompx_chunked_array_t what = description(READ_ONLY);
#define REFUSED(name, ...)                                                                         \
  what = description(READ_ONLY);                                                                   \
  __VA_ARGS__;                                                                                     \
  refuse(name, what)
  REFUSED("data", what.data = NULL);
  REFUSED("row_stride", what.row_stride = k_row - 1);
  REFUSED("rows times row_stride", what.rows = (size_t)1 << 60);
  REFUSED("mode", what.mode = ompx_atv_access_mode_read_mostly);
  REFUSED("chunk_bytes", what.chunk_bytes = k_row + 1);
  REFUSED("order_count", what.order_count = 1);
  REFUSED("needs chunk_rows", what.order = order; what.order_count = 2; what.chunk_rows = 0);
  REFUSED("order names", what.order = order; what.order_count = 3);
  REFUSED("write_only", what.mode = WRITE_ONLY; what.halo_rows = 1);
  REFUSED("halo_rows", what.halo_rows = k_chunk_rows + 1);
  REFUSED("rising order", what.mode = READ_WRITE; what.halo_rows = 1; what.order = order;
          what.order_count = 2);

  what = description(READ_ONLY);
  ompx_chunked_t* chunked = NULL;
  check(ompx_chunked_begin(NULL, &chunked) == ompx_error_invalid_argument, "no array");
  check(ompx_chunked_begin(&what, NULL) == ompx_error_invalid_argument, "nowhere to store");
  what.struct_size = 8;
  check(ompx_chunked_begin(&what, &chunked) == ompx_error_invalid_argument && errno == EINVAL,
        "struct_size");
  what.struct_size = 5000;
  check(ompx_chunked_begin(&what, &chunked) == ompx_error_invalid_argument && errno == E2BIG,
        "struct_size");
  ompx_chunk_t chunk = {.struct_size = sizeof chunk};
  check(ompx_chunked_next(NULL, &chunk) == ompx_error_invalid_argument, "next of nothing");
  check(ompx_chunked_end(NULL) == ompx_error_invalid_argument, "end of nothing");
  what = description(READ_ONLY);
  chunked = begin(&what);
  check(ompx_chunked_next(chunked, NULL) == ompx_error_invalid_argument, "next to nowhere");
  chunk.struct_size = 8;
  check(ompx_chunked_next(chunked, &chunk) == ompx_error_invalid_argument, "struct_size");
  check(next(chunked, &chunk) != NULL && chunk.number == 0, "none was lost");
  end(chunked);
}

// Parent and child go on from a fork at every chunk, each in its own memory.
static void case_fork(void) {
  enum { k_large_rows = 2000, k_large_row = 4096, k_at_once = 100 };
  static unsigned char large[(size_t)k_large_rows * k_large_row];
  ompx_chunked_array_t what = description(READ_WRITE);
  what.data = large, what.rows = k_large_rows, what.row_bytes = k_large_row;
  what.row_stride = 0, what.chunk_rows = k_at_once;
  ompx_chunked_t* chunked = begin(&what);
  ompx_chunk_t chunk;
  for (int visit = 0; next(chunked, &chunk) != NULL; ++visit) {
    memset(chunk.data, visit + 1, k_at_once * k_large_row / 2);
    const pid_t child = fork();
    check(child >= 0, "fork");
    memset(at(&chunk, k_at_once / 2), visit + 1, k_at_once * k_large_row / 2);
    if (child != 0) {
      int status = -1;
      check(waitpid(child, &status, 0) == child && status == 0, "child of visit %d", visit);
      continue;
    }
    for (int more = visit + 1; next(chunked, &chunk) != NULL; ++more)
      memset(chunk.data, more + 101, k_at_once * k_large_row);
    end(chunked);
    for (size_t i = 0; i < sizeof large; ++i) {
      const int by = (int)(i / (k_at_once * k_large_row));
      check(large[i] == (by <= visit ? by + 1 : by + 101), "byte %zu in a child", i);
    }
    _exit(0);
  }
  end(chunked);
  for (size_t i = 0; i < sizeof large; ++i)
    check(large[i] == i / (k_at_once * k_large_row) + 1, "byte %zu", i);
}

// Arrays of several threads at once.
static void case_threads(void) {
#pragma omp parallel num_threads(4)
  {
    unsigned char* mine = malloc(1 << 20);
    memset(mine, 0, 1 << 20);
    for (int round = 0; round < 10; ++round) {
      ompx_chunked_array_t what = description(READ_WRITE);
      what.data = mine, what.rows = 256, what.row_bytes = 4096, what.row_stride = 0;
      ompx_chunked_t* chunked = NULL;
      ompx_chunk_t chunk = {.struct_size = sizeof chunk};
      int good = ompx_chunked_begin(&what, &chunked) == ompx_success;
      while (good && ompx_chunked_next(chunked, &chunk) == ompx_success && chunk.data != NULL)
        for (size_t i = 0; i < chunk.rows * 4096; ++i)
          ++((unsigned char*)chunk.data)[i];
      good = good && ompx_chunked_end(chunked) == ompx_success;
      for (size_t i = 0; i < 1 << 20; ++i)
        good = good && mine[i] == round + 1;
#pragma omp critical
      check(good, "round %d of a thread", round);
    }
    free(mine);
  }
}

// For omptier record: the only thread of the program computes, one of the library's copies as much.
static void case_recorded(void) {
  enum { k_passes = 40, k_bytes = 32 << 20 };
  unsigned char* large = calloc(k_bytes, 1);
  for (int pass = 0; pass < k_passes; ++pass) {
    ompx_chunked_array_t what = description(READ_WRITE);
    what.data = large, what.rows = k_bytes / 4096, what.row_bytes = 4096;
    what.row_stride = 0, what.chunk_rows = 256;
    ompx_chunked_t* chunked = begin(&what);
    for (ompx_chunk_t chunk; next(chunked, &chunk) != NULL;)
      for (size_t i = 0; i < chunk.rows * chunk.bytes; ++i)
        at(&chunk, 0)[i] = (unsigned char)(at(&chunk, 0)[i] * 3 + 1);
    end(chunked);
  }
  unsigned char expected = 0;
  for (int pass = 0; pass < k_passes; ++pass)
    expected = (unsigned char)(expected * 3 + 1);
  for (size_t i = 0; i < k_bytes; ++i)
    check(large[i] == expected, "byte %zu", i);
  free(large);
}

// With NVM: the array lies there, and the chunks come through the DRAM by themselves.
static void case_window(void) {
  need(ompx_kind_nvm), need(ompx_kind_dram);
  enum { k_mib = 1 << 20 };
  double* large = omp_alloc(32 * k_mib, ompx_nvm_mem_alloc);
  const size_t count = 32 * k_mib / sizeof *large;
  memset(large, 0, 32 * k_mib);
  ompx_chunked_array_t what = description(READ_WRITE);
  what.data = large, what.rows = count / 512, what.row_bytes = 512 * sizeof *large;
  what.row_stride = what.chunk_rows = 0, what.allocator = omp_null_allocator;
  ompx_chunked_t* chunked = begin(&what);
  ompx_chunk_t chunk;
  size_t chunks = 0;
  for (; next(chunked, &chunk) != NULL; ++chunks) {
    check(chunk.copied == 1 && chunk.kind == ompx_kind_dram, "chunk %zu in kind %d", chunks,
          chunk.kind);
    check(bytes_on_kind(chunk.data, chunk.rows * chunk.bytes, ompx_kind_dram) ==
              chunk.rows * chunk.bytes,
          "chunk %zu is not in the DRAM", chunks);
    for (size_t i = 0; i < chunk.rows * 512; ++i)
      ((double*)chunk.data)[i] += (double)(chunk.first_row * 512 + i);
  }
  check(chunks >= 4, "only %zu chunks", chunks);
  end(chunked);
  check(bytes_on_kind(large, 32 * k_mib, ompx_kind_nvm) == 32 * k_mib, "the array has moved");
  for (size_t i = 0; i < count; ++i)
    check(large[i] == (double)i, "element %zu", i);
  omp_free(large, omp_null_allocator);
}

int main(int argc, char** argv) {
  static const struct {
    const char* name;
    void (*run)(void);
  } cases[] = {{"modes", case_modes},      {"halo", case_halo},       {"order", case_order},
               {"early", case_early},      {"no-room", case_no_room}, {"refused", case_refused},
               {"fork", case_fork},        {"threads", case_threads}, {"window", case_window},
               {"recorded", case_recorded}};
  if (argc < 2) return 2;
  read_nodes(argc - 2, argv + 2);
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i)
    if (strcmp(cases[i].name, argv[1]) == 0) {
      cases[i].run();
      printf("%s holds, %d checks\n", argv[1], checks);
      return 0;
    }
  return 2;
}
