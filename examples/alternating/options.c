/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * See options.h. An invalid option gives one line on stderr and status 2.
 */
#define _POSIX_C_SOURCE 200809L
#include "options.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char* const k_help =
    "usage: alternating [options]\n"
    "Works on two arrays in turn, each in a parallel region of its own, or between barriers of "
    "one.\n"
    "\n"
    "  --bytes N[K|M|G]   size of each array, at least 64K (default 24M)\n"
    "  --rounds N         visits to each array (default 4)\n"
    "  --sweeps N         length of a visit: loads of each line of the array (default 8)\n"
    "  --pattern P        random: latency counts (default); stream: bandwidth counts\n"
    "  --compute N        after each visit, each thread does N million steps without memory\n"
    "  --threads N        (default: as OpenMP decides)\n"
    "  --barriers         all visits in one region; moves for a visit count for that visit\n"
    "  --mark             time model of OMPTier's virtual machine on during the visits only\n"
    "  --where            during each visit, not timed: where the kernel has the pages (OMPTier)\n";

static int refuse(const char* option, const char* what, const char* value) {
  fprintf(stderr, "alternating: %s %s, not '%s'; see --help\n", option, what, value);
  return 2;
}

/* A whole number from 1 to most, with a suffix K, M or G where suffixes are allowed. 0: it is
 * neither. */
static unsigned long long read_number(const char* text, unsigned long long most, int suffixes) {
  char* end;
  if (!isdigit((unsigned char)text[0])) return 0;
  errno = 0;
  unsigned long long number = strtoull(text, &end, 10);
  const int shift = !suffixes ? 0 : *end == 'K' ? 10 : *end == 'M' ? 20 : *end == 'G' ? 30 : 0;
  if (shift != 0) ++end;
  if (errno != 0 || *end != '\0' || number > most >> shift) return 0;
  return number << shift;
}

static int take(const char* option, const char* value, alternating_options* options) {
  if (strcmp(option, "--bytes") == 0) {
    const unsigned long long memory =
        (unsigned long long)sysconf(_SC_PHYS_PAGES) * (unsigned long long)sysconf(_SC_PAGESIZE);
    options->bytes = (size_t)read_number(value, memory / 2, 1);
    if (options->bytes >= 65536) return -1;
    return refuse(option, "needs a size from 64K to half of this machine's memory", value);
  }
  if (strcmp(option, "--pattern") == 0) {
    options->random = strcmp(value, "random") == 0;
    if (options->random || strcmp(value, "stream") == 0) return -1;
    return refuse(option, "is random or stream", value);
  }
  int* number = strcmp(option, "--rounds") == 0    ? &options->rounds
                : strcmp(option, "--sweeps") == 0  ? &options->sweeps
                : strcmp(option, "--threads") == 0 ? &options->threads
                : strcmp(option, "--compute") == 0 ? &options->compute
                                                   : NULL;
  if (number == NULL) {
    fprintf(stderr, "alternating: no option '%s'; see --help\n", option);
    return 2;
  }
  *number = (int)read_number(value, 1000000, 0);
  return *number > 0 ? -1 : refuse(option, "needs a whole number from 1 to 1000000", value);
}

int read_alternating_options(int argc, char** argv, alternating_options* options) {
  *options = (alternating_options){.bytes = 24u << 20, .rounds = 4, .sweeps = 8, .random = 1};
  for (int i = 1; i < argc; ++i) {
    if (strcmp(argv[i], "--help") == 0) {
      fputs(k_help, stdout);
      return 0;
    }
    if (strcmp(argv[i], "--mark") == 0) {
      options->mark = 1;
      continue;
    }
    if (strcmp(argv[i], "--barriers") == 0) {
      options->barriers = 1;
      continue;
    }
    if (strcmp(argv[i], "--where") == 0) {
      options->where = 1;
      continue;
    }
    const int refused = take(argv[i], i + 1 < argc ? argv[i + 1] : "", options);
    if (refused >= 0) return refused;
    ++i;
  }
  if (options->barriers && options->compute > 0) {
    fprintf(stderr, "alternating: --compute is a region of its own, so not with --barriers\n");
    return 2;
  }
  return -1;
}
