// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libomptier.so on nodes that are not there (unit/made_up_nodes.hpp): DRAM, and HBM with room for
// one of the arrays of barriers_cases.c. libomp loads it as its own, so barriers are real ones;
// where pages lie is made up. Counts the pages that move while the program says that its threads
// work.
#include "../unit/made_up_nodes.hpp"
#include "allocators/runtime.hpp"
#include "base/options.hpp"
#include "plan/plan.hpp"

#include <cstdio>
#include <dlfcn.h>

namespace omptier {
namespace {

constexpr std::uint64_t k_mib = std::uint64_t{1} << 20;

std::atomic<int>* working = nullptr; // the program's
std::atomic<unsigned long>* moved_while_working = nullptr;

int watch(std::uintptr_t, int, int) {
  if (working->load() != 0) ++*moved_while_working;
  return 0;
}

Platform two_nodes() {
  Platform platform;
  Node dram, hbm;
  dram.kind = MemoryKind::dram;
  dram.cpus = {0};
  hbm.number = 1;
  hbm.kind = MemoryKind::hbm;
  dram.capacity = hbm.capacity = 1024 * k_mib;
  platform.nodes = {dram, hbm};
  platform.tiers = {{MemoryKind::hbm, {1}, hbm.capacity, {}},
                    {MemoryKind::dram, {0}, dram.capacity, {}}};
  return platform;
}

template <typename T> void find(T*& of_program, const char* name) {
  of_program = static_cast<T*>(::dlsym(RTLD_DEFAULT, name));
}

__attribute__((constructor)) void start() {
  find(working, "working");
  find(moved_while_working, "moved_while_working");
  static OsCalls calls = made_up_nodes::calls();
  replace_os_calls(&calls);
  if (working != nullptr && moved_while_working != nullptr) made_up_nodes::verdict = watch;
  // In use until libomp ends, behind all destructors.
  const auto& plan = *new const Parsed<Plan>(read_plan(option_text(Option::plan)));
  if (!plan) {
    std::fprintf(stderr, "%s\n", plan.error().c_str());
    return;
  }
  const auto& placement = *new const PlanPlacement(*plan);
  CapacityByKind capacity;
  capacity[static_cast<std::size_t>(MemoryKind::hbm)] = 10 * k_mib;
  restart_runtime_for_tests(two_nodes(), capacity, {}, &placement);
}

} // namespace
} // namespace omptier
