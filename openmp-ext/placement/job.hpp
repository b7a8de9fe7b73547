// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the environment says about the job that this process belongs to: its number by the
// scheduler, and how many ranks the launcher started on this machine. From these follow the name of
// the job's ledger, and the share that each rank may take of the memory kinds that are scarce.
#pragma once

#include "base/text.hpp"
#include "platform/platform.hpp"

#include <array>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

namespace omptier {

// Looks a variable up; null when it is not set. Tests pass their own.
using Environment = const char* (*)(const char* name);
inline const char* own_environment(const char* name) {
  return std::getenv(name);
}

// Number of the process's pid namespace; 0 when the kernel does not tell.
std::uint64_t pid_namespace();

// "slurm-4711", "pbs-12.server", …, else "session-77-4026531836" (session and pid namespace; of
// ranks that got sessions of their own, the launcher's); characters that do not belong in a file
// name are replaced.
std::string job_name(Environment environment = own_environment);
// The ledger of that job: /dev/shm/omptier-<user>-<job>.
std::string job_ledger_path(std::string_view job);

struct RankShare {
  unsigned ranks = 1;      // on this machine
  unsigned rank = 0;       // of them
  const char* source = ""; // variable that said so, "" = nobody
};
// What the launcher says: Open MPI, MPICH and Intel MPI (hydra), Cray PALS, MVAPICH2, IBM jsrun,
// then Slurm's step. One rank when nobody says more.
RankShare launcher_share(Environment environment);

// OMPTIER_SHARE: "auto" (what the launcher says), "off" (all of it), or "1/4".
Parsed<RankShare> parse_share(std::string_view text,
                              Environment environment = own_environment);

// The n-th number of Slurm's list "2(x3),1"; 0 when the text says none.
unsigned tasks_of_node(std::string_view list, unsigned node);

// What this process may take of each kind: OMPTIER_CAPACITY where it says so, else the rank's share
// of every kind but the machine's largest. reserve: bytes of each node left to others.
struct KindLimits {
  CapacityByKind limit;
  std::array<bool, k_memory_kinds> shared{}; // by the rank's share
};
KindLimits limits_of(const Platform& platform, const CapacityByKind& capacity,
                     const RankShare& share, std::uint64_t reserve);

// Bytes of a node that are left to others unless OMPTIER_RESERVE says how many.
inline constexpr std::uint64_t k_usual_reserve = ~std::uint64_t{0};
constexpr std::uint64_t reserve_of(std::uint64_t total, std::uint64_t reserve) {
  constexpr std::uint64_t k_most = std::uint64_t{64} << 20;
  if (reserve != k_usual_reserve) return reserve;
  return total / 128 < k_most ? total / 128 : k_most;
}

} // namespace omptier
