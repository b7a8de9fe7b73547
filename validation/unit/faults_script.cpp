// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "faults_script.hpp"

#include "allocators/declarations.hpp"
#include "allocators/placement_text.hpp"
#include "allocators/runtime.hpp"
#include "borders/libomp_hooks.h"
#include "traits/trait_set.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace omptier;

namespace {

// A stand-in for libomp whose memory never fails.
void* stock_allocate(std::size_t size, std::size_t alignment, std::uintptr_t) {
  auto* block = static_cast<char*>(std::aligned_alloc(4096, (size + 4096 + 4095) & ~4095ul));
  if (block == nullptr || alignment > 4096) return nullptr;
  std::memcpy(block, &size, sizeof size);
  return block + 4096;
}
void stock_free(void* block) {
  std::free(static_cast<char*>(block) - 4096);
}
std::size_t stock_size(const void* block) {
  std::size_t size = 0;
  std::memcpy(&size, static_cast<const char*>(block) - 4096, sizeof size);
  return size;
}
const omptier_runtime k_libomp = {OMPTIER_HOOKS_VERSION,
                                  sizeof(omptier_runtime),
                                  stock_allocate,
                                  stock_free,
                                  stock_size,
                                  [] { return std::uintptr_t{1}; },
                                  [](const void*) { return std::uintptr_t{1}; },
                                  [](std::uintptr_t) { return std::uintptr_t{1}; },
                                  [](void (*)()) {}};

constexpr std::uintptr_t k_dram_space = 501, k_hbm_space = 502, k_nvm_space = 503,
                         k_auto_space = 500;
constexpr int k_pool_size = 4, k_fallback = 5, k_pinned = 7; // keys as OpenMP numbers them

struct Block {
  unsigned char* at = nullptr;
  std::size_t bytes = 0;
  unsigned char fill = 0;
};

class Script {
public:
  Script() : hooks_(*omptier_runtime_attach(OMPTIER_HOOKS_VERSION, &k_libomp)) {}

  std::string run();

private:
  void fail(const char* what, std::size_t number = 0) {
    if (problem_.empty())
      problem_ = "step " + std::to_string(step_) + ": " + what + " " + std::to_string(number);
  }
  std::uintptr_t make(std::uintptr_t space, std::initializer_list<omptier_trait> traits);
  void allocate(Block& block, std::size_t bytes, std::uintptr_t handle, bool may_be_null,
                bool zero);
  void reallocate(Block& block, std::size_t bytes, std::uintptr_t handle);
  void release(Block& block);
  void fill(const Block& block);
  void check(const Block& block);
  void query(const Block& block);
  void move(const Block& block);
  void fork_here();

