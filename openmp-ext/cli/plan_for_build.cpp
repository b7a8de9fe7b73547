// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Looks up a plan's frames in another build of the program.
#include "cli/plan_for_build.hpp"

#include "symbols/symbols.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>

namespace omptier {
namespace {

// The C library's start code and other frames outside of main: they are the same for all
// allocations, and on most systems have no debug information.
bool is_outside_of_main(const std::vector<PlanFrame>& frames, std::size_t at) {
  if (frames[at].portable.function == "_start") return true;
  return std::any_of(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(at),
                     [](const PlanFrame& frame) { return frame.portable.function == "main"; });
}

class Search {
public:
  Search(std::uint32_t old_module, ModuleInfo now)
      : old_module_(old_module), now_(std::move(now)) {}

  // Gives the frames of the rebuilt module their new offsets, outermost first, since an outer call
  // determines which function an inner frame is in. Frames outside of main that are not found are
  // dropped: a site is matched by the inner end of its stack. Returns "" or why a frame is not
  // found.
  std::string renew(std::vector<PlanFrame>& frames) {
    std::uint64_t called = 0;
    for (std::size_t at = frames.size(); at-- > 0;) {
      PlanFrame& frame = frames[at];
      if (frame.module != old_module_) {
        called = 0;
        continue;
      }
      const auto call = symbols_.find_call(now_, frame.portable, called);
      if (call) {
        frame.offset = call->offset;
        called = call->target;
      } else if (at > 0 && at + 1 == frames.size() && is_outside_of_main(frames, at)) {
        frames.pop_back();
      } else {
        return call.error();
      }
    }
    return {};
  }

  bool concerns(const std::vector<PlanFrame>& frames) const {
    return std::ranges::find(frames, old_module_, &PlanFrame::module) != frames.end();
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

bool names_module(const PlanEntry& entry, std::uint32_t module) {
  const auto is_it = [&](const PlanFrame& frame) { return frame.module == module; };
  return std::ranges::any_of(entry.frames, is_it) ||
         (!entry.symbol.empty() && entry.symbol_module == module);
}

// Entries match whole stacks, and most stacks begin in the program's own file.
bool needs_its_program(const Plan& plan) {
  const auto own = std::ranges::find(plan.modules, plan.program, &PlanModule::name);
  if (own == plan.modules.end() || plan.entries.empty() || !plan.rest.empty()) return false;
  const auto number = static_cast<std::uint32_t>(own - plan.modules.begin());
  return std::ranges::all_of(
      plan.entries, [&](const PlanEntry& entry) { return names_module(entry, number); });
}

} // namespace

PlanForBuild plan_for_build(const Plan& plan, const std::string& program) {
  PlanForBuild result;
  result.plan = plan;
  const std::string name = std::filesystem::path(program).filename().string();
  const std::string identity = identity_of_file(program);
  const auto module = std::ranges::find(plan.modules, name, &PlanModule::name);
  if (identity.empty() || std::ranges::find(plan.modules, identity, &PlanModule::identity) !=
                              plan.modules.end())
    return result;
  if (module == plan.modules.end()) {
    result.of_another_program = needs_its_program(plan);
    return result;
  }

  result.same_build = false;
  const auto number = static_cast<std::uint32_t>(module - plan.modules.begin());
  const std::string path = std::filesystem::absolute(program).string();
  Search search(number, {identity, name, path, 0, false});
  result.plan.modules[number].identity = identity;
  result.plan.entries.clear();
  std::vector<const PlanEntry*> before; // the old entry of each new one
  for (const PlanEntry& old : plan.entries) {
    PlanEntry entry = old;
    std::string why = search.renew(entry.frames);
    if (why.empty() && !entry.region.empty()) why = search.renew(entry.region);
    // Two different sites must not become one.
    for (std::size_t i = 0; i < before.size() && why.empty(); ++i)
      if (same_frames(result.plan.entries[i].frames, entry.frames) &&
          !same_frames(before[i]->frames, old.frames))
        why = "cannot be distinguished from " + before[i]->label;
    if (!why.empty()) {
      result.lost.push_back({old.label, why});
      continue;
    }
    result.by_name += search.concerns(old.frames) || search.concerns(old.region) ? 1 : 0;
    result.plan.entries.push_back(std::move(entry));
    before.push_back(&old);
  }
  return result;
}

void report_rebuilt(const char* command, const PlanForBuild& now, const Plan& plan,
                    const char* since) {
  std::fprintf(stderr,
               "omptier %s: the program was rebuilt since %s: %u of %zu entries found again by "
               "name\n",
               command, since, now.by_name, plan.entries.size());
}

void report_lost(const char* command, const PlanForBuild& now) {
  for (const LostEntry& entry : now.lost)
    std::fprintf(stderr, "omptier %s: left unplaced: %s: %s\n", command, entry.label.c_str(),
                 entry.why.c_str());
}

} // namespace omptier
