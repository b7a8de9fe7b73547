// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reader of platform files, which runs inside strangers' processes. The input is the file. What
// is refused is refused in one line; what is read is written so that it reads the same again, and
// its figures make a platform.
#include "platform/platform_file.hpp"
#include "wrong.hpp"

#include <algorithm>
#include <cmath>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace omptier;
  const auto file = parse_platform_file({reinterpret_cast<const char*>(data), size}, "fuzzed");
  if (!file) return check_refusal(file.error()), 0;
  const std::string written = write_platform_file(*file);
  const auto again = parse_platform_file(written, "written");
  if (!again) wrong("what was written cannot be read:", again.error() + "\n" + written);
  if (write_platform_file(*again) != written) wrong("read back, the file is another one:", written);
  if (const std::string why = difference_between(again->machine, file->machine); !why.empty())
    wrong("read back, the machine is another one:", why);
  MachineFacts facts;
  for (const KeyNode& node : file->machine.nodes)
    facts.nodes.push_back({node.number, node.bytes, node.cpus, {}, MemoryOrigin::unknown, {}, {}});
  for (const MeasuredNode& node : apply_measured(*file, facts))
    if (facts.node(node.number) == nullptr || facts.node(node.number)->views.empty())
      wrong("a measured node has no figures:", written);
  for (const NodeFacts& node : facts.nodes)
    for (const InitiatorView& view : node.views)
      if (view.cpus.empty() || !std::ranges::is_sorted(view.cpus) || !(view.figures.block > 0) ||
          !std::isfinite(view.figures.read_latency + view.figures.read_bandwidth))
        wrong("a view that cannot be used was read:", written);
  return 0;
}
