// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A range goes to the first tier of the wanted kind that has room. A block of ours moves as a whole
// and keeps the NUMA policy of its range, as in the moves of a plan's regions.
#include "allocators/existing_memory.hpp"

#include "allocators/allocation.hpp"
#include "base/notices.hpp"
#include "base/options.hpp"
#include "objects/statics.hpp"

#include <cerrno>

namespace omptier {
namespace {

int errno_of(RangeResult result) {
  switch (result) {
  case RangeResult::placed:
    return 0;
  case RangeResult::no_pages:
    return EINVAL;
  case RangeResult::no_room:
    return ENOSPC;
  case RangeResult::not_mapped:
    return ENOMEM;
  case RangeResult::refused:
    return EPERM;
  case RangeResult::partly:
  case RangeResult::shared:
    return EAGAIN;
  }
  return EINVAL;
}

int errno_of(MoveResult result) {
  switch (result) {
  case MoveResult::moved:
    return 0;
  case MoveResult::no_room:
    return ENOSPC;
  case MoveResult::refused:
    return EPERM;
  case MoveResult::stays:
  case MoveResult::held:
    return EAGAIN;
  }
  return EINVAL;
}

// The module of this process that the plan means: the same build, else the module of the same name,
// because statics keep their names across builds.
const LoadedModule* module_for(const PlanModule& wanted) {
  const LoadedModule* by_name = nullptr;
  for (unsigned number = 0; number < module_count(); ++number) {
    const LoadedModule& module = module_at(number);
    if (!module.loaded.load(std::memory_order_relaxed)) continue;
    if (wanted.identity == identity_of(module)) return &module;
    if (by_name == nullptr && !wanted.name.empty() && wanted.name == module.name) by_name = &module;
  }
  return by_name;
}

const char* describe(StaticSearch result) {
  switch (result) {
  case StaticSearch::found:
    return "found";
  case StaticSearch::unknown:
    return "the module has no static of that name";
  case StaticSearch::several:
    return "the module has several statics of that name";
  case StaticSearch::no_symbols:
    return "the module's file has no symbol table (stripped; install its debug information)";
  }
  return "";
}

const char* describe(RangeResult result) {
  switch (result) {
  case RangeResult::placed:
    return "placed";
  case RangeResult::no_pages:
    return "no page is wholly its own";
  case RangeResult::no_room:
    return "there is no room";
  case RangeResult::not_mapped:
    return "it is not in memory";
  case RangeResult::refused:
    return "the kernel refuses to move pages";
  case RangeResult::partly:
    return "the kernel did not move them";
  case RangeResult::shared:
    return "pages of the file that other processes use too";
  }
  return "";
}

// missing: bytes that did not arrive.
RangeResult place_on_kinds(Placer& placer, const StaticObject& object, const PlanEntry& entry,
                           std::uint32_t number, MemoryKind& kind, std::uint64_t& missing) {
  RangeResult result = RangeResult::no_room;
  for (const MemoryKind wanted : entry.kinds)
    for (std::size_t tier = 0; tier < placer.tier_count(); ++tier) {
      if (placer.kind_of_tier(tier) != wanted) continue;
      kind = wanted;
      result = runtime().placed_ranges.place(placer, object.begin, object.bytes, tier,
                                             object.in_file, number, missing);
      if (result != RangeResult::no_room) return result;
    }
  return result;
}

void place_static(Placer& placer, const LoadedModule& module, const PlanEntry& entry,
                  std::uint32_t number) {
  StaticObject object;
  const char* const name = entry.symbol.c_str();
  RangeResult result = RangeResult::no_room;
  MemoryKind kind = MemoryKind::unknown;
  std::uint64_t missing = 0;
  placer.job().enter();
  const StaticSearch search = find_static(module, name, object);
  if (search == StaticSearch::found)
    result = place_on_kinds(placer, object, entry, number, kind, missing);
  if (search == StaticSearch::found && result == RangeResult::placed)
    inform(Notice::static_placed, "Static %s: %zu bytes, its whole pages in %s.", name,
           object.bytes, title_of(kind).data());
  else if (missing != 0)
    warn_once_of(Notice::static_partly, module.name + ("." + entry.symbol),
                 "Static %s in %s: %llu of its %zu bytes are not in %s: %s; they stay where they "
                 "are.",
                 name, module.name, static_cast<unsigned long long>(missing), object.bytes,
                 title_of(kind).data(), describe(result));
  else
    warn_once_of(Notice::static_not_placed, module.name + ("." + entry.symbol),
                 "Static %s in %s: %s: it stays where the program has it.", name, module.name,
                 search != StaticSearch::found ? describe(search) : describe(result));
}

} // namespace

int move_own_block(Placer& placer, const void* begin, std::size_t bytes, MemoryKind kind) {
  BlockInfo block;
  if (!placer.find(begin, true, block) || bytes < block.bytes || !block.large) return EINVAL;
  if (block.charged != kind) {
    if (block.required || block.locked || block.split || !block.space->moves_pages()) return EINVAL;
    std::uint64_t moved = 0;
    const MoveResult result = placer.move_block(begin, kind, moved);
    if (result != MoveResult::moved) return errno_of(result);
  }
  PageCensus census;
  if (!count_pages(block.begin, block.bytes, census)) return EPERM;
  std::uint64_t there = 0;
  for (unsigned node = 0; node < k_max_nodes; ++node)
    if (placer.kind_of_node(node) == kind) there += census.node[node];
  return there == census.present() ? 0 : EAGAIN;
}

void place_statics_of_plan() {
  const Plan* const plan = runtime().plan_text();
  if (plan == nullptr) return; // reported when the first allocation needs it
  refresh_modules();
  const bool strict = option_flag(Option::strict);
  for (std::uint32_t i = 0; i < plan->entries.size(); ++i) {
    if (plan->entries[i].symbol.empty()) continue;
    const PlanModule& wanted = plan->modules[plan->entries[i].symbol_module];
    const LoadedModule* module = module_for(wanted);
    if (module == nullptr || (strict && wanted.identity != identity_of(*module))) continue;
    Placer* placer = runtime().placer();
    if (placer != nullptr) place_static(*placer, *module, plan->entries[i], i + 1);
  }
}

int place_range(void* begin, std::size_t bytes, OmpValue handle) {
  Runtime& state = runtime();
  Allocator* allocator = state.allocators.find(handle);
  const auto at = reinterpret_cast<std::uintptr_t>(begin);
  if (begin == nullptr || allocator == nullptr || at + bytes < at ||
      allocator->space == Space::automatic || allocator->space == Space::standard_default)
    return EINVAL;
  Placer* placer = state.placer();
  if (placer == nullptr) return ENOENT;
  const TierOrder tiers = tiers_of(*placer, *allocator);
  const MemoryKind wanted = wanted_kind(*allocator);
  if (tiers.empty()) return ENOENT;
  const MemoryKind kind = placer->kind_of_tier(tiers.front());
  if (wanted != MemoryKind::unknown && kind != wanted) return ENOENT;
  if (placer->holds(begin)) return move_own_block(*placer, begin, bytes, kind);
  placer->job().enter();
  std::uint64_t missing = 0;
  RangeResult result = RangeResult::no_room;
  for (const std::size_t tier : tiers)
    if (result == RangeResult::no_room && placer->kind_of_tier(tier) == kind)
      result = state.placed_ranges.place(*placer, at, bytes, tier, false, 0, missing);
  return errno_of(result);
}

} // namespace omptier
