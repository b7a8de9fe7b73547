// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The placement library under load: threads that come and go allocate, check, grow, move, hand over
// and free blocks of 16 bytes to 8 MiB on two tiers that are too small for them, while others list
// all blocks and give memory back. Every byte of a block is derived from its seed and checked when
// it is freed. Then processes doing the same are killed at random, and what they held in the job's
// ledger must be free again.
//
//   stress SECONDS threads|kills [SEED]
//
// Built with ASan+UBSan and with TSan (stress.cmake); std::thread only, since libomp is not
// instrumented. Exit 0: nothing was wrong.
#include "made_up_nodes.hpp"
#include "placement/block_list.hpp"
#include "placement/placer.hpp"

#include <chrono>
#include <csignal>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <random>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace omptier;
using Clock = std::chrono::steady_clock;

namespace {

[[noreturn]] __attribute__((format(printf, 1, 2))) void fail(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::fprintf(stderr, "stress: ");
  std::vfprintf(stderr, format, arguments);
  std::fputc('\n', stderr);
  va_end(arguments);
  std::abort();
}

// Two kinds of memory on a node each (made_up_nodes.hpp), the faster one small.
Platform two_kinds() {
  constexpr std::uint64_t k_bytes = std::uint64_t{8} << 30;
  Platform platform;
  Node dram, hbm;
  dram.kind = MemoryKind::dram;
  dram.cpus = {0, 1};
  hbm.number = 1;
  hbm.kind = MemoryKind::hbm;
  dram.capacity = hbm.capacity = k_bytes;
  platform.nodes = {dram, hbm};
  platform.tiers = {{MemoryKind::hbm, {1}, k_bytes, {}}, {MemoryKind::dram, {0}, k_bytes, {}}};
  return platform;
}

// One page in eight does not move; of every fourth 65,536, two in three.
int some_stay(std::uintptr_t, int, int) {
  static std::atomic<std::uint32_t> pages{0};
  const std::uint32_t page = pages.fetch_add(1, std::memory_order_relaxed);
  const std::uint32_t chance = page * 2654435761u >> 16 & 255;
  return chance < (page >> 16 & 3 ? 32u : 170u) ? -EBUSY : 0;
}

// And one call in a hundred fails as a whole.
long failing_moves(int pid, unsigned long count, void** pages, const int* nodes, int* status,
                   int flags) {
  static std::atomic<std::uint32_t> calls{0};
  if (nodes != nullptr && calls.fetch_add(1, std::memory_order_relaxed) % 100 == 99)
    return errno = ENOMEM, -1;
  return made_up_nodes::move_pages(pid, count, pages, nodes, status, flags);
}

CapacityRules small_capacity() {
  CapacityByKind capacity;
  capacity[static_cast<std::size_t>(MemoryKind::hbm)] = std::uint64_t{24} << 20;
  capacity[static_cast<std::size_t>(MemoryKind::dram)] = std::uint64_t{96} << 20;
  return CapacityRules(capacity);
}

struct Block {
  unsigned char* at = nullptr;
  std::size_t bytes = 0;
  std::uint64_t seed = 0;
};

// Eight bytes at a time, each word from its place and the block's seed.
std::uint64_t word(const Block& block, std::size_t index) {
  return (block.seed + index) * 0x9e3779b97f4a7c15u;
}
void fill(const Block& block, std::size_t from = 0) {
  for (std::size_t i = from / 8 * 8; i < block.bytes; i += 8) {
    const std::uint64_t value = word(block, i);
    std::memcpy(block.at + i, &value, std::min<std::size_t>(8, block.bytes - i));
  }
}
void verify(const Block& block) {
  for (std::size_t i = 0; i < block.bytes; i += 8) {
    const std::uint64_t value = word(block, i);
    if (std::memcmp(block.at + i, &value, std::min<std::size_t>(8, block.bytes - i)) != 0)
      fail("wrong bytes at %zu of %zu", i, block.bytes);
  }
}

struct Counts {
  std::atomic<std::uint64_t> placed{0}, refused{0}, handed{0}, moved{0}, resized{0}, threads{0},
      looked_up{0};
};

// Where threads leave blocks for others to free.
class Mailbox {
public:
  void put(const Block& block) {
    const std::lock_guard guard(lock_);
    blocks_.push_back(block);
  }
  bool get(Block& block) {
    const std::lock_guard guard(lock_);
    if (blocks_.empty()) return false;
    block = blocks_.back();
    blocks_.pop_back();
    return true;
  }

private:
  std::mutex lock_;
  std::vector<Block> blocks_;
};

class Worker {
public:
  Worker(Placer& placer, Mailbox& mailbox, Counts& counts, std::uint64_t seed)
      : placer_(placer), mailbox_(mailbox), counts_(counts), random_(seed) {}

