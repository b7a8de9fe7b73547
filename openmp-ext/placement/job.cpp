// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variables of schedulers and launchers. A launcher's count is used only with a local rank, and
// Slurm's only inside a step: a batch script has the allocation's numbers, but is one process.
#include "placement/job.hpp"

#include "base/kernel_files.hpp"
#include "base/os.hpp"

#include <charconv>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace omptier {
namespace {

constexpr unsigned k_most_ranks = 4096; // on one machine; a larger number is not a count

struct NamedVariable {
  const char* scheduler;
  const char* variable;
};
constexpr NamedVariable k_jobs[] = {
    {"slurm", "SLURM_JOB_ID"}, {"pbs", "PBS_JOBID"},       {"lsf", "LSB_JOBID"},
    {"flux", "FLUX_JOB_ID"},   {"cobalt", "COBALT_JOBID"}, {"gridengine", "JOB_ID"},
};

struct LauncherVariables {
  const char* size;
  const char* rank;
};
constexpr LauncherVariables k_launchers[] = {
    {"OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK"}, // Open MPI
    {"MPI_LOCALNRANKS", "MPI_LOCALRANKID"},                       // MPICH and Intel MPI
    {"PMI_LOCAL_SIZE", "PMI_LOCAL_RANK"},                         // Cray, older MPICH
    {"PALS_LOCAL_SIZE", "PALS_LOCAL_RANKID"},                     // HPE PALS
    {"MV2_COMM_WORLD_LOCAL_SIZE", "MV2_COMM_WORLD_LOCAL_RANK"},   // MVAPICH2
    {"JSM_NAMESPACE_LOCAL_SIZE", "JSM_NAMESPACE_LOCAL_RANK"},     // IBM jsrun
};

// Digits only.
bool number_in(std::string_view text, unsigned& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

bool number_of(Environment environment, const char* name, unsigned& value) {
  const char* text = environment(name);
  return text != nullptr && number_in(text, value);
}

bool valid(const RankShare& share) {
  return share.ranks >= 1 && share.ranks <= k_most_ranks && share.rank < share.ranks;
}

bool slurm_share(Environment environment, RankShare& share) {
  unsigned node = 0;
  if (environment("SLURM_STEP_ID") == nullptr ||
      !number_of(environment, "SLURM_LOCALID", share.rank))
    return false;
  number_of(environment, "SLURM_NODEID", node);
  for (const char* name : {"SLURM_STEP_TASKS_PER_NODE", "SLURM_NTASKS_PER_NODE"}) {
    const char* list = environment(name);
    if (list == nullptr) continue;
    // The second variable is one number for all nodes.
    share.ranks = tasks_of_node(list, name[6] == 'S' ? node : 0);
    share.source = name;
    return true;
  }
  return false;
}

// Whether a launcher started the session's leader as one of its ranks.
bool launched_rank(pid_t session) {
  char path[40];
  std::snprintf(path, sizeof path, "/proc/%d/environ", static_cast<int>(session));
  std::vector<char> text(std::size_t{128} << 10);
  const std::size_t used = read_small_file(path, text.data(), text.size());
  for (std::size_t at = 0; at < used; at += std::strlen(text.data() + at) + 1)
    for (const LauncherVariables& launcher : k_launchers) {
      const std::size_t length = std::strlen(launcher.rank);
      if (std::strncmp(text.data() + at, launcher.rank, length) == 0 && text[at + length] == '=')
        return true;
    }
  return false;
}

bool parent_and_session(pid_t process, pid_t& parent, pid_t& session) {
  char text[512];
  const char* at = read_stat_field(process, 4, text, sizeof text);
  return at != nullptr && std::sscanf(at, "%d %*d %d", &parent, &session) == 2;
}

// The session that the ranks share: Hydra's own if Hydra (MPICH, Intel MPI) gives each rank one.
pid_t session_of_job(Environment environment) {
  constexpr unsigned k_most_ancestors = 100;
  pid_t session = ::getsid(0);
  bool launched = false;
  for (const LauncherVariables& launcher : k_launchers)
    launched |= environment(launcher.rank) != nullptr;
  pid_t process = ::getpid(), parent = 0, its_session = 0;
  if (!launched || !launched_rank(session)) return session;
  for (unsigned i = 0; i < k_most_ancestors; ++i) {
    if (!parent_and_session(process, parent, its_session) || process == 1) break;
    if (its_session != session) {
      session = its_session;
      if (!launched_rank(session)) break;
    }
    process = parent;
  }
  return session;
}

} // namespace

std::uint64_t pid_namespace() {
  const int fd = os().open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return 0;
  struct stat status{};
  const bool known = os().file_status(fd, &status) == 0;
  os().close(fd);
  return known ? status.st_ino : 0;
}

std::string job_name(Environment environment) {
  std::string name;
  for (const NamedVariable& job : k_jobs)
    if (const char* id = environment(job.variable); id != nullptr && *id != '\0') {
      name = std::string(job.scheduler) + "-" + id;
      break;
    }
  if (name.empty())
    name = "session-" + std::to_string(session_of_job(environment)) + "-" +
           std::to_string(pid_namespace());
  return name;
}

std::string job_ledger_path(std::string_view job) {
  std::string path = "/dev/shm/omptier-" + std::to_string(::geteuid()) + "-";
  for (const char c : job.substr(0, 100)) {
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '.' || c == '-' || c == '_';
    path += plain ? c : '_';
  }
  return path;
}

unsigned tasks_of_node(std::string_view list, unsigned node) {
  while (!list.empty()) {
    const std::size_t comma = list.find(',');
    std::string_view item = list.substr(0, comma);
    list = comma == std::string_view::npos ? std::string_view{} : list.substr(comma + 1);
    unsigned tasks = 0, times = 1;
    if (const std::size_t at = item.find("(x"); at != std::string_view::npos) {
      if (!item.ends_with(')') || !number_in(item.substr(at + 2, item.size() - at - 3), times))
        return 0;
      item = item.substr(0, at);
    }
    if (!number_in(item, tasks)) return 0;
    if (node < times) return tasks;
    node -= times;
  }
  return 0;
}

RankShare launcher_share(Environment environment) {
  for (const LauncherVariables& launcher : k_launchers) {
    RankShare share;
    if (number_of(environment, launcher.size, share.ranks) &&
        number_of(environment, launcher.rank, share.rank) && valid(share)) {
      share.source = launcher.size;
      return share;
    }
  }
  RankShare share;
  return slurm_share(environment, share) && valid(share) ? share : RankShare{};
}

Parsed<RankShare> parse_share(std::string_view text, Environment environment) {
  if (text.empty() || text == "auto") return launcher_share(environment);
  if (text == "off") return RankShare{};
  RankShare share;
  share.source = "OMPTIER_SHARE";
  if (text.starts_with("1/") && number_in(text.substr(2), share.ranks) && valid(share))
    return share;
  return Parsed<RankShare>::failure("\"" + std::string(text.substr(0, 60)) +
                                    "\" is no share; write auto, off, or 1/4 for a quarter");
}

KindLimits limits_of(const Platform& platform, const CapacityByKind& capacity,
                     const RankShare& share, std::uint64_t reserve) {
  KindLimits limits;
  limits.limit = capacity;
  std::array<std::uint64_t, k_memory_kinds> total{}, usable{};
  for (const Node& node : platform.nodes) {
    if (node.kind == MemoryKind::unknown) continue;
    const std::uint64_t kept = reserve_of(node.capacity, reserve);
    total[static_cast<std::size_t>(node.kind)] += node.capacity;
    usable[static_cast<std::size_t>(node.kind)] += node.capacity > kept ? node.capacity - kept : 0;
  }
  if (share.ranks <= 1) return limits;
  std::size_t largest = 0;
  for (std::size_t kind = 1; kind < k_memory_kinds; ++kind)
    if (total[kind] > total[largest]) largest = kind;
  for (std::size_t kind = 0; kind < k_memory_kinds; ++kind)
    if (kind != largest && total[kind] != 0 && !limits.limit[kind]) {
      limits.limit[kind] = usable[kind] / share.ranks;
      limits.shared[kind] = true;
    }
  return limits;
}

} // namespace omptier
