// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a timer interrupt leaves behind: the registers of the thread it stopped and the top of its
// stack, where a loop keeps what it has no register for. This is all that a perf ring or a signal
// handler keeps of a moment; which memory access the thread was waiting for is worked out
// afterwards (blame.hpp).
#pragma once

#include <array>
#include <cstdint>

namespace omptier {

inline constexpr unsigned k_general_registers = 16;
inline constexpr unsigned k_stack_kept = 512; // bytes from the stack pointer on

// General registers in the order of the x86 encoding: rax rcx rdx rbx rsp rbp rsi rdi r8 … r15.
enum GeneralRegister : unsigned { k_rax, k_rcx, k_rdx, k_rbx, k_rsp, k_rbp, k_rsi, k_rdi };

// What a function may change of them by the System V calling convention; it may all vector registers.
inline constexpr std::uint32_t k_caller_saved =
    1u << k_rax | 1u << k_rcx | 1u << k_rdx | 1u << k_rsi | 1u << k_rdi | 0x0f00;

struct RegisterSample {
  std::uint64_t time = 0; // CLOCK_MONOTONIC nanoseconds
  std::uint64_t pc = 0;   // the instruction that would have run next
  std::uint64_t flags = 0;
  std::uint64_t general[k_general_registers] = {};
  std::uint32_t thread = 0;  // kernel thread id
  std::uint32_t periods = 1; // timer periods it stands for: 1, more when expirations were missed
  std::uint64_t ran = 0; // ns of CPU time of the thread, from an unknown start; 0 = unknown, or too
                         // regular to tell a loop's pace with
  std::uint32_t stack_bytes = 0; // of `stack` that were kept; 0 where there was no room for it
  std::array<std::uint8_t, k_stack_kept> stack;
};

} // namespace omptier
