// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Looks up a plan's frames in another build of the program.
#include "cli/plan_for_build.hpp"

#include "profile/symbols.hpp"

#include <algorithm>
#include <filesystem>

namespace omptier {
namespace {

class Search {
public:
  Search(std::uint32_t old_module, ModuleInfo now)
      : old_module_(old_module), now_(std::move(now)) {}

  // Gives the frames of the rebuilt module their new offsets; false when one is not found.
  bool renew(std::vector<PlanFrame>& frames, bool& changed) {
    for (PlanFrame& frame : frames) {
      if (frame.module != old_module_) continue;
      if (frame.portable.function.empty()) return false;
      const auto offset = symbols_.find_call(now_, frame.portable.function, frame.portable.ordinal);
      if (!offset) return false;
      frame.offset = *offset;
      changed = true;
    }
    return true;
  }

private:
  std::uint32_t old_module_;
  ModuleInfo now_;
  Symbols symbols_;
};

bool same_frames(const std::vector<PlanFrame>& a, const std::vector<PlanFrame>& b) {
  return std::ranges::equal(a, b, [](const PlanFrame& x, const PlanFrame& y) {
    return x.module == y.module && x.offset == y.offset;
  });
}

} // namespace

PlanForBuild plan_for_build(const Plan& plan, const std::string& program) {
  PlanForBuild result{plan, true, 0, {}};
  const std::string name = std::filesystem::path(program).filename().string();
  const std::string identity = identity_of_file(program);
  const auto module = std::ranges::find(plan.modules, name, &PlanModule::name);
  if (identity.empty() || module == plan.modules.end() || module->identity == identity)
    return result;

  result.same_build = false;
  const auto number = static_cast<std::uint32_t>(module - plan.modules.begin());
  Search search(number, {identity, name, program, 0, false});
  result.plan.modules[number].identity = identity;
  result.plan.entries.clear();
  std::vector<const PlanEntry*> before; // what each renewed entry was made from
  for (const PlanEntry& old : plan.entries) {
    PlanEntry entry = old;
    bool changed = false;
    bool found = search.renew(entry.frames, changed) && search.renew(entry.region, changed);
    // Two sites that were different must not become one.
    for (std::size_t i = 0; i < before.size() && found; ++i)
      found = !same_frames(result.plan.entries[i].frames, entry.frames) ||
              same_frames(before[i]->frames, old.frames);
    if (!found) {
      result.lost.push_back(old.label);
      continue;
    }
    result.by_name += changed ? 1 : 0;
    result.plan.entries.push_back(std::move(entry));
    before.push_back(&old);
  }
  return result;
}

} // namespace omptier
