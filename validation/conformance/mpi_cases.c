// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ranks of an MPI job that take all the memory of one kind they are given, hold it together, and
// say what their ledger says of them and of the job; mpi.py starts them by real launchers and
// judges. With a folder, the first rank writes a file "ready-<process>" there and all wait for a
// file "go". At the end the rank that has most of them (not the first) dies by SIGKILL, if that is
// asked for: "dies", or how much of the memory the first rank shall wait for then (all: as much as
// the dead one had), which gives one piece back and takes what it can get.
//     mpi_cases KIND PIECE_MIB [FOLDER [dies|MIB|all]]
#define _GNU_SOURCE
#include <mpi.h>
#include <omp.h>
#include <ompx_memory.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static int rank, ranks;

#define CHECK(good, ...)                                                                           \
  do {                                                                                             \
    if (!(good)) {                                                                                 \
      fprintf(stderr, "FAILED: rank %d, line %d: ", rank, __LINE__);                               \
      fprintf(stderr, __VA_ARGS__);                                                                \
      fprintf(stderr, "\n");                                                                       \
      MPI_Abort(MPI_COMM_WORLD, 1);                                                                \
    }                                                                                              \
  } while (0)

struct facts {
  unsigned long long taken, limit; // bytes: allocated here; of them allowed by the share
  unsigned long long own, granted; // bytes in the ledger: this process's, the job's
  unsigned processes, share;
  char by[64], job[200];
};

// What ompx_dump says of the job and of the share of a kind.
static void read_dump(const char* kind, struct facts* facts) {
  static char text[1 << 16];
  int fd = memfd_create("dump", MFD_CLOEXEC);
  CHECK(fd >= 0 && ompx_dump(fd) == 0, "ompx_dump");
  ssize_t got = pread(fd, text, sizeof text - 1, 0);
  close(fd);
  text[got > 0 ? got : 0] = 0;
  facts->own = facts->granted = 0;
  for (char* line = strtok(text, "\n"); line; line = strtok(NULL, "\n")) {
    unsigned node;
    unsigned long long granted, own, limit;
    char name[8];
    if (sscanf(line, "job node %u granted %llu own %llu", &node, &granted, &own) == 3) {
      facts->granted += granted;
      facts->own += own;
    }
    if (sscanf(line, "ledger %7s %*s %*u %*s %*u %*s %*u limit %llu (share)", name, &limit) == 2 &&
        strcmp(name, kind) == 0)
      facts->limit = limit;
    sscanf(line, "job \"%199[^\"]\" processes %u", facts->job, &facts->processes);
    sscanf(line, "share 1/%u of scarce kinds by %63s", &facts->share, facts->by);
  }
}

static omp_allocator_handle_t allocator;
static void* last_piece;

static void take_all(const char* kind, size_t piece, struct facts* facts) {
  omp_memspace_handle_t space = ompx_dram_mem_space;
  int index = ompx_kind_dram;
  if (strcmp(kind, "hbm") == 0) {
    space = ompx_hbm_mem_space;
    index = ompx_kind_hbm;
  }
  omp_alloctrait_t traits[] = {{omp_atk_fallback, omp_atv_null_fb}};
  allocator = omp_init_allocator(space, 1, traits);
  CHECK(allocator != omp_null_allocator, "no allocator");
  MPI_Barrier(MPI_COMM_WORLD);
  for (char* block; (block = omp_alloc(piece, allocator)) != NULL; facts->taken += piece) {
    last_piece = block;
    *block = 1; // required blocks are in memory wholly
    ompx_placement_t where = {.struct_size = sizeof where};
    CHECK(ompx_get_placement(block, piece, &where) == 0 && where.bytes[index] == piece,
          "%llu bytes of %zu in %s", (unsigned long long)where.bytes[index], piece, kind);
    CHECK(facts->taken < (64ull << 30), "no end of it");
  }
}

static int file(const char* folder, const char* name) {
  char path[1000];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return access(path, F_OK) == 0;
}
static void make_file(const char* folder, const char* name) {
  char path[1000];
  snprintf(path, sizeof path, "%s/%s", folder, name);
  FILE* made = fopen(path, "w");
  CHECK(made && fclose(made) == 0, "%s cannot be written", path);
}
static void wait_for(const char* folder, const char* name) {
  for (int i = 0; !file(folder, name); ++i) {
    CHECK(i < 15000, "no file %s in %s after minutes", name, folder);
    usleep(10000);
  }
}

// MPI is over by now: neither launcher would let the others go on without a rank.
static void die(const char* folder, int victim, size_t piece, size_t wanted) {
  struct facts now = {0};
  size_t taken = 0;
  if (rank == victim) raise(SIGKILL);
  if (rank != 0) wait_for(folder, "looked");
  if (rank != 0) _exit(0);
  omp_free(last_piece, allocator);
  for (int i = 0; i < 2000; ++i, usleep(10000)) {
    for (char* block; (block = omp_alloc(piece, allocator)) != NULL; taken += piece)
      *block = 1;
    read_dump("", &now);
    if (now.processes == (unsigned)ranks - 1 && taken >= wanted) break;
  }
  printf("killed %d then taken %zu own %llu granted %llu processes %u\n", victim, taken, now.own,
         now.granted, now.processes);
  fflush(stdout);
  make_file(folder, "looked");
  _exit(0);
}

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  const char* folder = count > 3 ? arguments[3] : NULL;
  struct facts mine = {0}, all[64] = {{0}};
  CHECK(count >= 3 && ranks <= 64, "usage: mpi_cases KIND PIECE_MIB [FOLDER [dies|MIB|all]]");
  size_t piece = (size_t)atoi(arguments[2]) << 20;
  take_all(arguments[1], piece, &mine);
  MPI_Barrier(MPI_COMM_WORLD);
  if (folder) {
    char name[40];
    snprintf(name, sizeof name, "ready-%d", (int)getpid());
    if (rank == 0) make_file(folder, name);
    wait_for(folder, "go");
  }
  // The first who looks takes back what a dead process held; whoever looks meanwhile counts it still.
  if (rank == 0) read_dump(arguments[1], &mine);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank != 0) read_dump(arguments[1], &mine);
  MPI_Gather(&mine, sizeof mine, MPI_BYTE, all, sizeof mine, MPI_BYTE, 0, MPI_COMM_WORLD);
  for (int i = 0; rank == 0 && i < ranks; ++i)
    printf("rank %d taken %llu limit %llu own %llu granted %llu processes %u share %u %s job %s\n",
           i, all[i].taken, all[i].limit, all[i].own, all[i].granted, all[i].processes,
           all[i].share, all[i].by[0] ? all[i].by : "-", all[i].job);
  fflush(stdout);
  int victim = 1;
  for (int i = 1; i < ranks; ++i)
    if (all[i].taken > all[victim].taken) victim = i;
  MPI_Bcast(&victim, 1, MPI_INT, 0, MPI_COMM_WORLD);
  MPI_Finalize();
  if (count <= 4) return 0;
  const char* then = arguments[4];
  if (strcmp(then, "dies") != 0)
    die(folder, victim, piece,
        strcmp(then, "all") == 0 ? all[victim].taken : (size_t)atoi(then) << 20);
  if (rank == victim) raise(SIGKILL);
}
