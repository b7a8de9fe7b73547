// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a timer interrupt leaves: the registers of the interrupted thread and the top of its stack,
// where loops keep variables without a register. A perf ring or a signal handler keeps only this;
// the access that the thread waited for is determined later (blame.hpp).
#pragma once

#include <array>
#include <cstdint>

namespace omptier {

inline constexpr unsigned k_general_registers = 16;
inline constexpr unsigned k_stack_kept = 512; // bytes from the stack pointer on

// General registers in the order of the x86 encoding: rax rcx rdx rbx rsp rbp rsi rdi r8 … r15.
enum GeneralRegister : unsigned { k_rax, k_rcx, k_rdx, k_rbx, k_rsp, k_rbp, k_rsi, k_rdi };

// By the System V calling convention, which includes all vectors.
inline constexpr std::uint32_t k_caller_saved =
    1u << k_rax | 1u << k_rcx | 1u << k_rdx | 1u << k_rsi | 1u << k_rdi | 0x0f00;

struct RegisterSample {
  std::uint64_t time = 0; // CLOCK_MONOTONIC nanoseconds
  std::uint64_t pc = 0;   // the next instruction
  std::uint64_t flags = 0;
  std::uint64_t general[k_general_registers] = {};
  std::uint32_t thread = 0; // kernel thread id
  float periods = 1; // represented, of user mode; more than 1 after missed ones
  std::uint64_t ran = 0; // CPU time of the thread in ns, from an unknown start; 0 = unknown, or too
                         // regular to measure a loop's pace
  std::uint32_t stack_bytes = 0; // valid bytes of `stack`; 0 if there was no room for it
  std::array<std::uint8_t, k_stack_kept> stack;
};

} // namespace omptier
