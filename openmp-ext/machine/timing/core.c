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

// Waits for what lies more than a window behind this position; what has ended leaves, too.
static void wait_for_window(struct core* core, uint64_t position) {
  while (core->waiting_count > 0) {
    const struct miss_in_flight* oldest = &core->waiting[core->first_waiting];
    if (oldest->end > core->now && position - oldest->position <= core->window) break;
    wait_for_oldest(core);
  }
}

void core_instructions(struct core* core, uint32_t count) {
  core->position += count;
  core->now += count * core->instruction;
  wait_for_window(core, core->position);
}

// Of an access of the present block, whose instructions have all been counted.
static uint64_t position_of(const struct core* core, const struct block_access* access) {
  const struct block* block = core->block;
  if (!block || access->pc - block->begin >= block->end - block->begin) return core->position;
  return core->position - (block->instructions - 1 - access->index);
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
    if (waits) {
      end_block(core);
      memset(core->loads, 0, sizeof core->loads);
    }
    if (before->branches && !is_predicted(core, before->end, block->begin != before->end))
      core->now = later(core->now, known) + core->wrong_branch;
  }
  core->block = block;
  core_instructions(core, block->instructions);
}

static uint64_t line_at(uint64_t address) {
  return ~(address / k_line_size); // apart from words
}

static uint64_t word_at(uint64_t address) {
  return address / 8;
}

static struct value_soon* soon_of(struct core* core, uint64_t what) {
  return &core->soon[what * UINT64_C(0x9e3779b97f4a7c15) >> 57];
}

static void comes_soon(struct core* core, uint64_t what, double time) {
  *soon_of(core, what) = (struct value_soon){what, time};
}

static double soon(struct core* core, uint64_t what) {
  const struct value_soon* value = soon_of(core, what);
  return value->what == what ? value->time : 0;
}

// An instruction may load several times: its value is there when the last of them is.
static void loaded(struct core* core, const struct block_access* access, double time) {
  if (access->load >= 0) core->loads[access->load] = later(core->loads[access->load], time);
  core->pending = later(core->pending, time);
}

double core_address(const struct core* core, const struct block_access* access) {
  return later(core->now, core->pending > core->now ? known_at(core, access->address) : 0);
}

void core_hit(struct core* core, const struct block_access* access, uint64_t address) {
  if (core->pending <= core->now || access->load < 0) return;
  const double moved = later(soon(core, word_at(address)), soon(core, line_at(address)));
  loaded(core, access, later(known_at(core, access->address), moved));
}

void core_stored(struct core* core, const struct block_access* access, uint64_t address) {
  if (core->pending <= core->now) return;
  comes_soon(core, word_at(address), known_at(core, access->stored));
}

static uint32_t first_to_end(const double* ends, uint32_t count) {
  uint32_t first = 0;
  for (uint32_t i = 1; i < count; i++)
    if (ends[i] < ends[first]) first = i;
  return first;
}

// The place that was free at `begin` for the shortest time: earlier ones are left to who begins
// earlier.
static uint32_t last_to_end_before(const double* ends, uint32_t count, double begin) {
  uint32_t last = first_to_end(ends, count);
  for (uint32_t i = 0; i < count; i++)
    if (ends[i] <= begin && ends[i] > ends[last]) last = i;
  return last;
}

static void line_comes(struct core* core, const struct block_access* access, uint64_t address,
                       double end) {
  if (end > core->now) {
    if (core->waiting_count == k_most_outstanding) wait_for_oldest(core);
    core->waiting[(core->first_waiting + core->waiting_count++) % k_most_outstanding] =
        (struct miss_in_flight){position_of(core, access), end};
    comes_soon(core, line_at(address), end);
  }
  loaded(core, access, later(end, known_at(core, access->address)));
}

double core_load(struct core* core, const struct block_access* access) {
  wait_for_window(core, position_of(core, access));
  return later(core_address(core, access),
               core->ends[first_to_end(core->ends, core->outstanding)]);
}

void core_load_ends(struct core* core, const struct block_access* access, uint64_t address,
                    double begin, double end) {
  core->ends[last_to_end_before(core->ends, core->outstanding, begin)] = end;
  line_comes(core, access, address, end);
  if (access->locked) core->now = later(core->now, end);
}

double core_store(struct core* core, const struct block_access* access) {
  core->now = later(core->now, core->store_ends[first_to_end(core->store_ends, core->stores)]);
  return core_address(core, access);
}

void core_store_ends(struct core* core, double begin, double end) {
  core->store_ends[last_to_end_before(core->store_ends, core->stores, begin)] = end;
}

double core_prefetch(const struct core* core, double latency, double began) {
  const double k_ahead = 4; // latencies: earlier is no use, and the node's past is not kept
  return later(began,
               later(core->taken[core->next_taken], core->now - k_ahead * latency));
}

void core_prefetch_ends(struct core* core, const struct block_access* access, uint64_t address,
                        double end) {
  core->taken[core->next_taken] = later(end, core->now);
  core->next_taken = (core->next_taken + 1) % core->prefetched;
  line_comes(core, access, address, end);
}

void core_drain(struct core* core) {
  while (core->waiting_count > 0)
    wait_for_oldest(core);
  for (uint32_t i = 0; i < core->stores; i++)
    core->now = later(core->now, core->store_ends[i]);
}
