// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The emulator against the processor: functions as compilers make them are emulated from their
// first instruction to their return, and must come to the processor's result; single vector
// instructions that carry indices must leave what the processor leaves.

#include "emulation/emulate.hpp"
#include "emulation_emulate_cases.hpp"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>

namespace {

using namespace omptier;

constexpr std::uint64_t k_outside = 0x1000; // where the function returns to
constexpr unsigned k_most_steps = 200'000;

std::uint64_t g_data[64];

void fill_data() {
  std::uint64_t random = 88172645463325252u;
  for (std::uint64_t& word : g_data) {
    random ^= random << 13;
    random ^= random >> 7;
    random ^= random << 17;
    word = random;
  }
  g_data[5] = 77;
  for (std::uint64_t i = 16; i < 32; ++i)
    g_data[i] = 90 * (i - 15); // ascending
}

// Nothing where the emulator lost the result or its way; `why` says where.
std::optional<std::uint64_t> emulate(const EmulationCase& one, std::uint64_t argument,
                                     std::string& why) {
  static std::uint64_t stack[4096];
  FunctionCache functions;
  functions.refresh();
  RegisterSample sample;
  sample.general[k_rdi] = argument;
  sample.general[k_rsi] = reinterpret_cast<std::uint64_t>(g_data);
  sample.general[k_rsp] = reinterpret_cast<std::uint64_t>(stack + 4000);
  MachineState state = MachineState::of(sample);
  const auto push = [&](std::uint64_t value) {
    state.general[k_rsp] -= 8;
    state.write(state.general[k_rsp], &value, 8);
  };
  push(k_outside);
  std::uint64_t pc = reinterpret_cast<std::uint64_t>(one.run);
  for (unsigned steps = 0; pc != k_outside && steps < k_most_steps; ++steps) {
    const Function* function = functions.around(pc);
    const int at = function ? function->at(pc) : -1;
    char place[64];
    std::snprintf(place, sizeof place, " at +%llx",
                  static_cast<unsigned long long>(pc - reinterpret_cast<std::uint64_t>(one.run)));
    if (at < 0) {
      why = std::string("no code") + place;
      return {};
    }
    const Instruction& here = function->instructions[static_cast<std::size_t>(at)];
    pc = here.end();
    if (here.flow == Flow::conditional) {
      const auto taken = branch_taken(*function, here, state);
      if (!taken) why = std::string("unknown branch") + place;
      if (!taken) return {};
      if (*taken) pc = here.target;
    } else if (here.flow == Flow::jump) {
      pc = here.target;
    } else if (here.flow == Flow::call) {
      push(pc);
      pc = here.target;
    } else if (here.flow == Flow::end) {
      if (!state.knows(k_rsp) || !state.read(state.general[k_rsp], &pc, 8)) {
        why = std::string("unknown stack") + place;
        return {};
      }
      state.general[k_rsp] += 8;
    } else {
      step(*function, here, state);
    }
  }
  if (!state.knows(k_rax)) why = "unknown result";
  return pc == k_outside && state.knows(k_rax) ? std::optional(state.general[k_rax]) : std::nullopt;
}

class Emulated : public testing::TestWithParam<unsigned> {};
INSTANTIATE_TEST_SUITE_P(Sampling, Emulated, testing::Range(0u, emulation_case_count),
                         [](const auto& one) { return emulation_cases[one.param].name; });

TEST_P(Emulated, ComesToTheProcessorsResult) {
  const EmulationCase& one = emulation_cases[GetParam()];
  fill_data();
  for (std::uint64_t argument = 0; argument < 20; ++argument) {
    std::string why;
    const auto got = emulate(one, argument, why);
    ASSERT_TRUE(got) << one.name << "(" << argument << "): " << why;
    EXPECT_EQ(*got, one.run(argument, g_data)) << one.name << "(" << argument << ")";
  }
}

TEST(SamplingMemory, WhatWasWrittenIsReadAgain) {
  MachineState state;
  alignas(8) std::uint8_t memory[32];
  for (unsigned i = 0; i < sizeof memory; ++i)
    memory[i] = static_cast<std::uint8_t>(i);
  const auto at = reinterpret_cast<std::uint64_t>(memory);
  std::uint32_t value = 0x11223344, word = 0;
  state.write(at + 6, &value, 4); // over two words
  std::uint64_t both = 0;
  ASSERT_TRUE(state.read(at + 4, &both, 8));
  EXPECT_EQ(both, 0x0b0a'1122'3344'0504u);
  EXPECT_EQ(memory[6], 6); // nobody else sees it
  state.write(at + 8, nullptr, 1);
  EXPECT_FALSE(state.read(at + 6, &word, 4));
  EXPECT_TRUE(state.read(at + 9, &word, 4));
  state.write(at + 6, &value, 4);
  EXPECT_TRUE(state.read(at + 6, &word, 4));
  EXPECT_EQ(word, value);
  std::uint64_t nowhere = 0;
  state.write(8, &both, 8); // an address that the process does not have
  EXPECT_TRUE(state.read(8, &nowhere, 8));
  EXPECT_FALSE(state.read(16, &nowhere, 8));
}

TEST(SamplingMemory, TheTopOfTheStackIsTheSamples) {
  std::uint64_t now[4] = {1, 2, 3, 4}, value = 0;
  RegisterSample sample;
  const auto at = sample.general[k_rsp] = reinterpret_cast<std::uint64_t>(now);
  const std::uint64_t then[2] = {11, 12};
  sample.stack_bytes = sizeof then;
  std::memcpy(sample.stack.data(), then, sizeof then);
  MachineState state = MachineState::of(sample);
  ASSERT_TRUE(state.read(at + 8, &value, 8));
  EXPECT_EQ(value, 12u);
  ASSERT_TRUE(state.read(at + 16, &value, 8)); // behind what was kept
  EXPECT_EQ(value, 3u);
  const std::uint64_t written = 21;
  state.write(at + 8, &written, 8);
  ASSERT_TRUE(state.read(at + 8, &value, 8));
  EXPECT_EQ(value, 21u);
  state.hidden_begin = at, state.hidden_end = at + sizeof now;
  EXPECT_FALSE(state.read(at, &value, 8));
  EXPECT_TRUE(state.read(at + 8, &value, 8));
}

// What a leaf function keeps below the stack pointer is another's when the sample is looked at.
TEST(Emulate, WhatLiesBelowTheStackPointerIsUnknown) {
  std::uint64_t stack[64];
  std::ranges::fill(stack, 7u);
  RegisterSample sample{};
  sample.general[k_rsp] = reinterpret_cast<std::uint64_t>(&stack[32]);
  const MachineState state = MachineState::of(sample);
  std::uint64_t value = 0;
  EXPECT_TRUE(state.read(reinterpret_cast<std::uint64_t>(&stack[32]), &value, 8));
  EXPECT_EQ(value, 7u);
  EXPECT_TRUE(state.read(reinterpret_cast<std::uint64_t>(&stack[15]), &value, 8)); // far below
  for (unsigned below = 1; below <= 16; ++below)
    EXPECT_FALSE(state.read(reinterpret_cast<std::uint64_t>(&stack[32 - below]), &value, 8)) << below;
  MachineState written = state;
  value = 9;
  written.write(reinterpret_cast<std::uint64_t>(&stack[31]), &value, 8);
  value = 0;
  EXPECT_TRUE(written.read(reinterpret_cast<std::uint64_t>(&stack[31]), &value, 8));
  EXPECT_EQ(value, 9u);
}

} // namespace
