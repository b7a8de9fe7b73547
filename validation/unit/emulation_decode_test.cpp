// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoding and blame on known machine code with known registers. The code below is only looked at,
// never run; labels name the places where interrupts are pretended.

#include "code_places.hpp"
#include "emulation/emulate.hpp"
#include "emulation/process_memory.hpp"
#include "sampling/blame.hpp"
#include "sampling/calibrate.hpp"

#include <cstdlib>
#include <cstring>
#include <gtest/gtest.h>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

// clang-format off
asm(PLACES ".text\n"
    "place sample_stream\n"
    "  movq (%rdi,%rcx,8), %rax\n"
    "place sample_stream_next\n"
    "  addq %rax, %rdx\n"
    "  addq $1, %rcx\n"
    "place sample_stream_compare\n"
    "  cmpq %rsi, %rcx\n"
    "  jne sample_stream\n"
    "place sample_stream_out\n"
    "  ret\n"
    "place sample_stream_end\n"

    "place sample_chase\n"
    "  movq 8(%rdi), %rdi\n"
    "place sample_chase_next\n"
    "  decq %rsi\n"
    "  jnz sample_chase\n"
    "  ret\n"
    "place sample_chase_end\n"

    "place sample_gather\n"
    "  vmovdqu (%rsi,%rcx,4), %xmm1\n"
    "  vpcmpeqd %ymm2, %ymm2, %ymm2\n"
    "place sample_gather_self\n"
    "  vgatherdpd %ymm2, (%rdi,%xmm1,8), %ymm0\n"
    "place sample_gather_next\n"
    "  addq $4, %rcx\n"
    "  cmpq %rdx, %rcx\n"
    "  jne sample_gather\n"
    "  ret\n"
    "place sample_gather_end\n"

    "place sample_mixed\n"
    "  movl $7, 0x1000(%rip)\n"
    "place sample_mixed_after_rip\n"
    "  movq %fs:0, %rax\n"
    "place sample_mixed_after_fs\n"
    "  leaq 8(%rdi), %rdi\n"
    "  nopw 0(%rax,%rax)\n"
    "  prefetcht0 (%rdi)\n"
    "place sample_mixed_after_none\n"
    "  addq $1, (%rbx)\n"
    "place sample_mixed_after_update\n"
    "  call sample_stream\n"
    "place sample_mixed_after_call\n"
    "  addq $1, %rax\n"
    "place sample_mixed_copy\n"
    "  rep movsb\n"
    "place sample_mixed_after_copy\n"
    "  ret\n"
    "place sample_mixed_end\n"

    // a row of a table is read through an index that always comes from the same few bytes; with an
    // unwind entry, to be found as a function
    ".p2align 4\n"
    ".type sample_nested, @function\n"
    "place sample_nested\n"
    ".cfi_startproc\n"
    "  movl (%rdi,%r11), %r15d\n"
    "place sample_nested_row\n"
    "  movl (%r9,%r15,4), %ebp\n"
    "place sample_nested_next\n"
    "  addq $4, %r11\n"
    "  cmpq %r11, %rbx\n"
    "  jne sample_nested\n"
    "  ret\n"
    ".cfi_endproc\n"
    "place sample_nested_end\n");
// clang-format on

extern "C" {
extern char sample_stream[], sample_stream_next[], sample_stream_compare[], sample_stream_out[],
    sample_stream_end[], sample_chase[], sample_chase_next[], sample_chase_end[], sample_gather[],
    sample_gather_self[], sample_gather_next[], sample_gather_end[], sample_mixed[],
    sample_mixed_after_rip[], sample_mixed_after_fs[], sample_mixed_after_none[],
    sample_mixed_after_update[], sample_mixed_after_call[], sample_mixed_copy[],
    sample_mixed_after_copy[], sample_mixed_end[], sample_nested[], sample_nested_row[],
    sample_nested_next[], sample_nested_end[];
}

