// SPDX-License-Identifier: GPL-2.0-or-later
//
// Reads the configuration file, in which a line is a keyword and its operands. Each keyword has a
// function that reads the rest of the line. What concerns several lines (does every pair of vCPU
// and node have a cost? do ranges overlap?) is checked at the end.
#include "machine/timing/config.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct parser {
  struct configuration* result;
  const char* path;
  unsigned line;
  const char* rest; // the unread part of the line
  char* error;
  size_t error_size;
};

static bool fail(struct parser* p, const char* format, ...) {
  int used = p->line ? snprintf(p->error, p->error_size, "%s:%u: ", p->path, p->line)
                     : snprintf(p->error, p->error_size, "%s: ", p->path);
  if (used < 0 || (size_t)used >= p->error_size) return false;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(p->error + used, p->error_size - (size_t)used, format, arguments);
  va_end(arguments);
  return false;
}

static void skip_blanks(struct parser* p) {
  while (*p->rest == ' ' || *p->rest == '\t')
    p->rest++;
}

// Reads the next word of the line; false if there is none or it is too long.
static bool take_word(struct parser* p, char* word, size_t size) {
  skip_blanks(p);
  size_t length = strcspn(p->rest, " \t");
  if (length == 0 || length >= size) return false;
  memcpy(word, p->rest, length);
  word[length] = 0;
  p->rest += length;
  return true;
}

static bool take_size(struct parser* p, const char* what, uint64_t* value) {
  char word[64], *end = word;
  bool given = take_word(p, word, sizeof word);
  errno = 0;
  if (given && isdigit((unsigned char)word[0])) *value = strtoull(word, &end, 0);
  unsigned shift = 0;
  if (given && end != word) switch (toupper((unsigned char)*end)) {
    case 'K':
      shift = 10, end++;
      break;
    case 'M':
      shift = 20, end++;
      break;
    case 'G':
      shift = 30, end++;
      break;
    }
  if (!given || end == word || *end || errno || *value > UINT64_MAX >> shift)
    return fail(p, "%s '%s' is not a size; write a number, K, M or G after it if you like", what,
                given ? word : "");
  *value <<= shift;
  return true;
}

static bool take_number(struct parser* p, const char* what, double least, double* value) {
  char word[64], *end = word;
  bool given = take_word(p, word, sizeof word);
  if (given) *value = strtod(word, &end);
  if (!given || end == word || *end || !isfinite(*value) || *value < least || *value > 1e15)
    return fail(p, "%s '%s' is not a number of at least %g", what, given ? word : "", least);
  return true;
}

static bool take_count(struct parser* p, const char* what, uint32_t most, uint32_t* count) {
  double value;
  if (!take_number(p, what, 1, &value)) return false;
  if (value > most || value != floor(value))
    return fail(p, "%s: %g is no whole number from 1 to %u", what, value, most);
  *count = (uint32_t)value;
  return true;
}

static bool take_node(struct parser* p, uint32_t* node) {
  double value;
  if (!take_number(p, "node", 0, &value)) return false;
  if (value >= k_max_nodes || value != floor(value))
    return fail(p, "node %g is none of 0-%d", value, k_max_nodes - 1);
  *node = (uint32_t)value;
  return true;
}

// `2`, `0-3` or `*`.
static bool take_vcpus(struct parser* p, uint32_t* first, uint32_t* last) {
  char word[64];
  if (!take_word(p, word, sizeof word)) return fail(p, "vCPUs are missing; write 2, 0-3 or *");
  *first = 0;
  *last = p->result->vcpus - 1;
  if (strcmp(word, "*") == 0) return true;
  char tail = 0;
  if (sscanf(word, "%u-%u%c", first, last, &tail) != 2) {
    if (sscanf(word, "%u%c", first, &tail) != 1)
      return fail(p, "'%s' names no vCPUs; write 2, 0-3 or *", word);
    *last = *first;
  }
  if (*first > *last || *last >= k_max_vcpus)
    return fail(p, "vCPUs '%s' are no range within 0-%d", word, k_max_vcpus - 1);
  return true;
}