  // A thread's life: some hundred steps, then it frees or leaves what it has.
  void live() {
    counts_.threads.fetch_add(1);
    for (std::uint64_t left = 100 + random_() % 900; left != 0; --left)
      step();
    for (const Block& block : blocks_)
      random_() % 4 == 0 ? mailbox_.put(block) : release(block);
  }

private:
  void step() {
    const unsigned what = random_() % 100;
    if (blocks_.empty() || (what < 45 && blocks_.size() < 60)) return allocate();
    const std::size_t which = random_() % blocks_.size();
    Block& block = blocks_[which];
    if (what < 75) {
      release(block);
    } else if (what < 82) {
      mailbox_.put(block);
      counts_.handed.fetch_add(1);
    } else {
      if (what < 88) move(block);
      if (what >= 88 && what < 94) resize(block);
      if (what >= 94) look(block);
      return;
    }
    block = blocks_.back();
    blocks_.pop_back();
    if (Block other; random_() % 3 == 0 && mailbox_.get(other)) release(other);
  }

  void allocate() {
    BlockRequest request;
    const unsigned magnitude = 4 + random_() % (random_() % 8 == 0 ? 20 : 12); // to 8 MiB
    request.bytes = (std::size_t{1} << magnitude) - 1 + random_() % (std::size_t{1} << magnitude);
    request.alignment = std::size_t{1} << random_() % 13;
    request.required = random_() % 2 == 0;
    request.allocator = 1 + random_() % 3;
    request.caller = this;
    Block block;
    bool fresh = false;
    Refusal why = Refusal::none;
    block.at = static_cast<unsigned char*>(placer_.place(random_() % 2, request, fresh, why));
    if (block.at == nullptr) {
      if (why == Refusal::none) fail("refused without a reason");
      counts_.refused.fetch_add(1);
      if (random_() % 64 == 0) placer_.give_back_unused();
      return;
    }
    if (reinterpret_cast<std::uintptr_t>(block.at) % request.alignment != 0) fail("misaligned");
    block.bytes = request.bytes;
    block.seed = random_();
    if (fresh)
      for (std::size_t i = 0; i < block.bytes; i += 61)
        if (block.at[i] != 0) fail("a fresh block is not zero");
    fill(block);
    counts_.placed.fetch_add(1);
    blocks_.push_back(block);
  }

  void release(const Block& block) {
    verify(block);
    std::memset(block.at, 0xdd, std::min<std::size_t>(block.bytes, 256));
    if (!placer_.release(block.at)) fail("a live block is not known");
  }

  void move(const Block& block) {
    std::uint64_t moved = 0;
    const MemoryKind kind = random_() % 2 == 0 ? MemoryKind::hbm : MemoryKind::dram;
    if (block.bytes >= k_large_block &&
        placer_.move_block(block.at, kind, moved) == MoveResult::moved)
      counts_.moved.fetch_add(1);
  }

  void resize(Block& block) {
    const std::size_t bytes = block.bytes / 2 + 1 + random_() % block.bytes;
    if (!placer_.resize_in_place(block.at, bytes)) return;
    const std::size_t before = block.bytes;
    block.bytes = bytes;
    if (bytes > before) fill(block, before);
    counts_.resized.fetch_add(1);
  }

