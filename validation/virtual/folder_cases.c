// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory from a folder with DAX (OMPTIER_PMEM) on a machine without NVM nodes: folder_cases FOLDER.
// That it comes from there is checked by /proc/self/maps and by the file system's free space. Exit
// 0: everything holds.
#define _GNU_SOURCE
#include <ompx_memory.h>

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#define MIB ((size_t)1 << 20)
static const char* folder;

__attribute__((format(printf, 2, 3))) static void check(int holds, const char* format, ...) {
  if (holds) return;
  va_list arguments;
  va_start(arguments, format);
  fputs("does not hold: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
  _exit(1);
}

static size_t free_bytes(void) {
  struct statvfs space;
  check(statvfs(folder, &space) == 0, "statvfs");
  return space.f_bavail * space.f_frsize;
}

// The mapping of an address is a shared one of a file below the folder.
static int is_of_folder(const void* address) {
  FILE* maps = fopen("/proc/self/maps", "re");
  check(maps != NULL, "/proc/self/maps");
  char line[512];
  int found = 0;
  while (fgets(line, sizeof line, maps) != NULL) {
    unsigned long begin, end;
    char access[8];
    if (sscanf(line, "%lx-%lx %7s", &begin, &end, access) == 3 && (uintptr_t)address >= begin &&
        (uintptr_t)address < end)
      found = access[1] == 'w' && access[3] == 's' && strstr(line, folder) != NULL;
  }
  fclose(maps);
  return found;
}

int main(int argc, char** argv) {
  check(argc == 2, "folder_cases FOLDER");
  folder = argv[1];
  omp_alloctrait_t null_fb[] = {{omp_atk_fallback, omp_atv_null_fb}};
  omp_allocator_handle_t nvm = omp_init_allocator(ompx_nvm_mem_space, 1, null_fb);
  const size_t all = free_bytes();

  char* small = omp_alloc(100, nvm);
  check(small != NULL && is_of_folder(small), "small block elsewhere");
  strcpy(small, "small");
  char* large = omp_alloc(20 * MIB, nvm);
  check(large != NULL && is_of_folder(large) && is_of_folder(large + 20 * MIB - 1),
        "large block elsewhere");
  check(free_bytes() + 20 * MIB <= all, "the folder has as much room as before");
  for (size_t i = 0; i < 20 * MIB; i += 4096)
    large[i] = (char)(i >> 12);
  ompx_placement_t placement = {.struct_size = sizeof placement};
  check(ompx_get_placement(large, 0, &placement) == 0 &&
            placement.bytes[ompx_kind_nvm] == 20 * MIB && placement.untouched == 0 &&
            strstr(placement.reason, folder) != NULL,
        "placement: %zu bytes, %s", placement.bytes[ompx_kind_nvm], placement.reason);
  puts(placement.reason);
  large = omp_realloc(large, 30 * MIB, nvm, nvm);
  check(large != NULL && is_of_folder(large), "elsewhere after realloc");
  for (size_t i = 0; i < 20 * MIB; i += 4096)
    check(large[i] == (char)(i >> 12), "byte %zu changed", i);
  char* zeroed = omp_calloc(1, 3 * MIB, nvm);
  check(zeroed != NULL && zeroed[0] == 0 && zeroed[3 * MIB - 1] == 0, "calloc");

  char text[65536];
  const int file = open("/tmp/dump", O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  check(ompx_dump(file) == 0, "ompx_dump");
  const ssize_t length = pread(file, text, sizeof text - 1, 0);
  text[length > 0 ? length : 0] = '\0';
  check(strstr(text, "nvm(folder):31457280") != NULL, "dump: %s", text);

  // The child has copies, and nothing new.
  large[0] = 'p';
  const pid_t child = fork();
  if (child == 0) {
    check(large[0] == 'p' && strcmp(small, "small") == 0, "the parent's data is not there");
    large[0] = small[0] = 'c';
    check(omp_alloc(MIB, nvm) == NULL, "the child takes memory of its parent's file");
    omp_free(large, nvm);
    _exit(0);
  }
  int status = -1;
  check(waitpid(child, &status, 0) == child && status == 0, "child: %x", status);
  check(large[0] == 'p' && small[0] == 's' && large[4096] == 1, "the child wrote to its parent");
  omp_free(large, nvm);

  // To the last byte, and no further.
  char* blocks[64];
  int count = 0;
  while (count < 64 && (blocks[count] = omp_alloc(16 * MIB, nvm)) != NULL)
    memset(blocks[count++], 1, 16 * MIB);
  printf("%d blocks of 16 MiB in %zu MiB\n", count, all / MIB);
  check(count >= 8 && count < 64, "%d blocks", count);
  while (count > 0)
    omp_free(blocks[--count], nvm);
  omp_free(small, nvm);
  omp_free(zeroed, nvm);
  check(free_bytes() + 8 * MIB >= all, "%zu of %zu bytes came back", free_bytes(), all);
  puts("memory of the folder holds");
  return 0;
}