static bool take_path(struct parser* p, char* path) {
  skip_blanks(p);
  size_t length = strlen(p->rest);
  while (length && (p->rest[length - 1] == ' ' || p->rest[length - 1] == '\t'))
    length--;
  if (length == 0) return fail(p, "the path is missing");
  if (length >= sizeof p->result->symbols) return fail(p, "the path is longer than 511 bytes");
  memcpy(path, p->rest, length);
  path[length] = 0;
  p->rest += strlen(p->rest);
  return true;
}

static bool read_range(struct parser* p) {
  struct configuration* c = p->result;
  if (c->range_count == k_max_ranges) return fail(p, "more than %d ranges", k_max_ranges);
  struct memory_range range;
  if (!take_node(p, &range.node) || !take_size(p, "reported address", &range.reported) ||
      !take_size(p, "size", &range.size) || !take_size(p, "physical address", &range.physical))
    return false;
  if (range.size == 0 || (range.reported | range.size | range.physical) % k_page_size)
    return fail(p, "a range starts and ends at multiples of %d and is not empty", k_page_size);
  for (uint32_t i = 0; i < c->range_count; i++)
    if (range.reported < c->ranges[i].reported + c->ranges[i].size &&
        c->ranges[i].reported < range.reported + range.size)
      return fail(p, "this range overlaps an earlier one as reported");
  c->ranges[c->range_count++] = range;
  return true;
}

static bool take_latency(struct parser* p, double* read, double* write) {
  return take_number(p, "read latency", 1, read) && take_number(p, "write latency", 1, write);
}

// From MB/s = bytes per microsecond.
static bool take_slots(struct parser* p, double* read, double* write) {
  if (!take_number(p, "read bandwidth", 1, read) || !take_number(p, "write bandwidth", 1, write))
    return false;
  *read = k_line_size * 1e3 / *read;
  *write = k_line_size * 1e3 / *write;
  return true;
}

static bool read_latency(struct parser* p) {
  uint32_t first, last, node;
  double read, write;
  if (!take_vcpus(p, &first, &last) || !take_node(p, &node) || !take_latency(p, &read, &write))
    return false;
  for (uint32_t v = first; v <= last; v++) {
    p->result->cost[v][node].read_latency = read;
    p->result->cost[v][node].write_latency = write;
  }
  return true;
}

static bool read_bandwidth(struct parser* p) {
  uint32_t first, last, node;
  double read, write;
  if (!take_vcpus(p, &first, &last) || !take_node(p, &node) || !take_slots(p, &read, &write))
    return false;
  for (uint32_t v = first; v <= last; v++) {
    p->result->cost[v][node].read_slot = read;
    p->result->cost[v][node].write_slot = write;
  }
  return true;
}

static bool read_duplex(struct parser* p) {
  uint32_t node;
  return take_node(p, &node) && (p->result->duplex[node] = true);
}

static bool read_mixed(struct parser* p) {
  uint32_t node;
  double bandwidth;
  if (!take_node(p, &node) || !take_number(p, "mixed bandwidth", 1, &bandwidth)) return false;
  p->result->mixed_slot[node] = k_line_size * 1e3 / bandwidth;
  return true;
}

static bool is_power_of_two(uint64_t value) {
  return value && (value & (value - 1)) == 0;
}

static bool read_media(struct parser* p) {
  uint32_t node;
  uint64_t bytes;
  if (!take_node(p, &node) || !take_size(p, "block", &bytes)) return false;
  if (bytes < k_line_size || bytes > k_page_size || !is_power_of_two(bytes))
    return fail(p, "a media block is a power of two from 64 to 4096 bytes");
  p->result->media_block[node] = (uint32_t)bytes;
  return true;
}

static bool read_memory_side_cache(struct parser* p) {
  uint32_t node;
  if (!take_node(p, &node)) return false;
  struct memory_side_cache* cache = &p->result->memory_side_cache[node];
  if (!take_size(p, "size", &cache->size) ||
      !take_latency(p, &cache->cost.read_latency, &cache->cost.write_latency) ||
      !take_slots(p, &cache->cost.read_slot, &cache->cost.write_slot))
    return false;
  return (cache->size > 0 && cache->size % k_page_size == 0) ||
         fail(p, "a memory-side cache has whole pages of %d bytes", k_page_size);
}

