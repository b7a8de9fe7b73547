// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How memory accesses can be sampled here: opens perf's events as the profiler does, and reports
// the source that the profiler would choose.
#include "base/kernel_files.hpp"
#include "base/os.hpp"
#include "cli/check.hpp"
#include "sampling/hardware_events.hpp"
#include "sampling/source.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <linux/perf_event.h>
#include <unistd.h>

namespace omptier {
namespace {

void check_perf(Findings& findings) {
  const std::string paranoid = read_small_file("/proc/sys/kernel/perf_event_paranoid");
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
  if (!k_decodes_instructions)
    return findings.limited("perf events", refused + "; " + setting, "see access samples below");
  const bool by_setting = std::atoi(paranoid.c_str()) > 2 && ::geteuid() != 0;
  findings.limited("perf events", refused + "; " + setting,
                   by_setting
                       ? "as root: sysctl kernel.perf_event_paranoid=2 (Debian sets 3); until "
                         "then thread timers are used, up to 250 samples a second"
                       : "a container may refuse it (--cap-add PERFMON); until then thread "
                         "timers are used, up to 250 samples a second");
}

void check_hardware(Findings& findings) {
  std::string why;
  const HardwareUnit unit = find_hardware_unit(why);
  if (!unit.events.empty())
    return findings.works("hardware events", std::string(unit.name) + " samples memory accesses");
  const bool none = why == "no such event";
  findings.limited("hardware events",
                   none ? "no such event: the kernel shows neither PEBS (cpu/mem-loads) nor IBS "
                          "(ibs_op) nor SPE (arm_spe_0), as in most virtual machines"
                        : why,
                   !k_decodes_instructions ? "see access samples below"
                   : none ? "none needed: accesses are found from time samples, hit or miss by "
                            "watchpoints"
                          : "see perf events above; until then accesses are found from time samples");
}

void check_source(Findings& findings) {
  std::string why;
  if (const auto source = open_sample_source({"auto", 100}, why))
    findings.works("access samples", why);
  else if (!k_decodes_instructions)
    findings.limited("access samples", why,
                     "they need the processor's own events here (ARM SPE, which perf must be "
                     "allowed to open); without them a profile has allocations and regions, and "
                     "placing works");
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
