// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "sampling/blame.hpp"

#include "emulation/emulate.hpp"

#include <algorithm>

namespace omptier {

namespace {

constexpr int k_farthest_back = 24;                               // instructions
constexpr std::uint64_t k_red_zone = 128, k_near_stack = 1 << 20; // bytes
constexpr int k_emulated_steps = 400; // more than an iteration of usual loops

bool touches_memory(const Instruction& instruction) {
  return instruction.has_memory || instruction.string_source || instruction.string_target;
}

bool can_stop_midway(const Instruction& instruction) {
  return instruction.repeated || (instruction.has_memory && instruction.memory.is_vector_indexed());
}

// Number of the instruction that runs after i on the way to `goal`; −1 = outside of the function.
int next_of(const Function& function, int i, int goal, const MachineState& state) {
  const Instruction& here = function.instructions[static_cast<std::size_t>(i)];
  int below = i + 1 < static_cast<int>(function.instructions.size()) ? i + 1 : -1;
  if (here.flow == Flow::end) return -1;
  if (here.flow == Flow::jump) return function.at(here.target);
  if (here.flow != Flow::conditional) return below;
  int aside = function.at(here.target);
  bool loops_back = aside >= 0 && aside <= i;
  // The loop that contains the goal ends here: continue with its next iteration.
  if (loops_back && aside <= goal && goal <= i) return aside;
  if (auto taken = branch_taken(function, here, state)) return *taken ? aside : below;
  return below;
}

std::optional<std::uint64_t> address_by_rewinding(const Function& function, int pc, int blamed,
                                                  const RegisterSample& sample, unsigned lane) {
  MachineState state = MachineState::of(sample);
  for (int i = pc, steps = 0; i != blamed; ++steps) {
    i = function.before(i);
    if (i < 0 || steps > k_farthest_back) return {};
    rewind(function, function.instructions[static_cast<std::size_t>(i)], state);
  }
  return address_in(function.instructions[static_cast<std::size_t>(blamed)], state, lane);
}

// After the end of the sample's loop, memory that was not read in it stays unknown.
std::optional<std::uint64_t> address_by_emulating(const Function& function, int pc, int blamed,
                                                  const RegisterSample& sample, unsigned lane,
                                                  const NeededReads& needed) {
  MachineState state = MachineState::of(sample);
  const Instruction& wanted = function.instructions[static_cast<std::size_t>(blamed)];
  for (int i = pc, steps = 0; i >= 0 && steps < k_emulated_steps; ++steps) {
    if (i == blamed)
      if (auto address = address_in(wanted, state, lane)) return address;
    const Instruction& here = function.instructions[static_cast<std::size_t>(i)];
    state.skips_reads = needed.skips(here, i);
    step(function, here, state);
    i = next_of(function, i, blamed, state);
  }
  return {};
}

} // namespace

int memory_instruction_before(const Function& function, int from) {
  int i = from;
  for (int distance = 0; distance < k_farthest_back; ++distance) {
    i = function.before(i);
    if (i < 0) return -1;
    if (touches_memory(function.instructions[static_cast<std::size_t>(i)])) return i;
  }
  return -1;
}

int blamed_instruction(const Function& function, int pc) {
  if (can_stop_midway(function.instructions[static_cast<std::size_t>(pc)])) return pc;
  return memory_instruction_before(function, pc);
}

std::optional<std::uint64_t> blamed_address(const Function& function, int pc, int blamed,
                                            const RegisterSample& sample, unsigned lane,
                                            const NeededReads& needed) {
  if (auto address = address_by_rewinding(function, pc, blamed, sample, lane)) return address;
  return address_by_emulating(function, pc, blamed, sample, lane, needed);
}

// An instruction's address in this sample, and its behaviour so far.
Blamer::Suspect Blamer::suspect(const Function& function, int pc, int instruction,
                                const RegisterSample& sample) {
  auto lane = static_cast<unsigned>(counts_.samples);
  Suspect made{instruction, blamed_address(function, pc, instruction, sample, lane, needed_), false,
               false};
  if (spreads_.size() >= k_spreads_kept) spreads_.clear();
  auto number = static_cast<std::size_t>(instruction);
  Spread& spread = spreads_[function.instructions[number].address];
  if (made.address) {
    // Stacks differ by thread, so places on them count from the stack pointer.
    std::uint64_t above = *made.address - sample.general[k_rsp] + k_red_zone;
    std::uint64_t place = above < k_near_stack ? above : *made.address;
    spread.lowest = std::min(spread.lowest, place);
    spread.highest = std::max(spread.highest, place);
    ++spread.seen;
  }
  made.narrow = spread.is_narrow();
  made.wide = spread.is_wide();
  return made;
}

Blamer::Suspect Blamer::choose(const Function& function, int pc, const RegisterSample& sample) {
  int nearest = blamed_instruction(function, pc);
  if (nearest < 0) return {};
  needed_.begin(function, pc, functions_.generation());
  Suspect first = suspect(function, pc, nearest, sample);
  if (nearest == pc || !first.narrow) return first;
  if (touches_memory(function.instructions[static_cast<std::size_t>(pc)]))
    if (Suspect itself = suspect(function, pc, pc, sample); itself.wide) return itself;
  int farther = memory_instruction_before(function, nearest);
  if (farther >= 0 && farther != nearest)
    if (Suspect second = suspect(function, pc, farther, sample); second.wide) return second;
  return first;
}

void Blamer::find_access(const RegisterSample& sample, AccessSample& access) {
  const Function* function = functions_.around(sample.pc);
  int pc = function ? function->at(sample.pc) : -1;
  if (pc < 0) {
    ++counts_.no_code;
    return;
  }
  Suspect blamed = choose(*function, pc, sample);
  if (blamed.instruction < 0) {
    ++counts_.no_operand;
    return;
  }
  const Instruction& instruction =
      function->instructions[static_cast<std::size_t>(blamed.instruction)];
  repeated_ = instruction.repeated;
  access.pc = instruction.address;
  access.kind = instruction.memory.writes ? AccessKind::store : AccessKind::load;
  if (!blamed.address) {
    ++counts_.no_address;
    return;
  }
  ++counts_.addressed;
  access.address = *blamed.address;
  // A copy waits for its source and its target: samples blame them in turn.
  const bool copies = instruction.string_source && instruction.string_target;
  if (copies && spreads_[instruction.address].seen % 2 == 0) {
    access.address = sample.general[k_rsi];
    access.kind = AccessKind::load;
  }
}

AccessSample Blamer::blame(const RegisterSample& sample) {
  AccessSample access;
  access.time = sample.time;
  access.thread = sample.thread;
  access.pc = sample.pc;
  access.weight = static_cast<float>(weight(sample));
  ++counts_.samples;
  repeated_ = false;
  if (sharp_) find_access(sample, access);
  return access;
}

} // namespace omptier
