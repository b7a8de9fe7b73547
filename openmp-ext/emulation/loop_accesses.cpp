// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "emulation/loop_accesses.hpp"

#include "emulation/induction.hpp"
#include "emulation/streams_in_turn.hpp"

#include <algorithm>
#include <bit>
#include <map>

namespace omptier {
namespace {

constexpr std::uint64_t k_node = 256;     // largest offset of a field in its node
constexpr std::size_t k_links_apart = 32; // accesses between loading a pointer and using it
constexpr std::size_t k_tested_before = 4; // accesses between a test's load and its branch
constexpr int k_behind_test = 8;           // instructions from the branch to a store
constexpr std::size_t k_counted_before = 16; // accesses between a counter's load and its store
constexpr std::uint64_t k_counts_by = 4096;  // at most, either way

// Target of a jump through memory (a procedure linkage table); 0 = unknown.
std::uint64_t target_in_memory(const Instruction& instruction, const MachineState& state) {
  std::uint64_t target = 0;
  if (!instruction.has_memory) return 0;
  const auto address = address_in(instruction, state);
  if (!address || !state.read(*address, &target, sizeof target)) return 0;
  return target;
}

bool is_return(const Function& function, const Instruction& instruction) {
  const auto bytes = function.bytes_of(instruction);
  const bool prefixed = bytes.size() > 1 && (bytes[0] == 0xf2 || bytes[0] == 0xf3);
  const std::uint8_t operation = bytes[prefixed ? 1 : 0];
  return operation == 0xc3 || operation == 0xc2;
}

// Vector registers that only one instruction of the function writes, from constants, above the
// sample's. The indices of a gather with a fixed stride and the factors of a coordinate are loaded
// before the loop, and a sample has no vectors.
void set_constants(const Function& function, std::uint64_t pc, MachineState& state) {
  std::uint32_t once = 0, more = 0;
  for (const Instruction& instruction : function.instructions) {
    more |= once & instruction.vectors_written;
    once |= instruction.vectors_written;
  }
  const std::uint32_t constant = once & ~more & ~state.vectors_known;
  if (constant == 0) return;
  MachineState alone;
  for (const Instruction& instruction : function.instructions)
    if (instruction.address < pc && instruction.flow == Flow::next &&
        (instruction.vectors_written & constant) != 0)
      step(function, instruction, alone);
  for (unsigned i = 0; i < alone.vectors.size(); ++i)
    if ((alone.vectors_known & constant & 1u << i) != 0) state.vectors[i] = alone.vectors[i];
  state.vectors_known |= alone.vectors_known & constant;
}

} // namespace

void LoopAccesses::note_one(const Instruction& instruction, std::uint64_t address,
                            std::uint32_t bytes, bool store, std::uint32_t step,
                            const MachineState& state) {
  if (accesses_.size() >= k_most_accesses) {
    complete_ = std::min(complete_, visits_.size());
    return;
  }
  Access access{instruction.address, address, step, bytes, store, false, false, false, 0, 0, {}, 0};
  const std::size_t nearby = std::min<std::size_t>(accesses_.size(), k_links_apart);
  for (std::size_t back = 1; back <= nearby && access.links == 0; ++back) {
    const Access& before = accesses_[accesses_.size() - back];
    if (before.value && before.bytes == 8 && address - *before.value <= k_node)
      access.links = before.links + 1;
  }
  std::uint64_t value = 0;
  if (!store && bytes <= sizeof value && std::has_single_bit(bytes) &&
      state.read(address, &value, bytes))
    access.value = value;
  accesses_.push_back(access);
}

// stores: has just run. What it has stored is known only then.
void LoopAccesses::note_counted(const Instruction& stores, const MachineState& state) {
  if (!stores.has_memory || !stores.memory.writes || accesses_.empty()) return;
  const Access& stored = accesses_.back();
  std::uint64_t value = 0;
  if (stored.pc != stores.address || !stored.store || stored.bytes > sizeof value ||
      !state.read_written(stored.address, &value, stored.bytes))
    return;
  const std::size_t nearby = std::min(accesses_.size() - 1, k_counted_before);
  for (std::size_t back = 1; back <= nearby; ++back) {
    Access& before = accesses_[accesses_.size() - 1 - back];
    if (before.address != stored.address || before.bytes != stored.bytes) continue;
    if (before.store) return;
    const std::uint64_t counted = before.value ? value - *before.value : 0;
    if (counted + k_counts_by <= 2 * k_counts_by)
      before.counted = static_cast<std::int64_t>(counted);
  }
}

// Accesses that cannot be followed still are part of what the loop accesses. In the first iteration
// vectors loaded before the sample are unknown; from the next on they may be known.
void LoopAccesses::note_lost(const Instruction& instruction, std::uint32_t bytes) {
  if (lost_.size() >= k_most_accesses || visits_.empty()) return;
  if (std::ranges::count(visits_, visits_[0].pc, &Visit::pc) == 1) settled_ = visits_.size();
  for (const bool store : {false, true})
    if (store ? instruction.memory.writes : instruction.memory.reads)
      lost_.push_back({instruction.address, bytes, store, visits_.size() - 1});
}

// other: where the branch did not go.
void LoopAccesses::note_passed(const Function& function, std::uint64_t other,
                               const MachineState& state) {
  const std::size_t loads = std::min(accesses_.size(), k_tested_before);
  const int first = function.at(other);
  for (int i = first; i >= 0 && i < first + k_behind_test; ++i) {
    if (static_cast<std::size_t>(i) >= function.instructions.size()) return;
    const Instruction& here = function.instructions[static_cast<std::size_t>(i)];
    if (here.flow != Flow::next) return;
    if (!here.has_memory || !here.memory.writes || here.memory.is_vector_indexed()) continue;
    const auto address = address_in(here, state);
    for (Access& access : std::span(accesses_).last(loads))
      if (address == access.address && !access.store) access.tested = true;
  }
}

void LoopAccesses::note(const Instruction& instruction, const MachineState& state,
                        std::uint32_t step) {
  const bool jumps = instruction.flow != Flow::next;
  if (instruction.string_source || instruction.string_target) {
    const std::uint32_t width = std::max<std::uint32_t>(instruction.memory.bytes, 1);
    std::uint64_t count = 1;
    if (instruction.repeated) count = state.knows(k_rcx) ? state.general[k_rcx] : 0;
    const auto bytes = static_cast<std::uint32_t>(std::min<std::uint64_t>(count * width, 1u << 30));
    if (bytes == 0) return;
    if (instruction.string_source && state.knows(k_rsi))
      note_one(instruction, state.general[k_rsi], bytes, false, step, state);
    if (instruction.string_target && instruction.memory.writes && state.knows(k_rdi))
      note_one(instruction, state.general[k_rdi], bytes, true, step, state);
    if (step == 0 && instruction.repeated && instruction.memory.writes)
      for (Access& access : accesses_)
        access.sampled = true;
    return;
  }
  if (!instruction.has_memory || jumps || instruction.memory.thread_local_base) return;
  const MemoryOperand& memory = instruction.memory;
  const auto active_ones = active_lanes(instruction, state);
  if (!active_ones) settled_ = visits_.size();
  const std::uint64_t lanes = active_ones.value_or(~std::uint64_t{0});
  if (!memory.is_vector_indexed() && memory.mask != k_no_register) {
    unsigned first = 0, active = 0; // adjacent elements under a mask
    for (unsigned lane = memory.lanes; lane-- > 0;)
      if (lanes >> lane & 1) first = lane, ++active;
    const auto begin = address_in(instruction, state);
    ++(begin ? known_ : unknown_);
    if (!begin && active > 0) note_lost(instruction, active * memory.lane_bytes);
    if (begin && active > 0)
      note_one(instruction, *begin + std::uint64_t{first} * memory.lane_bytes,
               active * memory.lane_bytes, memory.writes, step, state);
    return;
  }
  if (memory.is_vector_indexed() && !address_in(instruction, state) && memory.base >= 0 &&
      memory.base < k_instruction_pointer && state.knows(memory.base)) {
    // Only vector registers held the indices: the object is known, the place in it is not.
    const std::uint64_t base =
        state.general[memory.base] + static_cast<std::uint64_t>(memory.displacement);
    const std::size_t before = accesses_.size();
    note_one(instruction, base, std::uint32_t{memory.bytes} * memory.lanes, memory.writes, step,
             state);
    if (accesses_.size() > before) accesses_.back().vague = true;
    settled_ = visits_.size();
    return;
  }
  for (unsigned lane = 0; lane < memory.lanes; ++lane) {
    if (!(lanes >> lane & 1)) continue;
    const auto address = address_in(instruction, state, lane);
    ++(address ? known_ : unknown_);
    if (!address) {
      note_lost(instruction, memory.bytes);
      continue;
    }
    const std::size_t before = accesses_.size();
    if (memory.reads) note_one(instruction, *address, memory.bytes, false, step, state);
    if (memory.writes) note_one(instruction, *address, memory.bytes, true, step, state);
    if (memory.is_vector_indexed() && memory.base >= 0 && state.knows(memory.base))
      for (std::size_t i = before; i < accesses_.size(); ++i)
        accesses_[i].base = state.general[memory.base];
  }
}

// 0 = no stub of a procedure linkage table, or unknown.
std::uint64_t LoopAccesses::behind_stub(std::uint64_t address) {
  const Function* function = functions_.around(address);
  const int at = function != nullptr ? function->at(address) : -1;
  for (int i = at; i >= 0 && i < at + 2; ++i) { // endbr64 may precede the jump
    if (static_cast<std::size_t>(i) >= function->instructions.size()) break;
    const Instruction& here = function->instructions[static_cast<std::size_t>(i)];
    if (here.flow == Flow::end && here.has_memory) return target_in_memory(here, MachineState());
  }
  return 0;
}

// Return address of the sampled function. The thread may have returned and reused its stack since:
// the address counts only if it follows a call of this function; else the last valid one is taken.
std::uint64_t LoopAccesses::caller_of(const Function& function, const MachineState& state) {
  const std::uint64_t begin = function.range.begin;
  std::uint64_t back = 0;
  if (callers_.size() >= k_callers_kept) callers_.clear();
  if (state.knows(k_rsp) && state.read(state.general[k_rsp], &back, sizeof back)) {
    const Function* caller = functions_.around(back);
    const int at = caller != nullptr ? caller->at(back) : -1;
    if (at > 0) {
      const Instruction call = caller->instructions[static_cast<std::size_t>(at) - 1]; // a copy
      if (call.flow == Flow::call &&
          (call.target == begin || call.target == 0 || behind_stub(call.target) == begin))
        return callers_[begin] = back;
    }
  }
  const auto known = callers_.find(begin);
  return known != callers_.end() ? known->second : 0;
}

void LoopAccesses::walk(const RegisterSample& sample, const RegisterSample* earlier,
                        std::uint64_t sought) {
  const Function* function = functions_.around(sample.pc);
  const int at = function != nullptr ? function->at(sample.pc) : -1;
  loop_ = {};
  innermost_ = 0;
  if (const Loop* const loop = at >= 0 ? innermost_loop(*function, at) : nullptr) {
    innermost_ = function->instructions[loop->first].address;
    loop_ = registers_of_run(*function, *loop, sample, earlier);
  }
  if (at < 0)
    needed_.read_all();
  else
    needed_.begin(*function, at, functions_.generation());
  const std::uint64_t known = known_, unknown = unknown_;
  while (!walk_once(sample, sought)) {
    known_ = known, unknown_ = unknown;
    function = functions_.around(sample.pc);
    if (function == nullptr)
      needed_.read_all();
    else
      needed_.widen(*function);
  }
}

// Whether an instruction goes on in large equal steps, as those between streams that it serves in
// turn (their own steps only show after a few rounds), or may serve streams in no order.
bool LoopAccesses::may_serve_streams() const {
  struct Of {
    std::uint64_t step = 0, bytes = 0;
    unsigned equal = 0; // steps
    std::vector<std::uint64_t> addresses;
  };
  std::map<std::pair<std::uint64_t, bool>, Of> instructions;
  for (const Access& access : accesses_) {
    if (access.vague) continue;
    Of& of = instructions[{access.pc, access.store}];
    const std::uint64_t step = access.address - (of.addresses.empty() ? 0 : of.addresses.back());
    of.equal = step == of.step ? of.equal + 1 : 0;
    // Forwards or back.
    if (of.equal >= 2 && step - k_between_streams < -2 * k_between_streams) return true;
    of.step = step, of.bytes = access.bytes;
    of.addresses.push_back(access.address);
  }
  return std::ranges::any_of(instructions, [](const auto& one) {
    return streams_in_no_order(one.second.addresses, one.second.bytes).are ==
           StreamsInNoOrder::Are::perhaps;
  });
}

bool LoopAccesses::walk_once(const RegisterSample& sample, std::uint64_t sought) {
  accesses_.clear();
  lost_.clear();
  visits_.clear();
  settled_ = 0;
  complete_ = ~std::size_t{0};
  MachineState state = MachineState::of(sample);
  const Function* function = functions_.around(sample.pc);
  if (function != nullptr) set_constants(*function, sample.pc, state);
  int at = function != nullptr ? function->at(sample.pc) : -1;
  heads_.clear();
  std::vector<std::uint64_t> returns;
  std::vector<std::uint64_t> tried; // loop heads whose vectors we tried to recover
  int depth = 0;
  unsigned again = 0;
  bool more = false;
  int before = -1;     // the instruction that ran before in this function
  bool certain = true; // that the program takes this path
  const auto go = [&](std::uint64_t target) {
    const Function* const left = function;
    function = target != 0 ? functions_.around(target) : nullptr;
    at = function != nullptr ? function->at(target) : -1;
    if (function != left) before = -1;
  };
  for (std::uint32_t step_number = 0; at >= 0 && step_number < k_steps; ++step_number) {
    // A copy: the cache may drop the function when it decodes another.
    const Instruction here = function->instructions[static_cast<std::size_t>(at)];
    visits_.push_back({here.address, depth, static_cast<std::uint32_t>(accesses_.size())});
    if (here.address == sample.pc && depth == 0 && ++again == k_enough_visits)
      more = may_serve_streams();
    if (again >= k_enough_visits && !more &&
        (loop_.head == innermost_ || heads_.size() >= k_least_heads))
      break;
    if (here.joined && before >= 0 && certain) function->came(at, before);
    before = at;
    if (here.address == loop_.head && depth == 0 && heads_.size() < k_heads)
      heads_.push_back({std::to_array(state.general), state.known});
    if (function->gathers)
      if (const Loop* loop = loop_beginning_at(*function, at);
          loop != nullptr && std::ranges::find(tried, here.address) == tried.end()) {
        tried.push_back(here.address);
        state.skips_reads = false;
        recover_vectors(*function, *loop, needed_.of(*function, *loop), state);
      }
    const bool inside = needed_.holds(here, depth);
    if (state.skipped && (state.missed || !inside)) return false;
    if (!inside) needed_.read_all();
    state.skips_reads = inside && here.flow == Flow::next && !needed_.needs(at);
    note(here, state, step_number);
    if (here.address == sought && !accesses_.empty() && accesses_.back().pc == sought &&
        !accesses_.back().vague)
      return true;
    if (complete_ <= visits_.size()) break; // further accesses are not kept
    switch (here.flow) {
    case Flow::call: {
      const std::uint64_t target = here.target != 0 ? here.target : target_in_memory(here, state);
      const bool known = target != 0 && returns.size() < k_most_depth && functions_.around(target);
      if (!known) {
        function = functions_.around(here.address);
        if (function == nullptr) return true;
        step(*function, here, state);
        go(here.end());
        continue;
      }
      returns.push_back(here.end());
      if (state.knows(k_rsp)) {
        state.general[k_rsp] -= 8;
        state.write(state.general[k_rsp], &returns.back(), sizeof(std::uint64_t));
      }
      ++depth;
      go(target);
      continue;
    }
    case Flow::end: {
      if (!is_return(*function, here)) { // a jump through memory
        go(target_in_memory(here, state));
        continue;
      }
      std::uint64_t back = 0;
      if (!returns.empty()) {
        back = returns.back();
        returns.pop_back();
      } else {
        back = caller_of(*function, state);
      }
      if (state.knows(k_rsp)) state.general[k_rsp] += 8;
      --depth;
      go(back);
      before = at - 1; // the call instruction
      continue;
    }
    case Flow::jump:
      go(here.target != 0 ? here.target : target_in_memory(here, state));
      continue;
    case Flow::conditional: {
      const auto taken = branch_taken(*function, here, state);
      const bool leads_back = here.target != 0 && here.target <= here.address;
      certain = certain && taken.has_value();
      note_passed(*function, taken.value_or(leads_back) ? here.end() : here.target, state);
      go(taken.value_or(leads_back) ? here.target : here.end());
      continue;
    }
    case Flow::kernel:
    case Flow::next:
      step(*function, here, state);
      note_counted(here, state);
      if (static_cast<std::size_t>(++at) >= function->instructions.size()) at = -1;
      continue;
    }
  }
  return !state.skipped || !state.missed;
}

std::uint64_t LoopAccesses::next_address(const RegisterSample& sample, std::uint64_t pc,
                                         std::uint64_t lane) {
  walk(sample, nullptr, pc);
  std::vector<const Access*> found;
  for (const Access& access : accesses_)
    if (access.pc == pc && (found.empty() || access.step == found[0]->step || found[0]->vague)) {
      if (!found.empty() && found[0]->step != access.step) found.clear();
      found.push_back(&access);
    }
  return found.empty() ? 0 : found[lane % found.size()]->address;
}

// Registers that advance by the same step from each visit of the loop's head to the next.
void LoopAccesses::find_steps() {
  for (unsigned g = 0; g < k_general_registers; ++g) {
    if ((loop_.counting >> g & 1) == 0) continue;
    const auto known = [g](const Head& head) { return (head.known >> g & 1) != 0; };
    bool counts = heads_.size() >= k_least_heads && std::ranges::all_of(heads_, known);
    const std::uint64_t step = counts ? heads_[1].general[g] - heads_[0].general[g] : 0;
    for (std::size_t i = 2; counts && i < heads_.size(); ++i)
      counts = heads_[i].general[g] - heads_[i - 1].general[g] == step;
    loop_.step[g] = static_cast<std::int64_t>(step);
    if (!counts || step == 0)
      loop_.counting = static_cast<std::uint16_t>(loop_.counting & ~(1u << g));
  }
}

// Nothing: not known. Below 0: they are of two runs of the innermost loop.
std::optional<double> LoopAccesses::iterations_since(const RegisterSample& earlier,
                                                     const RegisterSample& sample) {
  const Function* const function = functions_.around(sample.pc);
  const Loop* const loop =
      function != nullptr ? innermost_loop(*function, function->at(earlier.pc)) : nullptr;
  const bool in_same = loop != nullptr && function->instructions[loop->first].address == innermost_;
  const bool is_innermost = loop_.head == innermost_;
  if (is_innermost && !in_same) return {};
  find_steps();
  const auto iterations =
      iterations_between(loop_, earlier, sample, static_cast<double>(sample.ran - earlier.ran));
  if (is_innermost || (iterations && iterations_ > 0)) return iterations;
  if (in_same) return -1;
  return {};
}

// bytes: of the summarized accesses.
void LoopAccesses::add_pace(double bytes, const RegisterSample& sample,
                            const RegisterSample* earlier) {
  if (innermost_ == 0 || (loop_.head == innermost_ && iterations_ == 0)) return;
  for (AccessPattern& pattern : patterns_)
    pattern.loop = innermost_;
  const auto iterations = earlier != nullptr ? iterations_since(*earlier, sample) : std::nullopt;
  if (!iterations) return;
  for (AccessPattern& pattern : patterns_) {
    pattern.run_nanoseconds = static_cast<float>(sample.ran - earlier->ran);
    pattern.run_bytes =
        *iterations < 0 ? -1 : static_cast<float>(*iterations * bytes / iterations_);
  }
}

std::span<const AccessPattern> LoopAccesses::of(const RegisterSample& sample, double weight,
                                                const RegisterSample* earlier) {
  patterns_.clear();
  walk(sample, earlier);
  std::size_t first = 0, last = 0;
  const bool found = whole_iterations(first, last);
  if (const std::size_t copied = copied_alone(first, last); copied > 0) {
    first = first_visit_ = last_visit_ = 0;
    last = copied;
    innermost_ = 0;
  } else if (!found) {
    return patterns_;
  }
  summarize(first, last, sample, weight);
  add_pace(bytes_of(first, last), sample, earlier);
  return patterns_;
}

} // namespace omptier
