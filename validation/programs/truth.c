/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * See truth.h. A loop's time goes to its objects in proportion to what their own loops took alone;
 * where these were not run, a loop of one object is that object's, and others leave the time of
 * their objects unknown (null).
 */
#include "truth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { k_objects = 48, k_loops = 48, k_uses = 128, k_caches = 8 };

typedef struct {
  char name[40], pattern[16], through[40]; /* through: "" is none */
  size_t bytes, blocks, stride;
  double from_cache, hot_part; /* from_cache below 0: unknown */
} object;

typedef struct {
  int loop, object;
  double read, written; /* bytes */
  double alone;         /* seconds; below 0: not run */
} use;

static object objects[k_objects];
static use uses[k_uses];
static double loop_seconds[k_loops], allocating_seconds;
static int object_count, use_count, loop_count;

static int next(int* count, int most, const char* what) {
  if (*count == most) {
    fprintf(stderr, "truth: more than %d %s; raise the number in truth.c\n", most, what);
    abort();
  }
  return (*count)++;
}

static double seconds_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

double truth_clock(void) {
  return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

static double start; /* of the program */
__attribute__((constructor)) static void begin(void) {
  start = seconds_of(CLOCK_MONOTONIC);
}

int truth_object(const char* name, size_t bytes, size_t blocks, const char* pattern) {
  const int number = next(&object_count, k_objects, "objects");
  objects[number] = (object){.bytes = bytes, .blocks = blocks, .from_cache = -1, .hot_part = 0.9};
  snprintf(objects[number].name, sizeof objects[number].name, "%s", name);
  snprintf(objects[number].pattern, sizeof objects[number].pattern, "%s", pattern);
  return number;
}

void truth_stride(int object, size_t bytes) {
  objects[object].stride = bytes;
}
void truth_through(int object, const char* other) {
  snprintf(objects[object].through, sizeof objects[object].through, "%s", other);
}
void truth_from_cache(int object, double share) {
  objects[object].from_cache = share;
}
void truth_hot_part(int object, double share) {
  objects[object].hot_part = share;
}

int truth_loop(const char* name, double seconds) {
  (void)name; /* for the reader of the program */
  const int number = next(&loop_count, k_loops, "loops");
  loop_seconds[number] = seconds;
  return number;
}

void truth_allocates(int loop) {
  allocating_seconds += loop_seconds[loop];
}

int truth_use(int loop, int object, double read, double written) {
  const int number = next(&use_count, k_uses, "uses");
  uses[number] = (use){loop, object, read, written, -1};
  return number;
}

void truth_alone(int use, double seconds) {
  if (seconds < 1e-9) seconds = 1e-9;
  if (uses[use].alone < 0 || seconds < uses[use].alone) uses[use].alone = seconds;
}

void truth_weight(int use, double weight) {
  uses[use].alone = weight;
}

enum { k_line = 64 / sizeof(long) };
static volatile long sink; /* so that no compiler leaves the reading out */

double truth_read_lines(const void* data, size_t bytes) {
  const long* word = data;
  const size_t count = bytes / sizeof *word;
  const double begin = truth_clock();
  long sum = 0;
  for (size_t i = 0; i < count; i += k_line)
    sum += word[i];
  sink = sum;
  return truth_clock() - begin;
}

double truth_write_lines(void* data, size_t bytes) {
  volatile long* word = data;
  const size_t count = bytes / sizeof *word;
  const double begin = truth_clock();
  for (size_t i = 0; i < count; i += k_line)
    word[i] = word[i];
  return truth_clock() - begin;
}

/* The part of a use in its loop's time; below 0: unknown. */
static double part(const use* one) {
  double sum = 0;
  int others = 0, known = 1;
  for (int i = 0; i < use_count; ++i)
    if (uses[i].loop == one->loop) {
      others += &uses[i] != one;
      known = known && uses[i].alone >= 0;
      sum += uses[i].alone;
    }
  return others == 0 ? 1 : known ? one->alone / sum : -1;
}

static double total_seconds(void) {
  double sum = 0;
  for (int i = 0; i < loop_count; ++i)
    sum += loop_seconds[i];
  return sum;
}

/* An object's part of the time of all loops; below 0: unknown. */
static double time_share(int object) {
  double seconds = 0;
  for (int i = 0; i < use_count; ++i)
    if (uses[i].object == object) {
      const double mine = part(&uses[i]);
      if (mine < 0) return -1;
      seconds += mine * loop_seconds[uses[i].loop];
    }
  return seconds / total_seconds();
}

static void write_number(FILE* out, const char* name, double value) {
  if (value < 0)
    fprintf(out, ", \"%s\": null", name);
  else
    fprintf(out, ", \"%s\": %.9g", name, value);
}

static void write_object(FILE* out, int number, double all_bytes) {
  const object* one = &objects[number];
  double read = 0, written = 0;
  for (int i = 0; i < use_count; ++i)
    if (uses[i].object == number) {
      read += uses[i].read;
      written += uses[i].written;
    }
  fprintf(out, "  {\"name\": \"%s\", \"bytes\": %zu, \"blocks\": %zu, \"pattern\": \"%s\"",
          one->name, one->bytes, one->blocks, one->pattern);
  if (one->stride > 0) fprintf(out, ", \"stride\": %zu", one->stride);
  if (one->through[0] != 0) fprintf(out, ", \"through\": \"%s\"", one->through);
  write_number(out, "accessed_bytes", read + written);
  write_number(out, "access_share", (read + written) / all_bytes);
  write_number(out, "write_share", read + written > 0 ? written / (read + written) : -1);
  write_number(out, "time_share", time_share(number));
  write_number(out, "from_cache", one->from_cache);
  write_number(out, "hot_part", one->hot_part);
  fputs("}", out);
}

int truth_write(const char* file, const char* program) {
  const double seconds = seconds_of(CLOCK_MONOTONIC) - start, processor = truth_clock();
  FILE* out = fopen(file, "w");
  if (out == NULL) {
    perror(file);
    return -1;
  }
  double all_bytes = 0;
  for (int i = 0; i < use_count; ++i)
    all_bytes += uses[i].read + uses[i].written;
  fprintf(out, "{\"program\": \"%s\", \"seconds\": %.9g, \"processor_seconds\": %.9g, ", program,
          seconds, processor);
  fprintf(out, "\"loop_seconds\": %.9g, \"allocating_seconds\": %.9g, \"objects\": [\n",
          total_seconds(), allocating_seconds);
  for (int i = 0; i < object_count; ++i) {
    write_object(out, i, all_bytes);
    fputs(i + 1 < object_count ? ",\n" : "\n", out);
  }
  fputs("]}\n", out);
  const int failed = ferror(out);
  if (fclose(out) == 0 && !failed) return 0;
  fprintf(stderr, "%s: not written whole\n", file);
  return -1;
}

long truth_number(int argc, char** argv, int place, long otherwise) {
  for (int i = 1; i <= place; ++i)
    if (i >= argc || argv[i][0] == '-') return otherwise;
  return atol(argv[place]);
}

const char* truth_option(int argc, char** argv, const char* name) {
  for (int i = 1; i < argc; ++i)
    if (strcmp(argv[i], name) == 0) return i + 1 < argc ? argv[i + 1] : "";
  return NULL;
}

size_t truth_last_level_cache(void) {
  size_t largest = 0;
  for (int i = 0; i < k_caches; ++i) {
    char path[80];
    snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/size", i);
    FILE* in = fopen(path, "r");
    if (in == NULL) break;
    size_t size = 0;
    char unit = 0;
    if (fscanf(in, "%zu%c", &size, &unit) >= 1) {
      size <<= unit == 'K' ? 10 : unit == 'M' ? 20 : 0;
      if (size > largest) largest = size;
    }
    fclose(in);
  }
  return largest > 0 ? largest : (size_t)32 << 20;
}