static bool read_load_curve(struct parser* p) {
  uint32_t node;
  struct load_curve curve = {1, {0}, {1}};
  if (!take_node(p, &node)) return false;
  for (skip_blanks(p); *p->rest; skip_blanks(p)) {
    if (curve.points == k_max_points) return fail(p, "more than %d points", k_max_points - 1);
    double *used = &curve.used[curve.points], *times = &curve.times[curve.points];
    if (!take_number(p, "part of the bandwidth", 0, used) ||
        !take_number(p, "latency under load", 1, times))
      return false;
    if (used[0] <= used[-1] || used[0] > 1 || times[0] < times[-1])
      return fail(p, "%g %g: used bandwidth rises from 0 to 1, and latency with it", *used, *times);
    curve.points++;
  }
  p->result->load_curve[node] = curve;
  return true;
}

static bool read_cache(struct parser* p) {
  struct configuration* c = p->result;
  char level[8] = "";
  take_word(p, level, sizeof level);
  struct cache_shape* cache = strcmp(level, "l1") == 0    ? &c->l1
                              : strcmp(level, "l2") == 0  ? &c->l2
                              : strcmp(level, "llc") == 0 ? &c->llc
                                                          : NULL;
  if (!cache) return fail(p, "cache '%s' is none of l1, l2, llc", level);
  double ways = 1;
  if (!take_size(p, "size", &cache->size)) return false;
  if (cache != &c->l1) {
    if (!take_number(p, "ways", 1, &ways)) return false;
    skip_blanks(p);
    if (*p->rest && !take_number(p, "hit time", 0, &cache->hit)) return false;
  }
  if (ways > 64 || ways != floor(ways)) return fail(p, "ways are a whole number from 1 to 64");
  cache->ways = (uint32_t)ways;
  uint64_t sets = cache->size / k_line_size / cache->ways;
  if (!is_power_of_two(sets) || sets * k_line_size * cache->ways != cache->size ||
      cache->size > 1u << 30)
    return fail(p, "size / 64 / ways is a power of two, and the size at most 1G");
  return true;
}

static bool read_choice(struct parser* p, const char* yes, const char* no, bool* value) {
  char word[16] = "";
  take_word(p, word, sizeof word);
  *value = strcmp(word, yes) == 0;
  return *value || strcmp(word, no) == 0 || fail(p, "'%s' is neither %s nor %s", word, yes, no);
}

static bool read_period(struct parser* p) {
  double period;
  if (!take_number(p, "period", 1, &period)) return false;
  p->result->event_period = (uint64_t)period;
  return true;
}

static bool read_line(struct parser* p, const char* keyword) {
  struct configuration* c = p->result;
  if (strcmp(keyword, "range") == 0) return read_range(p);
  if (strcmp(keyword, "latency") == 0) return read_latency(p);
  if (strcmp(keyword, "bandwidth") == 0) return read_bandwidth(p);
  if (strcmp(keyword, "media") == 0) return read_media(p);
  if (strcmp(keyword, "duplex") == 0) return read_duplex(p);
  if (strcmp(keyword, "mixed") == 0) return read_mixed(p);
  if (strcmp(keyword, "memory-side-cache") == 0) return read_memory_side_cache(p);
  if (strcmp(keyword, "cache") == 0) return read_cache(p);
  if (strcmp(keyword, "event-period") == 0) return read_period(p);
  if (strcmp(keyword, "dilation") == 0) return take_number(p, "dilation", 1, &c->dilation);
  if (strcmp(keyword, "loaded") == 0) return read_load_curve(p);
  if (strcmp(keyword, "instruction-ns") == 0)
    return take_number(p, "time of an instruction", 0, &c->instruction);
  if (strcmp(keyword, "wrong-branch-ns") == 0)
    return take_number(p, "time of a wrong prediction", 0, &c->wrong_branch);
  if (strcmp(keyword, "window") == 0)
    return take_count(p, "instructions", 1 << 20, &c->window) &&
           take_count(p, "misses", k_max_flight, &c->outstanding);
  if (strcmp(keyword, "overlap") == 0)
    return take_count(p, "lines of streams", k_max_flight, &c->prefetched) &&
           take_count(p, "lines of stores", k_max_flight, &c->stores);
  if (strcmp(keyword, "bandwidth-divisor") == 0)
    return take_number(p, "divisor", 1, &c->bandwidth_divisor);
  if (strcmp(keyword, "mode") == 0) return read_choice(p, "sleep", "count", &c->sleep);
  if (strcmp(keyword, "symbols") == 0) return take_path(p, c->symbols);
  if (strcmp(keyword, "misses") == 0) return take_path(p, c->misses);
  if (strcmp(keyword, "events") == 0) return take_path(p, c->events);
  if (strcmp(keyword, "statistics") == 0) return take_path(p, c->statistics);
  return fail(p, "'%s' is no keyword; README.md lists them", keyword);
}

