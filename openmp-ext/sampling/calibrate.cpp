// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The chase goes through 2 MiB in random order: more than the second-level cache, and set up in
// half a millisecond. Independent additions follow the load, so that the instruction behind it is
// one of eight places where an interrupt may land. The load begins the loop, which is where
// emulators deliver interrupts.

#include "sampling/calibrate.hpp"

#include "base/os.hpp"

#include <bit>
#include <sys/mman.h>

#if defined(__x86_64__)

// clang-format off
asm(".text\n"
    ".p2align 6\n"
    ".hidden omptier_chase\n"
    ".globl omptier_chase\n"
    ".type omptier_chase, @function\n"
    "omptier_chase:\n" // rdi = first node, rsi = number of steps; returns the last node
    ".cfi_startproc\n"
    ".hidden omptier_chase_load\n"
    ".globl omptier_chase_load\n"
    "omptier_chase_load:\n"
    "  movq (%rdi), %rdi\n"
    ".hidden omptier_chase_next\n"
    ".globl omptier_chase_next\n"
    "omptier_chase_next:\n"
    "  addq $1, %rax\n"
    "  addq $2, %rcx\n"
    "  addq $3, %rdx\n"
    "  xorq $5, %rax\n"
    "  xorq $5, %rcx\n"
    "  decq %rsi\n"
    "  jnz omptier_chase_load\n"
    ".hidden omptier_chase_end\n"
    ".globl omptier_chase_end\n"
    "omptier_chase_end:\n"
    "  movq %rdi, %rax\n"
    "  ret\n"
    ".cfi_endproc\n"
    ".size omptier_chase, . - omptier_chase\n");
// clang-format on

extern "C" {
void* omptier_chase(void* first, std::uint64_t steps);
extern char omptier_chase_load[], omptier_chase_next[], omptier_chase_end[];
}

#endif

namespace omptier {

#if defined(__x86_64__)

namespace {

constexpr std::size_t k_bytes = 2 << 20, k_node = 64, k_nodes = k_bytes / k_node;
constexpr double k_slice = 0.125e-3;    // seconds
constexpr std::uint64_t k_steps = 2000; // between readings of the clock

double thread_cpu_seconds() {
  return 1e-9 * static_cast<double>(own_cpu_nanoseconds());
}

// Links the nodes to one cycle of pseudo-random steps: a linear congruential generator of full
// period (multiplier 4n + 1, odd increment). The nodes are written in the order of memory.
void link_nodes(char* memory) {
  constexpr std::size_t k_multiplier = 12125, k_increment = 7919;
  static_assert(std::has_single_bit(k_nodes) && k_multiplier % 4 == 1 && k_increment % 2 == 1);
  for (std::size_t i = 0; i < k_nodes; ++i)
    *reinterpret_cast<void**>(memory + i * k_node) =
        memory + (i * k_multiplier + k_increment) % k_nodes * k_node;
}

} // namespace

ChaseCode chase_code() {
  return {reinterpret_cast<std::uint64_t>(omptier_chase_load),
          reinterpret_cast<std::uint64_t>(omptier_chase_next),
          reinterpret_cast<std::uint64_t>(omptier_chase_end)};
}

Skid measure_skid(unsigned most, double seconds,
                  const std::function<std::vector<RegisterSample>()>& collect) {
  Skid skid;
  void* memory = os().map(nullptr, k_bytes, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (memory == MAP_FAILED) return skid;
  link_nodes(static_cast<char*>(memory));
  double begin = thread_cpu_seconds();
  void* node = memory;
  while (!skid.decided() && skid.samples < most && skid.cpu_seconds < seconds) {
    double slice_end = thread_cpu_seconds() + k_slice;
    while (thread_cpu_seconds() < slice_end)
      node = omptier_chase(node, k_steps);
    judge_skid(collect(), skid);
    skid.cpu_seconds = thread_cpu_seconds() - begin;
  }
  os().unmap(memory, k_bytes);
  return skid;
}

#else

ChaseCode chase_code() {
  return {};
}

Skid measure_skid(unsigned, double, const std::function<std::vector<RegisterSample>()>&) {
  return {};
}

#endif

void judge_skid(const std::vector<RegisterSample>& samples, Skid& skid) {
  ChaseCode code = chase_code();
  for (const RegisterSample& sample : samples) {
    if (sample.pc < code.load || sample.pc >= code.end) continue;
    ++skid.samples;
    if (sample.pc == code.next) ++skid.next;
  }
}

} // namespace omptier
