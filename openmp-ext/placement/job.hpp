// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The job of this process according to the environment: its number from the scheduler, and how many
// ranks the launcher started on this machine. From these follow the name of the job's ledger, and
// the share of scarce memory kinds that each rank may take.
#pragma once

#include "base/text.hpp"
#include "platform/platform.hpp"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace omptier {

// Looks up a variable; null when it is not set. Tests pass their own.
using Environment = const char* (*)(const char* name);
inline const char* own_environment(const char* name) {
  return std::getenv(name);
}

// Number of the process's pid namespace; 0 when the kernel does not report it.
std::uint64_t pid_namespace();

// "slurm-4711", "pbs-12.server", …, else "session-77-4026531836" (session and pid namespace; the
// launcher's session if each rank has its own). Characters unfit for a file name are replaced.
std::string job_name(Environment environment = own_environment);
// /dev/shm/omptier-<user>-<job>
std::string job_ledger_path(std::string_view job);

struct RankShare {
  unsigned ranks = 1;      // on this machine
  unsigned rank = 0;       // rank of this process
  const char* source = ""; // the variable that set ranks; "" = none
};
// The launcher's numbers: Open MPI, MPICH and Intel MPI (hydra), Cray PALS, MVAPICH2, IBM jsrun,
// then Slurm's step. One rank if there are none.
RankShare launcher_share(Environment environment);

// Parses OMPTIER_SHARE: "auto" (the launcher's numbers), "off" (all of it), or "1/4".
Parsed<RankShare> parse_share(std::string_view text,
                              Environment environment = own_environment);

// The n-th number of Slurm's list "2(x3),1"; 0 when the text has none.
unsigned tasks_of_node(std::string_view list, unsigned node);

// Limits of this process by kind: OMPTIER_CAPACITY if it names the kind, else the rank's share of
// every kind but the machine's largest. reserve: bytes of each node left to others.
struct KindLimits {
  CapacityByKind limit;
  std::array<bool, k_memory_kinds> shared{}; // by the rank's share
};
KindLimits limits_of(const Platform& platform, const CapacityByKind& capacity,
                     const RankShare& share, std::uint64_t reserve);

// Bytes of a node left to others unless OMPTIER_RESERVE is set.
inline constexpr std::uint64_t k_usual_reserve = ~std::uint64_t{0};
constexpr std::uint64_t reserve_of(std::uint64_t total, std::uint64_t reserve) {
  constexpr std::uint64_t k_most = std::uint64_t{64} << 20;
  if (reserve != k_usual_reserve) return reserve;
  return total / 128 < k_most ? total / 128 : k_most;
}

} // namespace omptier
