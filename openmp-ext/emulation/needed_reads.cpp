// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See needed_reads.hpp.
#include "emulation/needed_reads.hpp"

#include "emulation/loop_pace.hpp"

#include <algorithm>
#if defined(__x86_64__)
#include "emulation/execution.hpp"
#endif

namespace omptier {
namespace {

const Loop* loop_around(const Function& function, const Loop& inner) {
  const Loop* best = nullptr;
  for (const Loop& loop : function.loops) {
    const std::uint32_t length = loop.last - loop.first;
    const bool holds = loop.first <= inner.first && inner.last <= loop.last;
    if (holds && length > inner.last - inner.first &&
        (best == nullptr || length < best->last - best->first))
      best = &loop;
  }
  return best;
}

} // namespace

#if defined(__x86_64__)

namespace {

constexpr std::uint32_t k_largest_scope = 2000; // instructions; an emulation completes no more

// Bits of general registers, vectors, masks, the four flags that branches test, and the stack.
using Parts = std::uint64_t;
constexpr unsigned k_first_vector = 16, k_first_mask = 48, k_first_flag = 56;
constexpr Parts k_stack = Parts{1} << 60, k_everything = ~Parts{0};

Parts part(unsigned first, int number) {
  return number < 0 ? 0 : Parts{1} << (first + static_cast<unsigned>(number));
}

Parts part_of(ZydisRegister reg) {
  if (reg >= ZYDIS_REGISTER_K0 && reg <= ZYDIS_REGISTER_K7)
    return part(k_first_mask, reg - ZYDIS_REGISTER_K0);
  return part(0, general_number(reg)) | part(k_first_vector, vector_number(reg));
}

Parts flags_of(ZydisAccessedFlagsMask flags) {
  return (flags & ZYDIS_CPUFLAG_CF ? part(k_first_flag, 0) : 0) |
         (flags & ZYDIS_CPUFLAG_ZF ? part(k_first_flag, 1) : 0) |
         (flags & ZYDIS_CPUFLAG_SF ? part(k_first_flag, 2) : 0) |
         (flags & ZYDIS_CPUFLAG_OF ? part(k_first_flag, 3) : 0);
}

struct Effect {
  Parts reads = 0;    // inputs of its results
  Parts writes = 0;   // its results
  Parts replaces = 0; // results that keep nothing of the old value
  Parts loaded = 0;   // results that depend on what it reads from memory
  Parts asks = 0;     // needed even if its results are not
  Parts needed_before(Parts after) const {
    return (after & ~replaces) | asks | ((after & writes) != 0 ? reads : 0);
  }
};

void add_register(Effect& effect, const ZydisDecodedOperand& operand) {
  const Parts bit = part_of(operand.reg.value);
  if (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) effect.reads |= bit;
  if (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) effect.writes |= bit;
  if (operand.actions == ZYDIS_OPERAND_ACTION_WRITE && operand.size >= 32) effect.replaces |= bit;
}

void add_memory(Effect& effect, const ZydisDecodedOperand& operand, bool accesses) {
  const auto& memory = operand.mem;
  const Parts address = part_of(memory.base) | part_of(memory.index);
  if (!accesses) {
    effect.reads |= address;
    return;
  }
  effect.asks |= address;
  const bool stack = memory.base == ZYDIS_REGISTER_RSP ||
                     (memory.base == ZYDIS_REGISTER_RBP && memory.index == ZYDIS_REGISTER_NONE);
  if (stack && (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ)) effect.reads |= k_stack;
  if (stack && (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)) effect.writes |= k_stack;
}

void add_flags(Effect& effect, const ZydisDecodedInstruction& instruction) {
  const ZydisAccessedFlags* flags = instruction.cpu_flags;
  if (flags == nullptr) return;
  const Parts written = flags_of(flags->modified | flags->set_0 | flags->set_1 | flags->undefined);
  const auto category = instruction.meta.category;
  effect.reads |= flags_of(flags->tested);
  effect.writes |= written;
  // A shift by zero keeps the flags.
  if (category != ZYDIS_CATEGORY_SHIFT && category != ZYDIS_CATEGORY_ROTATE)
    effect.replaces |= written;
}

bool clears(const Decoded& decoded) {
  const auto* operands = decoded.operands;
  return decoded.instruction.mnemonic == ZYDIS_MNEMONIC_XOR &&
         operands[0].type == ZYDIS_OPERAND_TYPE_REGISTER &&
         operands[1].type == ZYDIS_OPERAND_TYPE_REGISTER &&
         operands[0].reg.value == operands[1].reg.value;
}

Effect effect_of(const Function& function, const Instruction& instruction) {
  Effect effect;
  const Decoded* decoded = decode_again(function, instruction);
  if (decoded == nullptr || instruction.string_source || instruction.string_target) {
    effect.asks = k_everything;
    return effect;
  }
  if (instruction.fills) return effect;
  for (unsigned i = 0; i < decoded->instruction.operand_count; ++i) {
    const ZydisDecodedOperand& operand = decoded->operands[i];
    const bool hidden = operand.visibility != ZYDIS_OPERAND_VISIBILITY_EXPLICIT;
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER) add_register(effect, operand);
    if (operand.type == ZYDIS_OPERAND_TYPE_MEMORY)
      add_memory(effect, operand, hidden || instruction.has_memory);
  }
  add_flags(effect, decoded->instruction);
  const bool gathers = instruction.memory.is_vector_indexed(); // also clears its mask
  effect.loaded = gathers ? part_of(decoded->operands[0].reg.value) : effect.writes;
  if (clears(*decoded)) effect.reads = 0;
  const std::int8_t mask = instruction.has_memory ? instruction.memory.mask : k_no_register;
  if (mask >= k_vector_masks) effect.asks |= part(k_first_vector, mask - k_vector_masks);
  if (mask >= 0 && mask < k_vector_masks) effect.asks |= part(k_first_mask, mask);
  if (instruction.flow != Flow::next) effect.asks |= effect.reads; // they decide the target
  // A jump table may lead anywhere.
  if (instruction.flow == Flow::end && instruction.has_memory) effect.asks = k_everything;
  return effect;
}

} // namespace

