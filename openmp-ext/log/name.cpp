// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See name.hpp.
#include "log/name.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>
#include <unistd.h>

namespace omptier {
namespace {

unsigned number_of(const char* name, unsigned fallback) {
  const char* text = name != nullptr ? getenv(name) : nullptr;
  return text != nullptr && *text != 0 ? static_cast<unsigned>(std::strtoul(text, nullptr, 10))
                                       : fallback;
}

struct LauncherVariables {
  const char *rank, *ranks;
};
constexpr LauncherVariables k_launchers[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMIX_RANK", nullptr},
    {"PMI_RANK", "PMI_SIZE"},
    {"MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"},
    {"SLURM_PROCID", "SLURM_STEP_NUM_TASKS"}, // the latter in a step only, not in a batch script
};

// True if the ranks of a job would write into the same file.
bool lacks_rank(const char* pattern) {
  while ((pattern = std::strchr(pattern, '%')) != nullptr) {
    const char kind = *++pattern;
    if (kind == 'p' || kind == 'r') return false;
    if (kind != 0) ++pattern; // "%%": the second is no beginning
  }
  for (const LauncherVariables& launcher : k_launchers)
    if (number_of(launcher.ranks, 1) > 1) return true;
  return false;
}

// "run.profile" becomes "run-%r.profile".
bool add_rank(const char* pattern, char* out, std::size_t size) {
  const char* name = std::strrchr(pattern, '/');
  const char* ending = std::strrchr(name != nullptr ? name : pattern, '.');
  if (ending == nullptr) ending = pattern + std::strlen(pattern);
  const int length =
      std::snprintf(out, size, "%.*s-%%r%s", static_cast<int>(ending - pattern), pattern, ending);
  return length >= 0 && static_cast<std::size_t>(length) < size;
}

} // namespace

unsigned rank_in_job() {
  for (const LauncherVariables& launcher : k_launchers)
    if (const unsigned rank = number_of(launcher.rank, ~0u); rank != ~0u) return rank;
  return 0;
}

const char* job_name() {
  for (const char* name :
       {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid", "PMI_JOBID", "SLURM_JOB_ID"})
    if (const char* text = getenv(name); text != nullptr && *text != 0) return text;
  return "";
}

bool expand_pattern(const char* pattern, char* out, std::size_t size) {
  std::size_t used = 0;
  char for_ranks[4096];
  if (lacks_rank(pattern)) {
    if (!add_rank(pattern, for_ranks, sizeof for_ranks)) return false;
    pattern = for_ranks;
  }
  const auto put = [&](const char* text) {
    for (; *text != 0; ++text)
      if (used + 1 < size)
        out[used++] = *text;
      else
        return false;
    return true;
  };
  const auto put_one = [&](char letter) {
    const char text[2] = {letter, 0};
    return put(text);
  };
  const auto put_number = [&](unsigned long value) {
    char digits[24];
    char* next = digits + sizeof digits;
    *--next = 0;
    do
      *--next = static_cast<char>('0' + value % 10);
    while ((value /= 10) > 0);
    return put(next);
  };
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  for (; *pattern != 0; ++pattern) {
    bool fits = true;
    if (*pattern != '%' || pattern[1] == 0)
      fits = put_one(*pattern);
    else if (*++pattern == 'h')
      fits = put(host);
    else if (*pattern == 'p')
      fits = put_number(static_cast<unsigned long>(getpid()));
    else if (*pattern == 'r')
      fits = put_number(rank_in_job());
    else if (*pattern == '%')
      fits = put("%");
    else
      fits = put("%") && put_one(*pattern);
    if (!fits) return false;
  }
  out[used] = 0;
  return true;
}

} // namespace omptier
