// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Accesses by counters that the loop advances, as when tuples are dealt to partitions: each counter
// leads a stream, of which an emulation may see one access only. The code below is only looked at,
// never run.

#include "emulated_loop.hpp"

#include <random>

// clang-format off
asm(PLACES ".text\n"
    // other[count[key[i]]++] = r8, 16 bytes apart
    "place counted_up\n .cfi_startproc\n"
    "place counted_up_head\n"
    "  movl (%rsi,%rcx,4), %eax\n"
    "  leaq (%rdi,%rax,8), %r11\n"
    "  movq (%r11), %rax\n"
    "  leaq 1(%rax), %r9\n"
    "  shlq $4, %rax\n"
    "  movq %r9, (%r11)\n"
    "  movq %r8, (%r10,%rax)\n"
    "  incq %rcx\n"
    "  cmpq %rdx, %rcx\n"
    "  jne counted_up_head\n"
    "  ret\n .cfi_endproc\n"

    // other[--count[key[i]]] = r8
    "place counted_down\n .cfi_startproc\n"
    "place counted_down_head\n"
    "  movl (%rsi,%rcx,4), %eax\n"
    "  leaq (%rdi,%rax,8), %r11\n"
    "  movq (%r11), %rax\n"
    "  decq %rax\n"
    "  movq %rax, (%r11)\n"
    "  movq %r8, (%r10,%rax,8)\n"
    "  incq %rcx\n"
    "  cmpq %rdx, %rcx\n"
    "  jne counted_down_head\n"
    "  ret\n .cfi_endproc\n"

    // other[count[key[i]]] = r8
    "place counted_not\n .cfi_startproc\n"
    "place counted_not_head\n"
    "  movl (%rsi,%rcx,4), %eax\n"
    "  movq (%rdi,%rax,8), %rax\n"
    "  movq %r8, (%r10,%rax,8)\n"
    "  incq %rcx\n"
    "  cmpq %rdx, %rcx\n"
    "  jne counted_not_head\n"
    "  ret\n .cfi_endproc\n"

    // old = last[key[i]]; last[key[i]] = i; other[old] = r8
    "place counted_last\n .cfi_startproc\n"
    "place counted_last_head\n"
    "  movl (%rsi,%rcx,4), %eax\n"
    "  leaq (%rdi,%rax,8), %r11\n"
    "  movq (%r11), %rax\n"
    "  movq %rcx, (%r11)\n"
    "  movq %r8, (%r10,%rax,8)\n"
    "  incq %rcx\n"
    "  cmpq %rdx, %rcx\n"
    "  jne counted_last_head\n"
    "  ret\n .cfi_endproc\n");
// clang-format on

extern "C" {
extern const char counted_up_head[], counted_down_head[], counted_not_head[], counted_last_head[];
}

namespace omptier {
namespace {

struct Counted : EmulatedLoop {
  std::vector<std::uint32_t> key = std::vector<std::uint32_t>(4096);
  std::vector<std::uint64_t> count, other = std::vector<std::uint64_t>(1 << 20);

  explicit Counted(std::size_t counters = 1024) : count(counters) {
    std::mt19937 random;
    for (std::uint32_t& one : key)
      one = static_cast<std::uint32_t>(random() % counters);
    for (std::uint64_t& one : count)
      one = random() % 1000 * 512 + 4000;
    set_registers(key.data(), key.size(), count.data(), other.data());
  }
  AccessPattern stored(const char* loop) {
    emulate(loop);
    const AccessPattern* store = of(other, AccessKind::store);
    EXPECT_NE(store, nullptr);
    return store != nullptr ? *store : AccessPattern();
  }
};

TEST_F(Counted, LeadStreams) {
  const AccessPattern up = stored(counted_up_head);
  EXPECT_EQ(up.strides[0].bytes, 16);
  EXPECT_EQ(up.strides[0].share, 1);
  EXPECT_LT(up.through - at(count.data()), count.size() * sizeof(std::uint64_t));
  EXPECT_EQ(stored(counted_down_head).strides[0].bytes, -8);
}

// Keys come again within a few accesses.
struct FewCounted : Counted {
  FewCounted() : Counted(4) {}
};
TEST_F(FewCounted, LeadStreams) {
  const AccessPattern up = stored(counted_up_head);
  EXPECT_EQ(up.strides[0].bytes, 16);
  EXPECT_EQ(up.strides[0].share, 1);
  EXPECT_LT(up.through - at(count.data()), count.size() * sizeof(std::uint64_t));
}

// One of each stream in turn: there may be any number of counters.
TEST_F(Counted, InOrderLeadNoStreams) {
  for (std::size_t i = 0; i < key.size(); ++i)
    key[i] = static_cast<std::uint32_t>(i % count.size());
  EXPECT_LT(stored(counted_up_head).strides[0].share, 0.5F);
}

TEST_F(Counted, WhatIsNoCounterIsAnIndex) {
  for (const char* loop : {counted_not_head, counted_last_head}) {
    const AccessPattern pattern = stored(loop);
    EXPECT_LT(pattern.strides[0].share, 0.5F);
    EXPECT_LT(pattern.through - at(count.data()), count.size() * sizeof(std::uint64_t));
  }
}

// A line of each stream is gone before the next tuple comes.
struct ManyCounted : Counted {
  ManyCounted() : Counted(1 << 15) {}
};
TEST_F(ManyCounted, LeadNoStreams) {
  const AccessPattern pattern = stored(counted_up_head);
  EXPECT_LT(pattern.strides[0].share, 0.5F);
  EXPECT_NE(pattern.through, 0u);
}

} // namespace
} // namespace omptier