std::vector<bool> needed_reads(const Function& function, const Loop& loop) {
  const std::size_t count = loop.last - loop.first + 1;
  if (count > k_largest_scope) return std::vector<bool>(count, true);
  std::vector<Effect> effects(count);
  std::vector<std::size_t> targets(count, count); // of branches within the loop; count: none
  for (std::size_t i = 0; i < count; ++i) {
    const Instruction& here = function.instructions[loop.first + i];
    effects[i] = effect_of(function, here);
    const bool branches = here.flow == Flow::conditional || here.flow == Flow::jump;
    const int target = branches ? function.at(here.target) : -1;
    if (target >= static_cast<int>(loop.first) && target <= static_cast<int>(loop.last))
      targets[i] = static_cast<std::size_t>(target) - loop.first;
  }
  std::vector<Parts> before(count + 1, 0), after(count, 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t i = count; i-- > 0;) {
      const Flow flow = function.instructions[loop.first + i].flow;
      after[i] = before[targets[i]];
      if (flow != Flow::jump && flow != Flow::end) after[i] |= before[i + 1];
      const Parts now = effects[i].needed_before(after[i]);
      changed |= now != before[i];
      before[i] = now;
    }
  }
  std::vector<bool> needed(count);
  for (std::size_t i = 0; i < count; ++i)
    needed[i] = effects[i].asks == k_everything || (after[i] & effects[i].loaded) != 0;
  return needed;
}

#else

std::vector<bool> needed_reads(const Function&, const Loop& loop) {
  return std::vector<bool>(loop.last - loop.first + 1, true);
}

#endif

NeededReads::Scope* NeededReads::scope_of(const Function& function, const Loop& loop) {
  const std::uint64_t end = function.instructions[loop.last].end();
  const auto [at, fresh] = scopes_.try_emplace(end);
  Scope& scope = at->second;
  if (fresh)
    scope = {loop, function.instructions[loop.first].address, end, needed_reads(function, loop)};
  return &scope;
}

void NeededReads::begin(const Function& function, int instruction, std::uint64_t generation) {
  if (generation != generation_ || scopes_.size() >= k_scopes_kept) scopes_.clear();
  generation_ = generation;
  scope_ = nullptr;
  for (const Loop* loop = innermost_loop(function, instruction); loop != nullptr;
       loop = loop_around(function, *loop)) {
    scope_ = scope_of(function, *loop);
    ++scope_->begun;
    if (scope_->begun < k_enough || scope_->left * 4 < scope_->begun) return;
  }
  scope_ = nullptr;
}

void NeededReads::widen(const Function& function) {
  ++scope_->left;
  const Loop* around = loop_around(function, scope_->loop);
  scope_ = around != nullptr ? scope_of(function, *around) : nullptr;
}

} // namespace omptier
