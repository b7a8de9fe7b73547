// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plan reader, which runs inside strangers' processes. The input is the file. What is refused
// is refused in one line; what is read is written so that it reads the same again.

#include "wrong.hpp"

#include "plan/plan.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace omptier;
  const auto plan = parse_plan({reinterpret_cast<const char*>(data), size}, "fuzzed");
  if (!plan) return check_refusal(plan.error()), 0;
  for (const PlanEntry& entry : plan->entries) {
    if (entry.kinds.empty() || entry.frames.empty() == entry.symbol.empty())
      wrong("an entry that cannot be applied was read:", entry.label);
    for (const PlanFrame& frame : entry.frames)
      if (frame.module >= plan->modules.size()) wrong("a frame in no module:", entry.label);
  }
  const std::string written = write_plan(*plan);
  const auto again = parse_plan(written, "written");
  if (!again) wrong("what was written cannot be read:", again.error() + "\n" + written);
  if (write_plan(*again) != written) wrong("read back, the plan is another one:", written);
  return 0;
}
