// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Chooses a source: exact counts, else the hardware's (the virtual machine's, then the
// processor's), else perf, else timers. A source requested by name is not replaced by another.

#include "sampling/sources.hpp"

namespace omptier {

std::unique_ptr<SampleSource> open_sample_source(const SourceRequest& request, std::string& why) {
  why.clear();
  if (request.which == "none") {
    why = "access samples are switched off";
    return nullptr;
  }
  bool any = request.which == "auto" || request.which.empty();
  if (!any && request.which != "exact" && request.which != "machine" &&
      request.which != "hardware" && request.which != "perf" && request.which != "timer") {
    why = "no source of samples is called '" + request.which +
          "'; write auto, exact, machine, hardware, perf, timer or none";
    return nullptr;
  }
  double rate = request.rate >= 1 && request.rate <= 100'000 ? request.rate : 100;
  std::unique_ptr<SampleSource> source;
  std::string refusals;
  auto take = [&](std::unique_ptr<SampleSource> opened, const std::string& reason) {
    source = std::move(opened);
    if (!source) refusals += (refusals.empty() ? "" : "; ") + reason;
  };
  // That a program is not instrumented is reported only if "exact" was requested.
  if (std::string reason; any || request.which == "exact") {
    source = open_exact_source(reason);
    if (!source && !any) refusals = reason;
  }
  if (std::string reason; !source && (any || request.which == "machine"))
    take(open_machine_source(reason), reason);
  if (std::string reason; !source && (any || request.which == "hardware"))
    take(open_hardware_source(rate, reason), reason);
  if (std::string reason; !source && (any || request.which == "perf"))
    take(open_perf_source(rate, reason), reason);
  if (std::string reason; !source && (any || request.which == "timer"))
    take(open_timer_source(rate, reason), reason);
  if (!source)
    why = "no access samples: " + refusals;
  else
    why = std::string("access samples by ") + source->name() +
          (refusals.empty() ? "" : " (" + refusals + ")");
  return source;
}

} // namespace omptier
