// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The decoder, blame and the emulator on any bytes as code, the reader of perf's rings on any bytes
// as a ring, and that of ARM SPE on any bytes as packets. The input is the ring; its first bytes are the registers and the place of the
// interrupt, too, and the rest is the code.

#include "emulation/emulate.hpp"
#include "sampling/blame.hpp"
#include "sampling/memory_event.hpp"
#include "sampling/perf_ring.hpp"

#include <cstdlib>
#include <cstring>

namespace {

using namespace omptier;

constexpr std::uint64_t k_code = 0x400000;

void read_code(const std::uint8_t* data, std::size_t size) {
  RegisterSample sample;
  constexpr std::size_t k_registers = sizeof sample.general / 2; // 32 bits of each
  if (size < k_registers + 2) return;
  for (unsigned i = 0; i < k_general_registers; ++i)
    std::memcpy(&sample.general[i], data + std::size_t{4} * i, 4);
  // Some point to memory that can be read, as a program's do.
  if (sample.general[0] & 1) sample.general[k_rsi] = reinterpret_cast<std::uint64_t>(data);
  const unsigned where = data[k_registers];
  const auto function = Function::decode(k_code, {data + k_registers + 1, size - k_registers - 1});
  if (!function->is_consistent()) std::abort();
  if (function->instructions.empty()) return;
  const auto pc = static_cast<int>(where % function->instructions.size());
  sample.pc = function->instructions[static_cast<std::size_t>(pc)].address;
  const int blamed = blamed_instruction(*function, pc);
  if (blamed >= static_cast<int>(function->instructions.size())) std::abort();
  if (blamed >= 0) static_cast<void>(blamed_address(*function, pc, blamed, sample, where));
  MachineState forwards = MachineState::of(sample), backwards = forwards;
  for (const Instruction& instruction : function->instructions) {
    static_cast<void>(branch_taken(*function, instruction, forwards));
    static_cast<void>(address_in(instruction, forwards, where));
    step(*function, instruction, forwards);
    rewind(*function, instruction, backwards);
  }
}

void read_ring(const std::uint8_t* data, std::size_t size) {
  std::size_t ring = 64;
  while (ring * 2 <= size)
    ring *= 2;
  if (ring > size) return;
  PerfRecords records;
  const std::uint64_t tail = data[0] % ring, head = tail + ring;
  if (parse_perf_records(data, ring, tail, head, records) != head) std::abort();
  walk_perf_records(data, ring, tail, head, [](std::uint32_t, auto words) {
    MemoryEvent event;
    parse_memory_sample(words, event);
  });
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  read_code(data, size);
  read_ring(data, size);
  std::vector<MemoryEvent> events;
  parse_packets({data, size}, events);
  return 0;
}