  const omptier_hooks& hooks_;
  std::array<Block, 16> blocks_;
  unsigned step_ = 0;
  std::string problem_;
};

// Bytes looked at: both ends and some sixty between, so that large blocks stay cheap.
template <typename F> void each_place(std::size_t bytes, F&& visit) {
  const std::size_t step = bytes < 64 ? 1 : bytes / 61;
  for (std::size_t i = 0; i < bytes; i += step)
    visit(i);
  visit(bytes - 1);
}

void Script::fill(const Block& block) {
  each_place(block.bytes, [&](std::size_t i) { block.at[i] = block.fill; });
}
void Script::check(const Block& block) {
  each_place(block.bytes, [&](std::size_t i) {
    if (block.at[i] != block.fill) fail("wrong byte", i);
  });
}

// A handle; where memory for the allocator cannot be had, null, as OpenMP has it.
std::uintptr_t Script::make(std::uintptr_t space, std::initializer_list<omptier_trait> traits) {
  std::uintptr_t handle = 77;
  if (hooks_.init_allocator(space, static_cast<int>(traits.size()), traits.begin(), &handle) != 1)
    fail("the allocator is not taken");
  return handle != 0 ? handle : k_dram_space;
}

void Script::allocate(Block& block, std::size_t bytes, std::uintptr_t handle, bool may_be_null,
                      bool zero) {
  void* at = nullptr;
  const void* caller = __builtin_return_address(0);
  const int taken = zero ? hooks_.allocate_zeroed(bytes / 16, 16, 0, handle, caller, &at)
                         : hooks_.allocate(bytes, step_ % 5 == 0 ? 4096 : 0, handle, caller, &at);
  if (taken != 1) { // only where there was no page for the table of allocators; libomp serves then
    if (runtime().allocators.find(handle) != nullptr) fail("the allocation is not taken");
    at = stock_allocate(bytes, 4096, 1);
    std::memset(at, 0, bytes);
    hooks_.stock_allocated(at, bytes, handle, caller);
  }
  if (at == nullptr) {
    if (!may_be_null) fail("null in spite of the fallback");
    block = {};
    return;
  }
  block = {static_cast<unsigned char*>(at), zero ? bytes / 16 * 16 : bytes,
           static_cast<unsigned char>(step_ * 7 + 1)};
  if (reinterpret_cast<std::uintptr_t>(at) % (zero || step_ % 5 != 0 ? 16 : 4096) != 0)
    fail("misaligned");
  if (zero)
    each_place(block.bytes, [&](std::size_t i) {
      if (block.at[i] != 0) fail("calloc: a byte is not zero", i);
    });
  fill(block);
}

void Script::reallocate(Block& block, std::size_t bytes, std::uintptr_t handle) {
  check(block);
  void* at = nullptr;
  if (hooks_.reallocate(block.at, bytes, handle, 0, __builtin_return_address(0), &at) != 1) {
    if (runtime().allocators.find(handle) != nullptr) fail("the reallocation is not taken");
    at = stock_allocate(bytes, 4096, 1); // libomp does it then
    std::memcpy(at, block.at, std::min(bytes, block.bytes));
    hooks_.stock_released(block.at);
    stock_free(block.at);
  }
  if (at == nullptr) { // the old one stays
    check(block);
    return release(block);
  }
  const std::size_t kept = std::min(bytes, block.bytes);
  const std::size_t step = block.bytes < 64 ? 1 : block.bytes / 61;
  block.at = static_cast<unsigned char*>(at);
  for (std::size_t i = 0; i < kept; i += step)
    if (block.at[i] != block.fill) fail("realloc: wrong byte", i);
  block.bytes = bytes;
  fill(block);
}

void Script::release(Block& block) {
  if (block.at == nullptr) return;
  check(block);
  if (hooks_.release(block.at, 0) == 0) {
    hooks_.stock_released(block.at);
    stock_free(block.at);
  }
  block = {};
}

void Script::query(const Block& block) {
  PlacementReport report;
  if (!describe_placement(block.at, 0, report)) return; // stock, and its entry was refused memory
  std::size_t bytes = report.untouched + report.unqueried;
  for (const std::size_t of_kind : report.bytes)
    bytes += of_kind;
  if (report.block_bytes != block.bytes || bytes != block.bytes) fail("a query counts", bytes);
}

void Script::move(const Block& block) {
  Placer* placer = runtime().placer_if_ready();
  if (placer == nullptr) return;
  std::uint64_t moved = 0;
  if (placer->holds(block.at))
    placer->move_block(block.at, step_ % 2 == 0 ? MemoryKind::hbm : MemoryKind::dram, moved);
  check(block);
}

// A byte is read and written as it is, by the kernel, which refuses where we would end.
bool is_open(void* block) {
  char byte = 0;
  const iovec here{&byte, 1}, there{block, 1};
  return ::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) == 1 &&
         ::process_vm_writev(::getpid(), &here, 1, &there, 1, 0) == 1;
}

// The child's calls fail as the parent's do; what it allocates and frees is its own. Blocks in the
// folder's file it may be refused (warning 5047).
void Script::fork_here() {
  const pid_t child = ::fork();
  if (child == 0) {
    Placer* placer = runtime().placer_if_ready();
    BlockInfo info;
    for (Block& block : blocks_)
      if (block.at == nullptr || is_open(block.at) || placer == nullptr ||
          !placer->find(block.at, true, info) || info.space->backing().folder() == nullptr)
        release(block);
    Block mine;
    allocate(mine, 3000, k_dram_space, true, false);
    release(mine);
    ::_exit(problem_.empty() ? 0 : 1);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child || status != 0)
    fail("the forked child ended with", static_cast<std::size_t>(status));
}

