// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reduces Zydis' description of an instruction to the facts that blame needs. Hidden operands (the
// stack of push, call, ret) are left out, since they hit the cache; so are operands that access
// nothing (lea, nop) and prefetches, for which no thread waits.

#include "emulation/decode.hpp"

#include "emulation/process_memory.hpp"

#include <algorithm>

#if defined(__x86_64__)
#include "emulation/register_numbers.hpp"

#include <cstring>
#endif

namespace omptier {

namespace {

constexpr std::size_t k_largest_function = 1 << 20; // bytes
constexpr std::size_t k_cached_instructions = 150'000;

} // namespace

#if defined(__x86_64__)

namespace {

Flow flow_of(const ZydisDecodedInstruction& instruction, std::uint64_t target) {
  switch (instruction.meta.category) {
  case ZYDIS_CATEGORY_COND_BR:
    return Flow::conditional;
  case ZYDIS_CATEGORY_UNCOND_BR:
    return target ? Flow::jump : Flow::end;
  case ZYDIS_CATEGORY_CALL:
    return Flow::call;
  case ZYDIS_CATEGORY_RET:
    return Flow::end;
  case ZYDIS_CATEGORY_SYSCALL:
    return Flow::kernel;
  default:
    break;
  }
  bool traps = instruction.mnemonic == ZYDIS_MNEMONIC_UD2 ||
               instruction.mnemonic == ZYDIS_MNEMONIC_HLT ||
               instruction.mnemonic == ZYDIS_MNEMONIC_INT3;
  return traps ? Flow::end : Flow::next;
}

// Width of an index in the index register of a gather or scatter: "d" or "q", the letter before the
// data type, as in vgatherQpd and vpgatherDd.
std::uint8_t index_bytes_of(ZydisMnemonic mnemonic) {
  const char* name = ZydisMnemonicGetString(mnemonic);
  for (const char* stem : {"gather", "scatter"})
    if (const char* found = std::strstr(name, stem)) return found[strlen(stem)] == 'q' ? 8 : 4;
  return 4;
}

// movs, stos, lods, scas and cmps use rsi and rdi, which are hidden operands in Zydis.
void note_string_operation(Instruction& to, const ZydisDecodedInstruction& instruction) {
  to.has_memory = false;
  to.memory.bytes = instruction.operand_width / 8;
  switch (instruction.mnemonic) {
  case ZYDIS_MNEMONIC_MOVSB:
  case ZYDIS_MNEMONIC_MOVSW:
  case ZYDIS_MNEMONIC_MOVSD:
  case ZYDIS_MNEMONIC_MOVSQ:
    to.string_source = to.string_target = to.memory.reads = to.memory.writes = true;
    break;
  case ZYDIS_MNEMONIC_STOSB:
  case ZYDIS_MNEMONIC_STOSW:
  case ZYDIS_MNEMONIC_STOSD:
  case ZYDIS_MNEMONIC_STOSQ:
    to.string_target = to.memory.writes = true;
    break;
  case ZYDIS_MNEMONIC_SCASB:
  case ZYDIS_MNEMONIC_SCASW:
  case ZYDIS_MNEMONIC_SCASD:
  case ZYDIS_MNEMONIC_SCASQ:
    to.string_target = to.memory.reads = true;
    break;
  default: // lods, cmps
    to.string_source = to.memory.reads = true;
    break;
  }
  to.repeated = (instruction.attributes &
                 (ZYDIS_ATTRIB_HAS_REP | ZYDIS_ATTRIB_HAS_REPE | ZYDIS_ATTRIB_HAS_REPNE)) != 0;
}

void note_memory(Instruction& to, const ZydisDecodedInstruction& instruction,
                 const ZydisDecodedOperand& operand) {
  const auto& from = operand.mem;
  MemoryOperand& memory = to.memory;
  memory.displacement = from.disp.has_displacement ? from.disp.value : 0;
  memory.scale = std::max<std::uint8_t>(from.scale, 1);
  memory.base = from.base == ZYDIS_REGISTER_RIP || from.base == ZYDIS_REGISTER_EIP
                    ? k_instruction_pointer
                    : general_number(from.base);
  memory.thread_local_base = from.segment == ZYDIS_REGISTER_FS || from.segment == ZYDIS_REGISTER_GS;
  memory.reads = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_READ) != 0;
  memory.writes = (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE) != 0;
  if (from.type == ZYDIS_MEMOP_TYPE_VSIB) {
    memory.index = vector_number(from.index);
    memory.index_bytes = index_bytes_of(instruction.mnemonic);
    memory.bytes = operand.element_size ? operand.element_size / 8 : 8;
    unsigned widest = std::max<unsigned>(memory.index_bytes, memory.bytes);
    memory.lanes = static_cast<std::uint8_t>(
        std::max(1u, static_cast<unsigned>(instruction.avx.vector_length) / 8 / widest));
    memory.lane_bytes = static_cast<std::uint8_t>(memory.bytes);
  } else {
    memory.index = general_number(from.index);
    memory.bytes = operand.size / 8;
  }
  to.has_memory = true;
}

// Lanes that are masked off access nothing. Embedded broadcasts are one element whatever the mask.
void note_mask(Instruction& to, const ZydisDecodedInstruction& instruction,
               const ZydisDecodedOperand* operands) {
  MemoryOperand& memory = to.memory;
  if (!to.has_memory) return;
  const std::int8_t mask = mask_number(instruction.avx.mask.reg);
  const bool gathers = memory.is_vector_indexed();
  if (gathers && instruction.encoding == ZYDIS_INSTRUCTION_ENCODING_VEX) {
    memory.mask = static_cast<std::int8_t>(k_vector_masks + vector_number(operands[2].reg.value));
  } else if (mask > 0) {
    for (unsigned i = 0; i < instruction.operand_count; ++i) {
      const ZydisDecodedOperand& operand = operands[i];
      if (operand.type != ZYDIS_OPERAND_TYPE_MEMORY || gathers) continue;
      const unsigned width = operand.element_size / 8u;
      if (width == 0 || memory.bytes <= width || memory.bytes % width != 0) return;
      memory.lane_bytes = static_cast<std::uint8_t>(width);
      memory.lanes = static_cast<std::uint8_t>(memory.bytes / width);
    }
    memory.mask = mask;
  }
}

void note_operands(Instruction& to, const ZydisDecodedInstruction& instruction,
                   const ZydisDecodedOperand* operands) {
  to.fills = instruction.meta.category == ZYDIS_CATEGORY_NOP ||
             instruction.meta.category == ZYDIS_CATEGORY_WIDENOP;
  const bool touches_nothing = to.fills || instruction.meta.category == ZYDIS_CATEGORY_PREFETCH;
  for (unsigned i = 0; i < instruction.operand_count; ++i) {
    const ZydisDecodedOperand& operand = operands[i];
    if (operand.type == ZYDIS_OPERAND_TYPE_REGISTER &&
        (operand.actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)) {
      std::int8_t general = general_number(operand.reg.value);
      std::int8_t vector = vector_number(operand.reg.value);
      if (general >= 0) to.general_written |= static_cast<std::uint16_t>(1u << general);
      std::int8_t mask = mask_number(operand.reg.value);
      if (vector >= 0) to.vectors_written |= 1u << vector;
      if (mask >= 0) to.masks_written = static_cast<std::uint8_t>(to.masks_written | 1u << mask);
    }
    if (operand.type == ZYDIS_OPERAND_TYPE_IMMEDIATE && operand.imm.is_relative) {
      ZyanU64 target = 0;
      if (ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&instruction, &operand, to.address, &target)))
        to.target = target;
    }
    bool accesses =
        operand.type == ZYDIS_OPERAND_TYPE_MEMORY &&
        (operand.mem.type == ZYDIS_MEMOP_TYPE_MEM || operand.mem.type == ZYDIS_MEMOP_TYPE_VSIB) &&
        operand.visibility == ZYDIS_OPERAND_VISIBILITY_EXPLICIT;
    if (accesses && !touches_nothing) note_memory(to, instruction, operand);
  }
  note_mask(to, instruction, operands);
}

} // namespace

