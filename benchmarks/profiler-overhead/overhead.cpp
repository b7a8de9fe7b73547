// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How much slower is one command than another? Meant for a program and the same program recorded:
//
//   profiler_overhead [--pairs N] [--limit R] [--measure wall|cpu] -- COMMAND… --against COMMAND…
//   profiler_overhead -- neutron_lookup --against omptier record -o /dev/null -- neutron_lookup
//
// Both run in N pairs (default 10), the order within a pair alternating, after one run of each that
// does not count. Threads are bound (OMP_PROC_BIND, unless set already). Printed: the median of the
// pairs' ratios and the upper bound of its one-sided 95 % interval by bootstrap, for wall-clock
// time and for CPU time of all threads (the helper thread's included). Status 1 if the bound of
// what
// --measure names (default wall) exceeds the limit (default 1.03), 125 if a command fails.

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <random>
#include <spawn.h>
#include <string>
#include <sys/resource.h>
#include <sys/wait.h>
#include <vector>

extern char** environ;

namespace {

struct Spent {
  double wall = 0, cpu = 0; // seconds
};

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
}

double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// Runs the command with its output thrown away; ends this program if that fails.
Spent run(const std::vector<char*>& command) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  double begin = now();
  int error = posix_spawnp(&child, command[0], &actions, nullptr, command.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  if (error) {
    std::fprintf(stderr, "profiler_overhead: %s: %s\n", command[0], strerror(error));
    std::exit(125);
  }
  int status = 0;
  rusage usage;
  while (wait4(child, &status, 0, &usage) < 0 && errno == EINTR) {
  }
  double wall = now() - begin;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    std::fprintf(stderr, "profiler_overhead: %s failed (wait status %#x)\n", command[0], status);
    std::exit(125);
  }
  return {wall, seconds(usage.ru_utime) + seconds(usage.ru_stime)};
}

double quantile(std::vector<double> values, double q) {
  std::sort(values.begin(), values.end());
  double place = q * static_cast<double>(values.size() - 1);
  auto low = static_cast<std::size_t>(place);
  std::size_t high = std::min(low + 1, values.size() - 1);
  return values[low] + (place - static_cast<double>(low)) * (values[high] - values[low]);
}

// Upper end of the one-sided 95 % interval of the median, by resampling the pairs.
double upper_bound(const std::vector<double>& ratios) {
  std::mt19937_64 random(1);
  std::uniform_int_distribution<std::size_t> pick(0, ratios.size() - 1);
  std::vector<double> medians, sample(ratios.size());
  for (int i = 0; i < 10'000; ++i) {
    for (double& ratio : sample)
      ratio = ratios[pick(random)];
    medians.push_back(quantile(sample, 0.5));
  }
  return quantile(medians, 0.95);
}

int usage() {
  std::fprintf(stderr, "usage: profiler_overhead [--pairs N] [--limit R] [--measure wall|cpu] -- "
                       "COMMAND... --against COMMAND...\n");
  return 2;
}

} // namespace

int main(int count, char** arguments) {
  int pairs = 10, at = 1;
  double limit = 1.03;
  std::string measure = "wall";
  for (; at < count && std::strcmp(arguments[at], "--") != 0; at += 2) {
    std::string option = arguments[at];
    if (at + 1 >= count) return usage();
    if (option == "--pairs")
      pairs = std::atoi(arguments[at + 1]);
    else if (option == "--limit")
      limit = std::atof(arguments[at + 1]);
    else if (option == "--measure")
      measure = arguments[at + 1];
    else
      return usage();
  }
  std::vector<char*> commands[2];
  int side = 0;
  for (++at; at < count; ++at) {
    if (side == 0 && std::strcmp(arguments[at], "--against") == 0)
      side = 1;
    else
      commands[side].push_back(arguments[at]);
  }
  if (pairs < 2 || commands[0].empty() || commands[1].empty()) return usage();
  if (measure != "wall" && measure != "cpu") return usage();
  for (auto& command : commands)
    command.push_back(nullptr);
  setenv("OMP_PROC_BIND", "true", 0);

  run(commands[0]);
  run(commands[1]);
  std::vector<double> wall, cpu;
  for (int pair = 0; pair < pairs; ++pair) {
    Spent spent[2];
    for (int i = 0; i < 2; ++i) {
      int which = (pair + i) % 2;
      spent[which] = run(commands[which]);
    }
    wall.push_back(spent[1].wall / spent[0].wall);
    cpu.push_back(spent[1].cpu / spent[0].cpu);
    std::printf("pair %d: wall %.3f s and %.3f s, ratio %.4f; CPU %.3f s and %.3f s, ratio %.4f\n",
                pair + 1, spent[0].wall, spent[1].wall, wall.back(), spent[0].cpu, spent[1].cpu,
                cpu.back());
    std::fflush(stdout);
  }
  double wall_bound = upper_bound(wall), cpu_bound = upper_bound(cpu);
  std::printf("wall: median ratio %.4f, upper 95 %% bound %.4f\n", quantile(wall, 0.5), wall_bound);
  std::printf("CPU:  median ratio %.4f, upper 95 %% bound %.4f\n", quantile(cpu, 0.5), cpu_bound);
  double judged = measure == "wall" ? wall_bound : cpu_bound;
  std::printf("%s: %s bound %.4f, limit %.4f\n", judged <= limit ? "good" : "too much",
              measure.c_str(), judged, limit);
  return judged <= limit ? 0 : 1;
}
