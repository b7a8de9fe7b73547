// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine/timing/core.h"

#include <stddef.h>
#include <string.h>

static double later(double a, double b) {
  return a > b ? a : b;
}

void core_create(struct core* core, const struct configuration* configuration) {
  memset(core, 0, sizeof *core);
  core->instruction = configuration->instruction;
  core->wrong_branch = configuration->wrong_branch;
  core->window = configuration->window;
  core->outstanding = configuration->outstanding;
  core->stores = configuration->stores;
  core->prefetched = configuration->prefetched;
}

void core_clear(struct core* core) {
  memset(&core->now, 0, sizeof *core - offsetof(struct core, now));
}

static double known_at(const struct core* core, block_sources sources) {
  double known = 0;
  for (; sources != 0; sources &= sources - 1) {
    int bit = __builtin_ctzll(sources);
    known = later(known, bit < k_registers ? core->registers[bit] : core->loads[bit - 32]);
  }
  return known;
}

// The registers after the block that has been executed.
static void end_block(struct core* core) {
  const struct block* block = core->block;
  double values[k_registers];
  for (uint32_t i = 0; i < block->change_count; i++)
    values[i] = known_at(core, block->changes[i].sources);
  for (uint32_t i = 0; i < block->change_count; i++)
    core->registers[block->changes[i].reg] = values[i];
}

static void wait_for_oldest(struct core* core) {
  core->now = later(core->now, core->waiting[core->first_waiting].end);
  core->first_waiting = (core->first_waiting + 1) % k_most_outstanding;
  core->waiting_count--;
}

void core_instructions(struct core* core, uint32_t count) {
  core->position += count;
  core->now += count * core->instruction;
  while (core->waiting_count > 0) {
    const struct miss_in_flight* oldest = &core->waiting[core->first_waiting];
    if (oldest->end > core->now && core->position - oldest->position <= core->window) break;
    wait_for_oldest(core);
  }
}

// Two-bit counters by address and history (McFarling's gshare).
static bool is_predicted(struct core* core, uint64_t address, bool taken) {
  uint64_t at = (address ^ address >> 14 ^ (uint64_t)core->history << 4) % k_branches_kept;
  uint8_t* prediction = &core->predictions[at];
  bool right = (*prediction >= 2) == taken;
  if (taken && *prediction < 3) ++*prediction;
  if (!taken && *prediction > 0) --*prediction;
  core->history = (core->history << 1 | taken) & ((1u << k_history) - 1);
  return right;
}

void core_block(struct core* core, const struct block* block) {
  const struct block* before = core->block;
  if (before) {
    const bool waits = core->pending > core->now;
    const double known = waits && before->branches ? known_at(core, before->condition) : 0;
    if (waits) end_block(core);
    if (before->branches && !is_predicted(core, before->end, block->begin != before->end))
      core->now = later(core->now, known) + core->wrong_branch;
  }
  core->block = block;
  core_instructions(core, block->instructions);
}

static void value_comes(struct core* core, const struct block_access* access, double time) {
  if (access->load >= 0) core->loads[access->load] = time;
  core->pending = later(core->pending, time);
}

void core_hit(struct core* core, const struct block_access* access) {
  if (core->pending <= core->now || access->load < 0) return;
  core->loads[access->load] = known_at(core, access->address);
}

static uint32_t first_to_end(const double* ends, uint32_t count) {
  uint32_t first = 0;
  for (uint32_t i = 1; i < count; i++)
    if (ends[i] < ends[first]) first = i;
  return first;
}

static void retires_after(struct core* core, double end) {
  if (core->waiting_count == k_most_outstanding) wait_for_oldest(core);
  core->waiting[(core->first_waiting + core->waiting_count++) % k_most_outstanding] =
      (struct miss_in_flight){core->position, end};
}

struct core_miss core_load(struct core* core, const struct block_access* access) {
  const uint32_t at = first_to_end(core->ends, core->outstanding);
  const double known = later(core->now, known_at(core, access->address));
  return (struct core_miss){later(known, core->ends[at]), at};
}

void core_load_ends(struct core* core, const struct block_access* access, struct core_miss miss,
                    double end) {
  core->ends[miss.at] = end;
  retires_after(core, end);
  value_comes(core, access, end);
}

struct core_miss core_store(struct core* core) {
  const uint32_t at = first_to_end(core->store_ends, core->stores);
  core->now = later(core->now, core->store_ends[at]);
  return (struct core_miss){core->now, at};
}

void core_store_ends(struct core* core, struct core_miss miss, double end) {
  core->store_ends[miss.at] = end;
}

double core_prefetch(const struct core* core, double latency) {
  const double k_ahead = 4; // latencies: earlier is no use, and the node's past is not kept
  return later(core->taken[core->next_taken], core->now - k_ahead * latency);
}

void core_prefetch_ends(struct core* core, const struct block_access* access, double end) {
  core->taken[core->next_taken] = later(end, core->now);
  core->next_taken = (core->next_taken + 1) % core->prefetched;
  if (end <= core->now) return;
  retires_after(core, end);
  value_comes(core, access, end);
}

void core_drain(struct core* core) {
  while (core->waiting_count > 0)
    wait_for_oldest(core);
  for (uint32_t i = 0; i < core->stores; i++)
    core->now = later(core->now, core->store_ends[i]);
}