std::unique_ptr<Function> Function::decode(std::uint64_t begin,
                                           std::span<const std::uint8_t> bytes) {
  ZydisDecoder decoder;
  ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
  auto function = std::make_unique<Function>();
  function->code.assign(bytes.begin(), bytes.end());
  for (std::size_t at = 0; at < bytes.size();) {
    ZydisDecodedInstruction decoded;
    ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
    if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, bytes.data() + at, bytes.size() - at,
                                             &decoded, operands)))
      break;
    Instruction instruction;
    instruction.address = begin + at;
    instruction.length = decoded.length;
    note_operands(instruction, decoded, operands);
    instruction.flow = flow_of(decoded, instruction.target);
    if (decoded.meta.category == ZYDIS_CATEGORY_STRINGOP)
      note_string_operation(instruction, decoded);
    at += decoded.length;
    function->gathers |= instruction.has_memory && instruction.memory.is_vector_indexed();
    function->instructions.push_back(instruction);
  }
  function->range = {begin, begin};
  if (!function->instructions.empty()) function->range.end = function->instructions.back().end();
  for (std::size_t i = 0; i < function->instructions.size(); ++i) {
    const Instruction& branch = function->instructions[i];
    if (branch.flow != Flow::conditional && branch.flow != Flow::jump) continue;
    const int target = branch.target != 0 ? function->at(branch.target) : -1;
    if (target < 0) continue;
    const auto number = static_cast<std::uint32_t>(target);
    function->instructions[number].joined = true;
    if (number <= i) function->loops.push_back({number, static_cast<std::uint32_t>(i)});
  }
  return function;
}