  void look(const Block& block) {
    BlockInfo info;
    if (!placer_.find(block.at + block.bytes / 2, false, info) ||
        info.begin != reinterpret_cast<std::uintptr_t>(block.at) || info.bytes != block.bytes)
      fail("an address inside a block is not found");
    if (placer_.find(block.at + block.bytes / 2 + 1, true, info) && block.bytes > 2)
      fail("an address inside a block is taken for a begin");
  }

  Placer& placer_;
  Mailbox& mailbox_;
  Counts& counts_;
  std::mt19937_64 random_;
  std::vector<Block> blocks_;
};

// Asks for an address that its owner may be freeing: what is found is a block around it.
void look_up(const Placer& placer, std::uintptr_t at, Counts& counts) {
  BlockInfo info;
  if (!placer.find(reinterpret_cast<const void*>(at), false, info)) return;
  if (at - info.begin >= info.room || info.bytes == 0 || info.bytes > info.room ||
      info.space == nullptr || (info.large && info.charged == MemoryKind::unknown))
    fail("what was found at an address is no block around it");
  counts.looked_up.fetch_add(1);
}

// All blocks and both tiers' room, again and again, as dumps and commits ask for them; some of the
// blocks are looked up and moved, whoever holds them and whether they still live.
void keep_listing(Placer& placer, const std::atomic<bool>& stop, Counts& counts) {
  std::minstd_rand random;
  while (!stop.load()) {
    BlockList list;
    list.fill(placer);
    for (const BlockInfo& block : list.all()) {
      if (block.bytes > block.room)
        fail("a block of %zu bytes in a place of %zu", block.bytes, block.room);
      look_up(placer, block.begin + block.room / 2, counts);
      std::uint64_t moved = 0;
      const MemoryKind kind = block.charged == MemoryKind::hbm ? MemoryKind::dram : MemoryKind::hbm;
      if (block.large && random() % 4 == 0 &&
          placer.move_block(reinterpret_cast<const void*>(block.begin), kind, moved) ==
              MoveResult::moved)
        counts.moved.fetch_add(1);
    }
    for (std::size_t tier = 0; tier < placer.tier_count(); ++tier)
      placer.room_on(tier);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

// Page by page, too.
void expect_sound(Placer& placer, const char* when) {
  std::string why_not;
  if (!placer.is_sound(why_not, true)) fail("not sound %s: %s", when, why_not.c_str());
}

void load(Placer& placer, unsigned slots, Clock::time_point end, std::uint64_t seed,
          Counts& counts) {
  Mailbox mailbox;
  std::atomic<bool> stop{false};
  std::thread lister([&] { keep_listing(placer, stop, counts); });
  std::vector<std::thread> threads(slots);
  for (std::uint64_t round = 0; Clock::now() < end; ++round) {
    std::thread& thread = threads[round % slots];
    if (thread.joinable()) thread.join();
    thread =
        std::thread([&, number = seed + round] { Worker(placer, mailbox, counts, number).live(); });
  }
  for (std::thread& thread : threads)
    if (thread.joinable()) thread.join();
  stop = true;
  lister.join();
  expect_sound(placer, "with blocks that live");
  for (Block block; mailbox.get(block);) {
    verify(block);
    if (!placer.release(block.at)) fail("a block in the mailbox is not known");
  }
}

void check_end(Placer& placer) {
  expect_sound(placer, "with what is kept");
  placer.give_back_unused();
  expect_sound(placer, "when all is given back");
  for (const MemoryKind kind : k_all_memory_kinds)
    if (placer.ledger().used(kind) != 0)
      fail("%llu bytes are counted as used",
           static_cast<unsigned long long>(placer.ledger().used(kind)));
}

void run_threads(double seconds, std::uint64_t seed) {
  Counts counts;
  Placer placer(two_kinds(), small_capacity());
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  load(placer, 6, std::chrono::time_point_cast<Clock::duration>(end), seed, counts);
  check_end(placer);
  std::printf("%llu threads: %llu blocks placed, %llu refused, %llu handed over, %llu moved, %llu "
              "resized, %llu found by others\n",
              static_cast<unsigned long long>(counts.threads),
              static_cast<unsigned long long>(counts.placed),
              static_cast<unsigned long long>(counts.refused),
              static_cast<unsigned long long>(counts.handed),
              static_cast<unsigned long long>(counts.moved),
              static_cast<unsigned long long>(counts.resized),
              static_cast<unsigned long long>(counts.looked_up));
}

// ---- Processes of one job, killed at any moment.

std::string job_file() {
  return "/dev/shm/omptier-stress-" + std::to_string(::getpid());
}

pid_t start_process(const std::string& file, std::uint64_t seed) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  CapacityRules rules = small_capacity();
  rules.job_ledger = file;
  Placer placer(two_kinds(), rules);
  Counts counts;
  load(placer, 2, Clock::now() + std::chrono::hours(1), seed, counts);
  ::_exit(0);
}

void run_kills(double seconds, std::uint64_t seed) {
  const std::string file = job_file();
  NodeBytes capacity;
  capacity.fill(JobLedger::k_no_limit);
  JobLedger job(file.c_str(), capacity);
  NodeSet node;
  node.add(0);
  job.enter();
  if (!job.reserve(node, 4096) || !job.active()) fail("no job ledger: %s", job.why_alone());
  std::mt19937_64 random(seed);
  const auto end = Clock::now() + std::chrono::duration<double>(seconds);
  std::vector<pid_t> processes;
  unsigned killed = 0, most = 0;
  std::uint64_t highest = 0;
  while (Clock::now() < end) {
    if (processes.size() < 4) processes.push_back(start_process(file, random()));
    std::this_thread::sleep_for(std::chrono::milliseconds(10 + random() % 120));
    most = std::max(most, job.processes());
    highest = std::max(highest, job.granted(0));
    if (random() % 3 == 0) continue;
    const std::size_t which = random() % processes.size();
    ::kill(processes[which], SIGKILL);
    int status = 0;
    ::waitpid(processes[which], &status, 0);
    if (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL)
      fail("a process ended by itself, status %x", static_cast<unsigned>(status));
    processes.erase(processes.begin() + static_cast<std::ptrdiff_t>(which));
    ++killed;
  }
  for (const pid_t process : processes) {
    ::kill(process, SIGKILL);
    ::waitpid(process, nullptr, 0);
    ++killed;
  }
  job.reclaim_slots();
  if (job.granted(0) != 4096)
    fail("%llu bytes are counted for processes that are gone",
         static_cast<unsigned long long>(job.granted(0) - 4096));
  if (job.processes() != 1) fail("%u processes in the job's ledger", job.processes());
  if (most < 2 || highest <= 4096) fail("the processes did not meet in the ledger");
  job.give_back(node, 4096);
  job.leave();
  if (::access(file.c_str(), F_OK) == 0) fail("the ledger's file is left");
  std::printf("%u processes killed; up to %u at a time, %llu MiB\n", killed, most,
              static_cast<unsigned long long>(highest >> 20));
}

} // namespace

int main(int argc, char** argv) {
  if (argc < 3) return std::fprintf(stderr, "stress SECONDS threads|kills [SEED]\n"), 2;
  const double seconds = std::atof(argv[1]);
  const std::uint64_t seed =
      argc > 3 ? std::strtoull(argv[3], nullptr, 10) : std::random_device{}();
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  static OsCalls calls = made_up_nodes::calls();
  made_up_nodes::verdict = some_stay;
  calls.move_pages = failing_moves;
  replace_os_calls(&calls);
  std::strcmp(argv[2], "kills") == 0 ? run_kills(seconds, seed) : run_threads(seconds, seed);
  return 0;
}
