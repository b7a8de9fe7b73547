// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See runtime_site.hpp.
#include "analysis/runtime_site.hpp"

#include "objects/modules.hpp"

namespace omptier {
namespace {

bool is_runtime(const ModuleInfo& module) {
  return is_runtime_name(module.name.c_str());
}

} // namespace

bool is_runtimes(const ModuleInfo& module) {
  return is_runtime(module) || is_support_name(module.name.c_str());
}

bool is_runtimes(const Profile& profile, const SiteRecord& site) {
  if (site.frames.empty()) return false; // stacks, the heap
  constexpr std::uint32_t k_program = 0; // its module, whatever the program is called
  bool called_by_runtime = false, support_alone = site.frames.size() == 1;
  for (const Frame& frame : site.frames) {
    const ModuleInfo& module = profile.modules[frame.module];
    if (frame.module == k_program) return false;
    called_by_runtime = is_runtime(module);
    support_alone = support_alone && is_runtimes(module);
    if (!called_by_runtime && !support_alone && !module.system) return false;
  }
  return called_by_runtime || support_alone;
}

} // namespace omptier