std::uint64_t decoder_address() {
  return reinterpret_cast<std::uint64_t>(&ZydisDecoderInit);
}

#else

std::unique_ptr<Function> Function::decode(std::uint64_t, std::span<const std::uint8_t>) {
  return nullptr; // not on this architecture
}

std::uint64_t decoder_address() {
  return 0;
}

#endif

int Function::at(std::uint64_t address) const {
  auto found = std::lower_bound(
      instructions.begin(), instructions.end(), address,
      [](const Instruction& instruction, std::uint64_t a) { return instruction.address < a; });
  if (found == instructions.end() || found->address != address) return -1;
  return static_cast<int>(found - instructions.begin());
}

std::vector<int> Function::all_before(int i) const {
  std::vector<int> all;
  const auto number = static_cast<std::size_t>(i);
  // Padding in front of an aligned address does not execute.
  std::size_t above = number;
  while (above > 0 && instructions[above - 1].fills)
    --above;
  const bool reached = above > 0 && instructions[above - 1].flow != Flow::jump &&
                       instructions[above - 1].flow != Flow::end;
  if (i > 0 && (reached || above == 0)) all.push_back(i - 1);
  for (std::size_t k = 0; k < instructions.size(); ++k) {
    const Flow flow = instructions[k].flow;
    if ((flow == Flow::jump || flow == Flow::conditional) &&
        instructions[k].target == instructions[number].address)
      all.push_back(static_cast<int>(k));
  }
  return all;
}

void Function::came(int i, int from) const {
  if (from < 0 || static_cast<std::size_t>(from) >= instructions.size()) return;
  Way& way = ways_[i];
  if (way.times == 0) way.from = from;
  if (way.from != from)
    --way.times;
  else if (way.times < k_most_times)
    ++way.times;
}

int Function::before(int i) const {
  auto number = static_cast<std::uint32_t>(i);
  const auto known = [&](int from) { // the effects of a call are unknown
    const Flow flow = instructions[static_cast<std::size_t>(from)].flow;
    return flow == Flow::call || flow == Flow::kernel ? -1 : from;
  };
  if (const auto way = ways_.find(i); way != ways_.end() && way->second.times > 0)
    return known(way->second.from);
  int back = -1; // last instruction of the innermost loop that begins here
  for (const Loop& loop : loops)
    if (loop.first == number && (back < 0 || loop.last < static_cast<std::uint32_t>(back)))
      back = static_cast<int>(loop.last);
  if (back >= 0) return back;
  const std::vector<int> all = all_before(i);
  return all.empty() ? -1 : known(all[0]);
}

std::span<const std::uint8_t> Function::bytes_of(const Instruction& instruction) const {
  return std::span(code).subspan(instruction.address - range.begin, instruction.length);
}

bool Function::is_consistent() const {
  std::uint64_t end = range.begin;
  for (const Instruction& instruction : instructions) {
    if (instruction.address != end || instruction.length == 0) return false;
    end = instruction.end();
  }
  if (end != range.end || range.end - range.begin > code.size()) return false;
  return std::all_of(loops.begin(), loops.end(), [&](const Loop& loop) {
    return loop.first <= loop.last && loop.last < instructions.size();
  });
}

void FunctionCache::refresh() {
  if (!map_.refresh()) return;
  functions_.clear();
  instructions_ = 0;
  ++generation_;
}

const Function* FunctionCache::around(std::uint64_t pc) {
  auto after = functions_.upper_bound(pc);
  if (after != functions_.begin()) {
    const Function& known = *std::prev(after)->second;
    if (pc < known.range.begin + known.code.size()) return &known;
  }
  auto range = map_.function_around(pc);
  if (!range || range->end - range->begin > k_largest_function) return nullptr;
  std::vector<std::uint8_t> bytes(range->end - range->begin);
  if (!read_own_memory(range->begin, bytes.data(), bytes.size())) return nullptr;
  auto function = Function::decode(range->begin, bytes);
  if (!function) return nullptr;
  if (instructions_ + function->instructions.size() > k_cached_instructions) {
    functions_.clear();
    instructions_ = 0;
  }
  instructions_ += function->instructions.size();
  return (functions_[range->begin] = std::move(function)).get();
}

} // namespace omptier
