// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan in use, through the hooks as libomp calls them, in a machine of DRAM, HBM and NVM: sites
// found by their call stack, instances told apart, the source's own requirement winning, objects
// moved when a region begins and moved out for the next one, the observer told. Pages are counted
// by the kernel.
//     allocators_plan FOLDER    (for the plan file)
#include "borders/observer.h"
#include "objects/modules.hpp"
#include "placement/pages.hpp"
#include "plan/plan.hpp"

#include "../stand_in_runtime.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <string>
#include <unistd.h>
#include <vector>

using namespace omptier;

namespace {

constexpr unsigned k_hbm = 1, k_nvm = 2; // nodes of the preset
constexpr std::size_t k_mib = 1 << 20;
const omptier_hooks* hooks = nullptr;
int checks = 0;

void check(bool good, const char* what) {
  ++checks;
  if (good) return;
  std::fprintf(stderr, "check %d: %s\n", checks, what);
  _exit(1);
}

std::uint64_t on_node(const void* block, std::size_t bytes, unsigned node) {
  PageCensus census;
  count_pages(reinterpret_cast<std::uintptr_t>(block), bytes, census);
  return census.node[node];
}

// Each stands for a place in a program: the return address into it is its site or region. Their
// remarks differ, or gcc would make one function of those that do the same.
const void* last_caller = nullptr;
__attribute__((noinline)) char* omp_alloc_like(std::size_t bytes, std::uintptr_t handle) {
  last_caller = __builtin_return_address(0);
  void* block = nullptr;
  if (!hooks->allocate(bytes, 0, handle, last_caller, &block)) return nullptr;
  return static_cast<char*>(block);
}
__attribute__((noinline)) void fork_like() {
  last_caller = __builtin_return_address(0);
  hooks->region_begin(last_caller, 1);
  hooks->region_end(last_caller);
}
__attribute__((noinline)) char* make_first(std::uintptr_t handle) {
  char* block = omp_alloc_like(24 * k_mib, handle);
  asm volatile("# make_first" ::: "memory");
  return block;
}
__attribute__((noinline)) char* make_second() {
  char* block = omp_alloc_like(24 * k_mib, 1);
  asm volatile("# make_second" ::: "memory");
  return block;
}
__attribute__((noinline)) char* make_unnamed() {
  char* block = omp_alloc_like(24 * k_mib, 1);
  asm volatile("# make_unnamed" ::: "memory");
  return block;
}
__attribute__((noinline)) void region_one() {
  fork_like();
  asm volatile("# region_one" ::: "memory");
}
__attribute__((noinline)) void region_two() {
  fork_like();
  asm volatile("# region_two" ::: "memory");
}
__attribute__((noinline)) void region_unnamed() {
  fork_like();
  asm volatile("# region_unnamed" ::: "memory");
}

// The frame of the place that called last, as a plan names it.
PlanFrame frame_of(const void* address, Plan& plan) {
  const LoadedModule* module = nullptr;
  PlanFrame frame;
  check(identify(reinterpret_cast<ReturnAddress>(address), module, frame.offset), "own module");
  if (plan.modules.empty()) plan.modules.push_back({identity_of(*module), module->name});
  return frame;
}

PlanEntry entry(const char* label, PlanFrame site, std::vector<MemoryKind> kinds, double benefit) {
  PlanEntry e;
  e.label = label;
  e.frames = {site};
  e.kinds = std::move(kinds);
  e.bytes = 24 * k_mib;
  e.benefit = benefit;
  e.reason = "test";
  return e;
}

// First run: learns the addresses of the places and writes the plan.
void write_plan_file(const std::string& path) {
  Plan plan;
  plan.made_by = "test";
  plan.program = "allocators_plan";
  const auto site = [&](auto&& place) {
    place();
    return frame_of(last_caller, plan);
  };
  const PlanFrame first = site([] { make_first(1); }), second = site([] { make_second(); });
  const PlanFrame one = site([] { region_one(); }), two = site([] { region_two(); });
  const auto nvm = MemoryKind::nvm, hbm = MemoryKind::hbm;
  plan.entries.push_back(entry("first", first, {nvm}, 0));
  plan.entries.back().instances = {{0, 0}};
  plan.entries.push_back(entry("first again", first, {hbm, nvm}, 0));
  plan.entries.back().instances = {{1, 1}};
  plan.entries.push_back(entry("second", second, {nvm}, 0));
  plan.entries.push_back(entry("first in one", first, {hbm}, 5));
  plan.entries.back().instances = {{0, 0}};
  plan.entries.back().region = {one};
  plan.entries.push_back(entry("second in two", second, {hbm}, 5));
  plan.entries.back().region = {two};
  std::FILE* file = std::fopen(path.c_str(), "w");
  check(file != nullptr, "plan file");
  const std::string text = write_plan(plan);
  std::fwrite(text.data(), 1, text.size(), file);
  std::fclose(file);
}

struct Moved {
  const void* address;
  std::size_t bytes;
  unsigned from, to;
};
std::vector<Moved> moves;
std::map<const void*, std::size_t> live;

const omptier_observer k_observer = {
    OMPTIER_OBSERVER_VERSION,
    sizeof(omptier_observer),
    [](const void* block, std::size_t bytes, std::uintptr_t, const void*) { live[block] = bytes; },
    [](const void* block) { live.erase(block); },
    nullptr,
    [](const void* address, std::size_t bytes, unsigned from, unsigned to, double seconds,
       int at_barrier) {
      check(seconds > 0 && at_barrier == 0, "a move takes time, and none is at a barrier");
      moves.push_back({address, bytes, from, to});
    }};

void use_plan() {
  const std::size_t bytes = 24 * k_mib;
  char* first = make_first(1);
  check(first != nullptr, "the plan did not place the first");
  std::memset(first, 1, bytes);
  check(on_node(first, bytes, k_nvm) == bytes, "first instance on NVM");
  check(omptier_observe(&k_observer) == 0, "observer");
  check(live.count(first) == 1 && live[first] == bytes, "a live block is reported at once");
  char* again = make_first(1);
  std::memset(again, 2, bytes);
  check(on_node(again, bytes, k_hbm) == bytes, "second instance on HBM");
  check(hooks->release(again, 0) == 1, "release");
  check(live.count(again) == 0, "the observer hears of frees");
  char* third = make_first(1);
  check(third == nullptr, "the third instance is not the plan's");
  char* second = make_second();
  std::memset(second, 3, bytes);
  check(on_node(second, bytes, k_nvm) == bytes, "second site on NVM");
  check(make_unnamed() == nullptr, "an unnamed site is left alone");

  // The source's own requirement wins.
  const omptier_trait required[] = {{5007, 5240}};
  std::uintptr_t handle = 0;
  check(hooks->init_allocator(501, 1, required, &handle) == 1 && handle != 0, "allocator");

  region_unnamed();
  check(moves.empty(), "an unnamed region moves nothing");
  region_one();
  check(on_node(first, bytes, k_hbm) == bytes, "first is on HBM in region one");
  check(moves.size() == 1 && moves[0].address == first && moves[0].bytes == bytes &&
            moves[0].from == 2 && moves[0].to == 1,
        "the observer was told");
  region_one();
  check(moves.size() == 1, "the same region again moves nothing");
  region_two(); // with OMPTIER_CAPACITY=hbm:30M there is room for one only
  check(on_node(second, bytes, k_hbm) == bytes, "second is on HBM in region two");
  check(on_node(first, bytes, k_nvm) == bytes, "first went back to NVM");
  check(moves.size() == 3, "two more moves");
  for (std::size_t i = 0; i < bytes; i += 4096)
    check(first[i] == 1 && second[i] == 3, "bytes survive");
  check(hooks->release(second, 0) == 1 && hooks->release(first, 0) == 1, "release");
  std::printf("plan holds, %d checks\n", checks);
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const std::string path = std::string(argv[1]) + "/allocators_plan.json";
  const bool second_run = std::getenv("OMPTIER_PLAN") != nullptr;
  hooks = attach_stand_in_runtime();
  check(hooks != nullptr, "attach");
  if (second_run) {
    use_plan();
    return 0;
  }
  write_plan_file(path);
  setenv("OMPTIER_PLAN", path.c_str(), 1);
  setenv("OMPTIER_CAPACITY", "hbm:30M", 1);
  execv("/proc/self/exe", argv);
  return 1;
}
