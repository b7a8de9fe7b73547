// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// miss_share FILE [--mark N] [FIRST-LAST...]: reads counted misses (miss_file.h). Prints the user's
// misses per node, and the share of each range of virtual addresses (hexadecimal, LAST excluded),
// for the last section or that of a mark. A page that is partly in a range counts in proportion.
#include "machine/timing/miss_file.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { k_most_nodes = 64 };

struct contents {
  struct miss_file_header header;
  struct miss_section section;
  struct miss_record* records;
};

static int problem(const char* path, const char* what) {
  fprintf(stderr, "miss_share: %s: %s\n", path, what);
  return 1;
}

// Reads up to the requested section (mark < 0: the last one). Null: success.
static const char* read_file(FILE* file, long mark, struct contents* out) {
  if (fread(&out->header, sizeof out->header, 1, file) != 1 || out->header.magic != MISS_FILE_MAGIC)
    return "no file of counted misses";
  if (out->header.version != MISS_FILE_VERSION ||
      out->header.record_size != sizeof(struct miss_record))
    return "another version of the format";
  bool found = false;
  struct miss_section section;
  while (fread(&section, sizeof section, 1, file) == 1) {
    if (section.magic != MISS_SECTION_MAGIC || section.records > 1u << 30) return "damaged section";
    struct miss_record* records = malloc((section.records + 1) * sizeof *records);
    if (!records) return "out of memory";
    if (fread(records, sizeof *records, section.records, file) != section.records)
      return "cut off within a section";
    if (mark < 0 || section.mark == (uint32_t)mark) {
      free(out->records);
      out->records = records;
      out->section = section;
      found = true;
    } else
      free(records);
  }
  return found ? NULL : "no such section";
}

static void print_nodes(const struct contents* c, double* all) {
  uint64_t reads[k_most_nodes] = {0}, writes[k_most_nodes] = {0}, streamed[k_most_nodes] = {0};
  uint64_t kernel = 0;
  *all = 0;
  for (uint64_t i = 0; i < c->section.records; i++) {
    const struct miss_record* r = &c->records[i];
    if (r->virtual_page >> 47) {
      kernel += (uint64_t)r->reads + r->writes;
      continue;
    }
    *all += (double)r->reads + r->writes;
    if (r->node >= k_most_nodes) continue;
    reads[r->node] += r->reads;
    writes[r->node] += r->writes;
    streamed[r->node] += r->streamed;
  }
  for (int n = 0; n < k_most_nodes; n++)
    if (reads[n] + writes[n])
      printf("node %d reads %" PRIu64 " writes %" PRIu64 " streamed %" PRIu64 "\n", n, reads[n],
             writes[n], streamed[n]);
  printf("user %.0f kernel %" PRIu64 "\n", *all, kernel);
}

static int print_range(const struct contents* c, const char* text, double all) {
  char* end;
  uint64_t first = strtoull(text, &end, 16), last = *end == '-' ? strtoull(end + 1, &end, 16) : 0;
  if (*end || last <= first) return problem(text, "no range FIRST-LAST of hexadecimal addresses");
  double misses = 0, page = c->header.page_size;
  for (uint64_t i = 0; i < c->section.records; i++) {
    const struct miss_record* r = &c->records[i];
    uint64_t from = r->virtual_page > first ? r->virtual_page : first;
    uint64_t to =
        r->virtual_page + c->header.page_size < last ? r->virtual_page + c->header.page_size : last;
    if (to > from) misses += ((double)r->reads + r->writes) * (double)(to - from) / page;
  }
  printf("range %" PRIx64 "-%" PRIx64 " misses %.0f share %.5f\n", first, last, misses,
         all > 0 ? misses / all : 0);
  return 0;
}

int main(int count, char** arguments) {
  long mark = -1;
  int next = 2;
  if (count >= 4 && strcmp(arguments[2], "--mark") == 0) {
    mark = strtol(arguments[3], NULL, 10);
    next = 4;
  }
  if (count < 2 || arguments[1][0] == '-') {
    fprintf(stderr, "usage: miss_share FILE [--mark N] [FIRST-LAST...]\n");
    return 2;
  }
  FILE* file = fopen(arguments[1], "rbe");
  if (!file) return problem(arguments[1], "cannot be opened");
  struct contents contents = {0};
  const char* what = read_file(file, mark, &contents);
  fclose(file);
  if (what) return problem(arguments[1], what);
  double all;
  print_nodes(&contents, &all);
  int status = 0;
  for (; next < count && status == 0; next++)
    status = print_range(&contents, arguments[next], all);
  free(contents.records);
  return status;
}
