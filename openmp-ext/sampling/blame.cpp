// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "sampling/blame.hpp"

#include "sampling/emulate.hpp"

#include <cstdlib>

namespace omptier {

namespace {

constexpr int k_farthest_back = 24;   // instructions
constexpr int k_emulated_steps = 400; // one iteration of any loop worth the name

bool touches_memory(const Instruction& instruction) {
  return instruction.has_memory || instruction.string_source || instruction.string_target;
}

bool can_stop_midway(const Instruction& instruction) {
  return instruction.repeated || (instruction.has_memory && instruction.memory.is_vector_indexed());
}

// Where control goes after instruction i on the way to `goal`; −1 = it leaves the function.
int next_of(const Function& function, int i, int goal, const MachineState& state) {
  const Instruction& here = function.instructions[static_cast<std::size_t>(i)];
  int below = i + 1 < static_cast<int>(function.instructions.size()) ? i + 1 : -1;
  if (here.flow == Flow::end) return -1;
  if (here.flow == Flow::jump) return function.at(here.target);
  if (here.flow != Flow::conditional) return below;
  int aside = function.at(here.target);
  bool loops_back = aside >= 0 && aside <= i;
  // The end of the loop that holds the goal: it is the next iteration that is wanted.
  if (loops_back && aside <= goal && goal <= i) return aside;
  if (auto taken = branch_taken(function, here, state)) return *taken ? aside : below;
  return below;
}

// Takes the state back along the way that was walked from pc to the blamed instruction.
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

std::optional<std::uint64_t> address_by_emulating(const Function& function, int pc, int blamed,
                                                  const RegisterSample& sample, unsigned lane) {
  MachineState state = MachineState::of(sample);
  const Instruction& wanted = function.instructions[static_cast<std::size_t>(blamed)];
  for (int i = pc, steps = 0; i >= 0 && steps < k_emulated_steps; ++steps) {
    if (i == blamed)
      if (auto address = address_in(wanted, state, lane)) return address;
    step(function, function.instructions[static_cast<std::size_t>(i)], state);
    i = next_of(function, i, blamed, state);
  }
  return {};
}

} // namespace

int blamed_instruction(const Function& function, int pc) {
  const auto& instructions = function.instructions;
  if (can_stop_midway(instructions[static_cast<std::size_t>(pc)])) return pc;
  int i = pc;
  for (int distance = 0; distance < k_farthest_back; ++distance) {
    i = function.before(i);
    if (i < 0) return -1;
    if (touches_memory(instructions[static_cast<std::size_t>(i)])) return i;
  }
  return -1;
}

std::optional<std::uint64_t> blamed_address(const Function& function, int pc, int blamed,
                                            const RegisterSample& sample, unsigned lane) {
  if (auto address = address_by_rewinding(function, pc, blamed, sample, lane)) return address;
  return address_by_emulating(function, pc, blamed, sample, lane);
}

void Blamer::find_access(const RegisterSample& sample, AccessSample& access) {
  const Function* function = functions_.around(sample.pc);
  int pc = function ? function->at(sample.pc) : -1;
  if (pc < 0) {
    ++counts_.no_code;
    return;
  }
  int blamed = blamed_instruction(*function, pc);
  if (blamed < 0) {
    ++counts_.no_operand;
    return;
  }
  const Instruction& instruction = function->instructions[static_cast<std::size_t>(blamed)];
  access.pc = instruction.address;
  access.kind = instruction.memory.writes ? AccessKind::store : AccessKind::load;
  auto turn = static_cast<unsigned>(counts_.samples);
  if (auto address = blamed_address(*function, pc, blamed, sample, turn)) {
    ++counts_.addressed;
    access.address = *address;
    // A copy waits for both of its ends: they take turns.
    if (instruction.string_source && instruction.string_target && turn % 2 == 0) {
      access.address = sample.general[k_rsi];
      access.kind = AccessKind::load;
    }
  } else {
    ++counts_.no_address;
  }
}

AccessSample Blamer::blame(const RegisterSample& sample) {
  AccessSample access;
  access.time = sample.time;
  access.thread = sample.thread;
  access.pc = sample.pc;
  access.weight = static_cast<float>(period_ * sample.periods);
  ++counts_.samples;
  if (sharp_) find_access(sample, access);
  return access;
}

} // namespace omptier
