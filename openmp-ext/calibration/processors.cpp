// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See processors.hpp.
#include "calibration/processors.hpp"

#include "base/kernel_files.hpp"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <sched.h>
#include <sstream>

namespace omptier {
namespace {

std::vector<unsigned> siblings_of(unsigned cpu, const std::string& root) {
  return parse_number_list(read_small_file(root + "/devices/system/cpu/cpu" + std::to_string(cpu) +
                                           "/topology/thread_siblings_list"));
}

// Of one group's folder; 0 = no limit. "50000 100000" or "max 100000", else two files of version 1.
double quota_in(const std::string& folder) {
  std::string text = read_small_file(folder + "/cpu.max");
  if (text.empty())
    text = read_small_file(folder + "/cpu.cfs_quota_us") + " " +
           read_small_file(folder + "/cpu.cfs_period_us");
  char* end = nullptr;
  const double quota = std::strtod(text.c_str(), &end);
  const double period = std::strtod(end, nullptr);
  return quota > 0 && period > 0 ? quota / period : 0; // "max", and -1 of version 1
}

// Of a group and those above it. In a container the path may be the host's: folders that are not
// there limit nothing.
double least_quota(const std::string& mount, std::string path) {
  double least = 0;
  while (true) {
    const double quota = quota_in(mount + path);
    if (quota > 0 && (least == 0 || quota < least)) least = quota;
    if (path.empty()) return least;
    path.erase(path.find_last_of('/') == path.npos ? 0 : path.find_last_of('/'));
  }
}

bool names_cpu(const std::string& controllers) {
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');)
    if (name == "cpu") return true;
  return false;
}

} // namespace

std::vector<unsigned> allowed_processors() {
  constexpr int k_most = 1 << 16;
  std::vector<unsigned> cpus;
  cpu_set_t* const set = CPU_ALLOC(k_most);
  if (set == nullptr) return cpus;
  const std::size_t bytes = CPU_ALLOC_SIZE(k_most);
  CPU_ZERO_S(bytes, set);
  if (::sched_getaffinity(0, bytes, set) == 0)
    for (unsigned cpu = 0; cpu < k_most; ++cpu)
      if (CPU_ISSET_S(cpu, bytes, set)) cpus.push_back(cpu);
  CPU_FREE(set);
  return cpus;
}

std::vector<std::size_t> positions_in_cores(const std::vector<unsigned>& cpus,
                                            const std::string& root) {
  std::map<unsigned, std::size_t> seen; // by the first hardware thread of a core
  std::vector<std::size_t> positions;
  for (const unsigned cpu : cpus) {
    const std::vector<unsigned> core = siblings_of(cpu, root);
    positions.push_back(seen[core.empty() ? cpu : core.front()]++);
  }
  return positions;
}

std::vector<unsigned> spread_over_cores(const std::vector<unsigned>& cpus, std::size_t count,
                                        bool alone, const std::string& root) {
  const std::vector<std::size_t> positions = positions_in_cores(cpus, root);
  std::vector<unsigned> order, cores;
  for (std::size_t round = 0; order.size() < cpus.size(); ++round) {
    for (std::size_t i = 0; i < cpus.size(); ++i)
      if (positions[i] == round) order.push_back(cpus[i]);
    if (round == 0) cores = order;
  }
  if (count <= cores.size()) {
    std::vector<unsigned> spread;
    for (std::size_t i = 0; i < count; ++i)
      spread.push_back(cores[i * cores.size() / count]);
    return spread;
  }
  if (alone && cores.size() > 1) {
    const std::vector<unsigned> beside = siblings_of(order.front(), root);
    std::erase_if(order, [&](unsigned cpu) {
      return cpu != order.front() && std::ranges::find(beside, cpu) != beside.end();
    });
  }
  order.resize(std::min(count, order.size()));
  return order;
}

double cpu_quota(const std::string& groups, const std::string& root) {
  double least = 0;
  std::istringstream lines(read_small_file(groups));
  for (std::string line; std::getline(lines, line);) { // "0::/path" or "4:cpu,cpuacct:/path"
    const std::size_t controllers = line.find(':');
    const std::size_t at = controllers == line.npos ? line.npos : line.find(':', controllers + 1);
    if (at == line.npos) continue;
    const std::string names = line.substr(controllers + 1, at - controllers - 1);
    std::string path = line.substr(at + 1);
    if (path == "/") path.clear();
    std::vector<std::string> mounts;
    if (names.empty())
      mounts = {root, root + "/unified"};
    else if (names_cpu(names))
      mounts = {root + "/" + names, root + "/cpu"};
    for (const std::string& mount : mounts)
      if (const double quota = least_quota(mount, path); quota > 0 && (least == 0 || quota < least))
        least = quota;
  }
  return least;
}

} // namespace omptier