static bool check_whole(struct parser* p) {
  const struct configuration* c = p->result;
  p->line = 0;
  if (c->range_count == 0) return fail(p, "no range line; at least one is needed");
  for (uint32_t i = 0; i < c->range_count; i++)
    for (uint32_t v = 0, node = c->ranges[i].node; v < c->vcpus; v++) {
      if (c->cost[v][node].read_latency == 0)
        return fail(p, "no latency line covers vCPU %u and node %u", v, node);
      if (c->cost[v][node].read_slot == 0)
        return fail(p, "no bandwidth line covers vCPU %u and node %u", v, node);
      double slower = fmax(c->cost[v][node].read_slot, c->cost[v][node].write_slot);
      if (c->mixed_slot[node] > 0 && 2 * c->mixed_slot[node] < slower * (1 - 1e-9))
        return fail(p, "mixed bandwidth of node %u is more than twice the slower one's", node);
    }
  return true;
}

static void set_defaults(struct configuration* c, uint32_t vcpus) {
  *c = (struct configuration){
      .vcpus = vcpus,
      .l1 = {.size = 16 << 10, .ways = 1},
      .l2 = {.size = 128 << 10, .ways = 8},
      .llc = {.size = 1 << 20, .ways = 16},
      .dilation = 100,
      .bandwidth_divisor = 10,
      .instruction = 0,
      .window = 224,
      .outstanding = 12,
      .prefetched = 12,
      .stores = 16,
      .sleep = true,
      .event_period = 100,
  };
  for (int n = 0; n < k_max_nodes; n++)
    c->media_block[n] = k_line_size, c->load_curve[n] = (struct load_curve){1, {0}, {1}};
}

bool configuration_read(const char* path, uint32_t vcpus, struct configuration* configuration,
                        char* error, size_t error_size) {
  struct parser p = {configuration, path, 0, "", error, error_size};
  set_defaults(configuration, vcpus);
  if (vcpus == 0 || vcpus > k_max_vcpus)
    return fail(&p, "a machine of %u vCPUs is not modelled; use 1 to %d", vcpus, k_max_vcpus);
  FILE* file = fopen(path, "re");
  if (!file) return fail(&p, "%s", strerror(errno));
  char* line = NULL;
  size_t line_size = 0;
  bool good = true;
  for (ssize_t length; good && (length = getline(&line, &line_size, file)) >= 0;) {
    p.line++;
    if (memchr(line, 0, (size_t)length)) {
      good = fail(&p, "a zero byte; this is no text file");
      break;
    }
    line[strcspn(line, "#\r\n")] = 0;
    p.rest = line;
    char keyword[32];
    if (!take_word(&p, keyword, sizeof keyword)) {
      skip_blanks(&p);
      good = !*p.rest || fail(&p, "'%.40s…' is no keyword; README.md lists them", p.rest);
      continue;
    }
    good = read_line(&p, keyword);
    skip_blanks(&p);
    if (good && *p.rest) good = fail(&p, "'%s' is too much after '%s'", p.rest, keyword);
  }
  free(line);
  fclose(file);
  return good && check_whole(&p);
}