namespace {

using namespace omptier;

constexpr unsigned k_r9 = 9, k_r11 = 11, k_r15 = 15;

std::unique_ptr<Function> decode(const char* begin, const char* end) {
  const auto* bytes = reinterpret_cast<const std::uint8_t*>(begin);
  auto function = Function::decode(at(begin), {bytes, static_cast<std::size_t>(end - begin)});
  EXPECT_TRUE(function->is_consistent());
  EXPECT_EQ(function->range.end, at(end)); // every byte understood
  return function;
}

struct Found {
  std::uint64_t pc = 0; // 0 = nothing blamed
  std::optional<std::uint64_t> address;
};

Found blame_at(const Function& function, const char* place, RegisterSample sample) {
  sample.pc = at(place);
  int pc = function.at(sample.pc);
  EXPECT_GE(pc, 0);
  int blamed = blamed_instruction(function, pc);
  if (blamed < 0) return {};
  return {function.instructions[static_cast<std::size_t>(blamed)].address,
          blamed_address(function, pc, blamed, sample, 0)};
}

TEST(SamplingDecode, FindsLoopsAndOperands) {
  auto function = decode(sample_stream, sample_stream_end);
  ASSERT_EQ(function->instructions.size(), 6u);
  ASSERT_EQ(function->loops.size(), 1u);
  EXPECT_EQ(function->loops[0].first, 0u);
  EXPECT_EQ(function->loops[0].last, 4u);
  const MemoryOperand& memory = function->instructions[0].memory;
  EXPECT_EQ(memory.base, k_rdi);
  EXPECT_EQ(memory.index, k_rcx);
  EXPECT_EQ(memory.scale, 8);
  EXPECT_EQ(memory.bytes, 8);
  EXPECT_TRUE(memory.reads);
  EXPECT_FALSE(memory.writes);
  EXPECT_EQ(function->before(0), 4); // around the loop
}

TEST(SamplingDecode, StopsAtBytesThatAreNoInstruction) {
  const std::uint8_t bytes[] = {0x90, 0x06, 0x90}; // 06 does not exist in 64-bit mode
  auto function = Function::decode(0x1000, bytes);
  EXPECT_EQ(function->instructions.size(), 1u);
  EXPECT_TRUE(function->is_consistent());
  EXPECT_TRUE(Function::decode(0x1000, {})->is_consistent());
}

TEST(SamplingBlame, NextInstructionBlamesTheLoad) {
  auto function = decode(sample_stream, sample_stream_end);
  RegisterSample sample;
  sample.general[k_rdi] = 0x10000;
  sample.general[k_rcx] = 5;
  sample.general[k_rsi] = 100;
  Found found = blame_at(*function, sample_stream_next, sample);
  EXPECT_EQ(found.pc, at(sample_stream));
  EXPECT_EQ(found.address, 0x10000u + 40);
}

TEST(SamplingBlame, TakesBackASumInBetween) {
  auto function = decode(sample_stream, sample_stream_end);
  RegisterSample sample;
  sample.general[k_rdi] = 0x10000;
  sample.general[k_rcx] = 6; // already counted on
  EXPECT_EQ(blame_at(*function, sample_stream_compare, sample).address, 0x10000u + 40);
  // At the loop's head, around the loop to the load itself: its next execution is as good.
  Found around = blame_at(*function, sample_stream, sample);
  EXPECT_EQ(around.pc, at(sample_stream));
  EXPECT_EQ(around.address, 0x10000u + 48);
}

TEST(SamplingBlame, OverwrittenBaseIsFoundByEmulation) {
  struct Node {
    std::uint64_t value;
    Node* next;
  } last{0, nullptr}, first{0, &last};
  auto function = decode(sample_chase, sample_chase_end);
  RegisterSample sample;
  sample.general[k_rdi] = at(&first); // just loaded: the next step reads first.next
  sample.general[k_rsi] = 3;
  Found found = blame_at(*function, sample_chase_next, sample);
  EXPECT_EQ(found.pc, at(sample_chase));
  EXPECT_EQ(found.address, at(&first.next));
}

TEST(SamplingBlame, GatherReadsItsIndicesAgain) {
  std::uint32_t index[16];
  for (std::uint32_t i = 0; i < 16; ++i)
    index[i] = 1000 + i;
  auto function = decode(sample_gather, sample_gather_end);
  RegisterSample sample;
  sample.general[k_rdi] = 0x40000;
  sample.general[k_rsi] = at(index);
  sample.general[k_rcx] = 4;
  sample.general[k_rdx] = 16;
  // Midway: PC stays on the gather, whose vector is unknown; the next round's is computed.
  Found midway = blame_at(*function, sample_gather_self, sample);
  EXPECT_EQ(midway.pc, at(sample_gather_self));
  EXPECT_EQ(midway.address, 0x40000u + 8 * 1008);
  Found behind = blame_at(*function, sample_gather_next, sample);
  EXPECT_EQ(behind.pc, at(sample_gather_self));
  EXPECT_EQ(behind.address, 0x40000u + 8 * 1008);
}

TEST(SamplingBlame, OddOperands) {
  auto function = decode(sample_mixed, sample_mixed_end);
  RegisterSample sample;
  sample.general[k_rbx] = 0x7000;
  sample.general[k_rsi] = 0x8000;
  sample.general[k_rdi] = 0x9000;
  EXPECT_EQ(blame_at(*function, sample_mixed_after_rip, sample).address,
            at(sample_mixed_after_rip) + 0x1000);
  Found thread_local_load = blame_at(*function, sample_mixed_after_fs, sample);
  EXPECT_NE(thread_local_load.pc, 0u);
  EXPECT_FALSE(thread_local_load.address);
  // lea, nop and prefetch touch nothing: the load through FS is still the nearest
  EXPECT_EQ(blame_at(*function, sample_mixed_after_none, sample).pc, thread_local_load.pc);
  Found update = blame_at(*function, sample_mixed_after_update, sample);
  EXPECT_EQ(update.address, 0x7000u);
  int number = function->at(update.pc);
  EXPECT_TRUE(function->instructions[static_cast<std::size_t>(number)].memory.writes);
  EXPECT_EQ(blame_at(*function, sample_mixed_after_call, sample).pc, 0u); // who knows who ran
  Found copy = blame_at(*function, sample_mixed_copy, sample);
  EXPECT_EQ(copy.pc, at(sample_mixed_copy));
  EXPECT_EQ(copy.address, 0x9000u);
}

TEST(SamplingBlame, UnknownRegistersGiveNoAddress) {
  auto function = decode(sample_chase, sample_chase_end);
  RegisterSample sample;
  MachineState state = MachineState::of(sample);
  state.forget(1u << k_rdi, 0);
  EXPECT_FALSE(address_in(function->instructions[0], state));
  // A pointer that leads nowhere: no address, no fault.
  sample.general[k_rdi] = 0;
  RegisterSample nowhere = sample;
  nowhere.pc = at(sample_chase);
  step(*function, function->instructions[0], state = MachineState::of(nowhere));
  EXPECT_FALSE(state.knows(k_rdi));
}

TEST(SamplingEmulate, BranchesFollowTheFlags) {
  auto function = decode(sample_stream, sample_stream_end);
  RegisterSample sample;
  sample.general[k_rsi] = 10;
  for (std::uint64_t count : {9u, 10u}) {
    sample.general[k_rcx] = count;
    MachineState state = MachineState::of(sample);
    step(*function, function->instructions[3], state); // cmp
    EXPECT_EQ(branch_taken(*function, function->instructions[4], state), count != 10);
  }
}

TEST(SamplingCodeMap, FindsFunctionsOfStrippedLibraries) {
  CodeMap map;
  map.refresh();
  EXPECT_FALSE(map.refresh()); // nothing was unloaded
  // The C library is stripped on every distribution; its unwind tables are not.
  auto range = map.function_around(at(reinterpret_cast<void*>(&std::strtod)) + 1);
  ASSERT_TRUE(range);
  EXPECT_EQ(range->begin, at(reinterpret_cast<void*>(&std::strtod)));
  EXPECT_GT(range->end, range->begin);
  ChaseCode chase = chase_code();
  auto own = map.function_around(chase.next);
  ASSERT_TRUE(own);
  EXPECT_EQ(own->begin, chase.load);
  int on_stack = 0;
  EXPECT_FALSE(map.is_code(at(&on_stack)));
  EXPECT_FALSE(map.function_around(0));
  EXPECT_FALSE(map.function_around(~std::uint64_t{0}));
}

TEST(SamplingProcessMemory, NeverFaults) {
  std::uint64_t value = 42, copy = 0;
  EXPECT_TRUE(read_own(at(&value), copy));
  EXPECT_EQ(copy, 42u);
  EXPECT_FALSE(read_own(0, copy));
  void* page = mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  EXPECT_FALSE(read_own(at(page), copy));
  munmap(page, 4096);
}

TEST(SamplingProcessMemory, LinesGiveAllBytesOrNothing) {
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  auto* two = static_cast<unsigned char*>(
      mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(two, MAP_FAILED);
  mprotect(two + page, page, PROT_NONE);
  for (std::size_t i = 0; i < page; ++i)
    two[i] = static_cast<unsigned char>(i % 251);
  MemoryLines lines;
  unsigned char read[200];
  for (const std::size_t from : {std::size_t{0}, std::size_t{7}, page - sizeof read}) {
    ASSERT_TRUE(lines.read(at(two + from), read, sizeof read)) << from;
    EXPECT_EQ(std::memcmp(read, two + from, sizeof read), 0) << from;
  }
  EXPECT_FALSE(lines.read(at(two + page - 4), read, 8)); // its end cannot be read
  EXPECT_FALSE(lines.read(at(two + page), read, 1));
  two[0] = 99;
  MemoryLines later;
  ASSERT_TRUE(later.read(at(two), read, 1));
  EXPECT_EQ(read[0], 99);
  munmap(two, 2 * page);
}

// A blamer that looks functions up itself, on a real function of this program.
TEST(SamplingBlamer, HandsOnlyThePcOnWhereInterruptsAreNotSharp) {
  RegisterSample sample;
  sample.pc = chase_code().next;
  sample.general[k_rdi] = at(&sample); // any readable place
  sample.time = 77;
  sample.thread = 5;
  sample.periods = 3;
  Blamer blunt(false, 10.0), sharp(true, 10.0);
  blunt.refresh();
  sharp.refresh();
  AccessSample access = blunt.blame(sample);
  EXPECT_EQ(access.pc, sample.pc);
  EXPECT_EQ(access.address, 0u);
  access = sharp.blame(sample);
  EXPECT_EQ(access.pc, chase_code().load);
  EXPECT_EQ(access.address, at(&sample));
  EXPECT_EQ(access.kind, AccessKind::load);
  EXPECT_EQ(access.time, 77u);
  EXPECT_EQ(access.thread, 5u);
  EXPECT_FLOAT_EQ(access.weight, 30);
  EXPECT_EQ(sharp.counts().addressed, 1u);
  sample.pc = 1;
  EXPECT_EQ(sharp.blame(sample).address, 0u);
  EXPECT_EQ(sharp.counts().no_code, 1u);
}

TEST(SamplingSkid, SharpOnlyIfInterruptsLandBehindTheLoad) {
  ChaseCode code = chase_code();
  auto judged = [&](std::vector<std::uint64_t> places) {
    std::vector<RegisterSample> samples(places.size());
    for (std::size_t i = 0; i < places.size(); ++i)
      samples[i].pc = places[i];
    Skid skid;
    judge_skid(samples, skid);
    return skid;
  };
  EXPECT_TRUE(judged({code.next, code.next, code.next, code.next}).sharp());
  EXPECT_TRUE(judged({code.next, code.next, code.next, code.next, code.load}).sharp());
  EXPECT_FALSE(judged({code.load, code.load, code.load, code.load, code.load}).sharp());
  EXPECT_TRUE(judged({code.load, code.load, code.load, code.load}).known());
  EXPECT_FALSE(judged({code.next, code.next, code.next}).known());
  EXPECT_FALSE(judged(std::vector(11, code.next)).decided());
  EXPECT_TRUE(judged(std::vector(12, code.next)).decided());
  EXPECT_TRUE(judged({code.load, code.load, code.load, code.load}).decided());
  EXPECT_FALSE(judged({code.end, 0, 1, ~std::uint64_t{0}, code.end + 1}).known()); // other code
}

// Beside busy processes some of the first interrupts land elsewhere: more are waited for.
TEST(SamplingSkid, AFewThatLandElsewhereDecideNothing) {
  const ChaseCode code = chase_code();
  unsigned given = 0;
  const Skid skid = measure_skid(100, 10, [&] {
    std::vector<RegisterSample> samples(8);
    for (RegisterSample& sample : samples)
      sample.pc = given++ < 3 ? code.load : code.next;
    return samples;
  });
  EXPECT_TRUE(skid.sharp()) << skid.next << " of " << skid.samples;
  EXPECT_TRUE(skid.decided());
  EXPECT_LT(skid.samples, 100u);
}

// The nearest load finds its data in the cache every time: what stopped the thread is the load at
// PC, which reads from all over a large table.
TEST(SamplingBlamer, PassesOverWhatIsCacheResident) {
  Blamer blamer(true, 1);
  blamer.refresh();
  RegisterSample sample;
  sample.pc = at(sample_nested_row);
  sample.general[k_rdi] = 0x10000;   // few bytes
  sample.general[k_r9] = 0x40000000; // a large table
  for (std::uint64_t i = 0; i < 20; ++i) {
    sample.general[k_r11] = 4 * (i % 16) + 4;
    sample.general[k_r15] = i * 1'000'003 % 16'000'000;
    AccessSample access = blamer.blame(sample);
    if (i < 10) continue; // still learning
    EXPECT_EQ(access.pc, at(sample_nested_row));
    EXPECT_EQ(access.address, 0x40000000 + 4 * sample.general[k_r15]);
  }
  // Behind the row's load there is no doubt.
  sample.pc = at(sample_nested_next);
  EXPECT_EQ(blamer.blame(sample).pc, at(sample_nested_row));
}

} // namespace