std::string Script::run() {
  // The two largest come seldom: most of the time goes into their pages.
  constexpr std::size_t k_sizes[] = {16,     100,     3000,     200,      70000, 300000, 1000,
                                     900000, 5 << 20, 20 << 20, 64 << 20, 40,    250000};
  // Predefined; pinned, with null where it cannot be had; preferred; with a pool; the other kinds.
  const std::uintptr_t pinned = make(k_dram_space, {{k_pinned, 1}, {k_fallback, 12}});
  const std::uintptr_t pooled = make(k_auto_space, {{k_pool_size, 100 << 20}, {5005, 300}});
  const std::uintptr_t other = make(k_hbm_space, {});
  const std::uintptr_t in_file = make(k_nvm_space, {});
  const int sink = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
  for (step_ = 0; step_ < 200; ++step_) {
    Block& block = blocks_[step_ * 5 % 16];
    const std::uintptr_t handles[] = {k_dram_space, pinned, k_auto_space,
                                      step_ <= 150 ? pooled : k_auto_space,
                                      step_ % 4 == 0 ? in_file : other};
    const std::uintptr_t handle = handles[step_ * 3 % 5];
    const bool null_fb = handle == pinned;
    std::size_t bytes = k_sizes[step_ % std::size(k_sizes)] + step_ % 3;
    if (bytes > 10 << 20 && step_ % 3 != 0) bytes /= 16;
    switch (step_ % 10) {
    case 3:
      if (block.at != nullptr) {
        reallocate(block, bytes, k_dram_space);
        break;
      }
      [[fallthrough]];
    case 0:
      release(block);
      allocate(block, bytes, handle, null_fb, true);
      break;
    case 6:
      if (block.at != nullptr && step_ % 20 == 6) query(block);
      if (block.at != nullptr) move(block);
      break;
    case 9:
      if (step_ % 50 == 49) {
        write_dump(sink); // false where a write was refused
        Outcome outcome{};
        apply(DecisionOrder::density, outcome);
      }
      release(block);
      break;
    default:
      release(block);
      allocate(block, bytes, handle, null_fb, false);
    }
    if (step_ == 120) fork_here();
    if (step_ == 150 && pooled != k_dram_space) hooks_.destroy_allocator(pooled);
    if (step_ == 160)
      for (Block& all : blocks_)
        if (all.at != nullptr) check(all);
  }
  ::close(sink);
  for (Block& block : blocks_)
    release(block);
  for (const std::uintptr_t made : {pinned, other, in_file})
    if (made != k_dram_space) hooks_.destroy_allocator(made);
  return problem_;
}

// The machine's memory, as much of another kind on a node that is not there (made_up_nodes.hpp), so
// that moves have somewhere to go, and a folder's file as the third.
void start_with_more_kinds() {
  auto platform = discover_platform({});
  if (!platform || platform->tiers.empty()) return; // a fault: the runtime finds out for itself
  platform->nodes.resize(1);
  platform->tiers = {{platform->nodes[0].kind, {0}, platform->nodes[0].capacity, {}}};
  Node other;
  other.number = 1;
  other.kind = MemoryKind::hbm;
  other.capacity = platform->nodes[0].capacity;
  platform->nodes.push_back(other);
  platform->tiers.push_back({other.kind, {1}, other.capacity, {}});
  CapacityRules rules;
  rules.folder = "/dev/shm";
  rules.folder_without_dax = true;
  restart_runtime_for_tests(std::move(*platform), rules, {}, nullptr);
}

// Accessible bytes of a mapping inside the reserved ranges.
std::uint64_t accessible_bytes(Placer& placer) {
  std::FILE* maps = std::fopen("/proc/self/maps", "r");
  if (maps == nullptr) return 0;
  char line[512];
  std::uint64_t sum = 0;
  while (std::fgets(line, sizeof line, maps) != nullptr) {
    unsigned long begin = 0, end = 0;
    char access[5] = "";
    if (std::sscanf(line, "%lx-%lx %4s", &begin, &end, access) == 3 && access[1] == 'w' &&
        placer.holds(reinterpret_cast<const void*>(begin)))
      sum += end - begin;
  }
  std::fclose(maps);
  return sum;
}

} // namespace

std::string run_fault_script(bool more_kinds) {
  if (more_kinds) start_with_more_kinds();
  return Script().run();
}

std::string check_nothing_left(bool more_kinds) {
  Placer* placer = runtime().placer_if_ready();
  if (placer == nullptr) return {};
  std::string why_not;
  if (!placer->is_sound(why_not, more_kinds)) return "not sound: " + why_not;
  placer->give_back_unused();
  if (!placer->is_sound(why_not, more_kinds)) return "not sound in the end: " + why_not;
  for (const MemoryKind kind : k_all_memory_kinds)
    if (placer->ledger().used(kind) != 0)
      return std::to_string(placer->ledger().used(kind)) + " bytes are counted as used";
  if (const std::uint64_t bytes = accessible_bytes(*placer))
    return std::to_string(bytes) + " bytes are still accessible";
  std::size_t blocks = 0;
  placer->for_each_block([&](const BlockInfo&) { ++blocks; });
  return blocks == 0 ? std::string() : std::to_string(blocks) + " blocks live";
}
