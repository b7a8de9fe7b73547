// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How memory accesses can be sampled here: the perf event is opened as the profiler opens it, the
// devices that sample accesses in hardware are looked for, and the profiler's own choice is asked.
#include "base/os.hpp"
#include "cli/check.hpp"
#include "sampling/source.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <linux/perf_event.h>
#include <unistd.h>

namespace omptier {
namespace {

void check_perf(Findings& findings) {
  const std::string paranoid = first_line("/proc/sys/kernel/perf_event_paranoid");
  const std::string setting =
      paranoid.empty() ? "this kernel has no perf events" : "perf_event_paranoid is " + paranoid;
  perf_event_attr attributes{};
  attributes.size = sizeof attributes;
  attributes.type = PERF_TYPE_SOFTWARE;
  attributes.config = PERF_COUNT_SW_CPU_CLOCK;
  attributes.sample_period = 10'000'000; // nanoseconds
  attributes.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME;
  attributes.disabled = 1;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  const int fd = os().perf_event_open(&attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
  if (fd >= 0) {
    os().close(fd);
    return findings.works("perf events", "CPU_CLOCK opens; " + setting);
  }
  const std::string refused = std::string("CPU_CLOCK refused: ") + std::strerror(errno);
  const bool by_setting = std::atoi(paranoid.c_str()) > 2 && ::geteuid() != 0;
  findings.limited("perf events", refused + "; " + setting,
                   by_setting
                       ? "as root: sysctl kernel.perf_event_paranoid=2 (Debian sets 3); until "
                         "then thread timers are used, up to 250 samples a second"
                       : "a container may refuse it (--cap-add PERFMON); until then thread "
                         "timers are used, up to 250 samples a second");
}

void check_hardware(Findings& findings) {
  struct Unit {
    const char* path;
    const char* name;
  };
  constexpr Unit units[] = {
      {"/sys/bus/event_source/devices/cpu/events/mem-loads", "PEBS load events (cpu/mem-loads)"},
      {"/sys/bus/event_source/devices/cpu_core/events/mem-loads", "PEBS load events"},
      {"/sys/bus/event_source/devices/ibs_op/type", "instruction-based sampling (ibs_op)"},
      {"/sys/bus/event_source/devices/arm_spe_0/type", "statistical profiling (arm_spe_0)"},
  };
  std::string found;
  for (const Unit& unit : units)
    if (::access(unit.path, R_OK) == 0)
      found += (found.empty() ? "" : ", ") + std::string(unit.name);
  if (found.empty())
    findings.limited("hardware events", "no unit that samples memory accesses is visible",
                     "none needed: accesses are found from time samples; hit or miss is not known");
  else
    findings.limited("hardware events", found + "; not used by this version",
                     "none needed: accesses are found from time samples; hit or miss is not known");
}

void check_source(Findings& findings) {
  std::string why;
  if (const auto source = open_sample_source({"auto", 100}, why))
    findings.works("access samples", why);
  else
    findings.fails("access samples", why, "see perf events above; placing works without samples");
}

} // namespace

void check_sampling(Findings& findings) {
  check_perf(findings);
  check_hardware(findings);
  check_source(findings);
}

} // namespace omptier
