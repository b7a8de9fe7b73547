// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loop around a sample, on any bytes as code: which reads its emulation needs, the way into it
// with the vectors that it counts in, and the emulation itself, of two samples that may be of one
// run. The code stands where the sampler looks for it: in two functions of this program, of which
// one may call the other. The input: a number for each general register, which of them point to
// memory, where in the code the sample is, then the code; the input is the memory and the stack.

#include "emulation/induction.hpp"
#include "emulation/loop_accesses.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <sys/mman.h>

// Room for code, with entries in the unwind table as a compiler makes them. Never executed.
asm(".pushsection .text.fuzzed, \"ax\", @progbits\n"
    ".balign 4096\n"
    "fuzzed_code:\n.cfi_startproc\n.skip 2048, 0xcc\n.cfi_endproc\n"
    ".cfi_startproc\n.skip 2048, 0xcc\n.cfi_endproc\n"
    ".popsection\n");
extern "C" std::uint8_t fuzzed_code[4096];

namespace {

using namespace omptier;

constexpr std::size_t k_function = 2048, k_most_memory = 4096;

struct Input {
  std::uint32_t registers[k_general_registers];
  std::uint16_t pointers;                      // bit per register: counts from the memory's begin
  std::uint8_t where, again, steps, stack, in; // in: odd = in the second function
};

void require(bool holds) {
  if (!holds) std::abort();
}

RegisterSample sample_of(const Input& input, const std::uint8_t* memory, std::size_t bytes) {
  RegisterSample sample;
  sample.time = 2'000'000'000;
  sample.ran = 1'000'000'000;
  sample.thread = 1;
  for (unsigned i = 0; i < k_general_registers; ++i) {
    sample.general[i] = input.registers[i];
    if (input.pointers >> i & 1)
      sample.general[i] = reinterpret_cast<std::uint64_t>(memory) + input.registers[i] % 4096;
  }
  sample.stack_bytes = static_cast<std::uint32_t>(
      std::min<std::size_t>({std::size_t{2} * input.stack, bytes, k_stack_kept}));
  std::memcpy(sample.stack.data(), memory, sample.stack_bytes);
  return sample;
}

void slice_and_recover(const Function& function, const RegisterSample& sample) {
  for (const Loop& loop : function.loops) {
    const std::vector<bool> needed = needed_reads(function, loop);
    require(needed.size() == loop.last - loop.first + 1);
    const WayIn way = way_into(function, loop);
    for (const int instruction : way.instructions)
      require(instruction >= 0 &&
              static_cast<std::size_t>(instruction) < function.instructions.size());
    for (const WayIn::Entry& entry : way.entries)
      require(entry.at <= way.instructions.size());
    const Loop* inner = loop_beginning_at(function, static_cast<int>(loop.first));
    require(inner != nullptr && inner->first == loop.first);
    MachineState at_head = MachineState::of(sample);
    static_cast<void>(recover_vectors(function, loop, needed, at_head));
  }
}

void emulate(FunctionCache& functions, RegisterSample& sample, const Input& input) {
  constexpr double k_weight = 1000;
  LoopAccesses loops(functions);
  const auto check = [](std::span<const AccessPattern> found) {
    double bytes = 0;
    for (const AccessPattern& pattern : found)
      bytes += double{pattern.bytes};
    require(found.empty() || std::abs(bytes - k_weight) < 1e-3 * k_weight);
  };
  check(loops.of(sample, k_weight));
  RegisterSample later = sample;
  later.time += 10'000'000;
  later.ran += 10'000'000;
  for (unsigned i = 0; i < k_general_registers; ++i)
    later.general[i] += std::uint64_t{input.steps} * (i % 4);
  check(loops.of(later, k_weight, &sample));
  static_cast<void>(loops.next_address(sample, sample.pc, input.again));
}

} // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  require(mprotect(fuzzed_code, sizeof fuzzed_code, PROT_READ | PROT_WRITE) == 0);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  Input input;
  if (size <= sizeof input) return 0;
  std::memcpy(&input, data, sizeof input);
  const std::uint8_t* code = data + sizeof input;
  const std::size_t bytes = std::min(size - sizeof input, sizeof fuzzed_code);
  std::memset(fuzzed_code, 0xcc, sizeof fuzzed_code);
  std::memcpy(fuzzed_code, code, std::min(bytes, k_function));
  if (bytes > k_function)
    std::memcpy(fuzzed_code + k_function, code + k_function, bytes - k_function);
  static std::uint8_t memory[k_most_memory + 4096];
  std::memset(memory, 0, sizeof memory);
  std::memcpy(memory, data, std::min(size, k_most_memory));

  RegisterSample sample = sample_of(input, memory, std::min(size, k_most_memory));
  FunctionCache functions;
  functions.refresh();
  const Function* function = functions.around(
      reinterpret_cast<std::uint64_t>(fuzzed_code + (input.in % 2 ? k_function : 0)));
  if (function == nullptr || function->instructions.empty()) return 0;
  sample.pc = function->instructions[input.where % function->instructions.size()].address;
  slice_and_recover(*function, sample);
  emulate(functions, sample, input);
  return 0;
}
