// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Granting and giving back. The order of reads and writes is what keeps the sum right: a request is
// published before others' slots are read; it is added to what is granted before it is withdrawn;
// and a reader looks at a slot's request before it looks at what the slot was granted. All of these
// are sequentially consistent.
#include "placement/job_ledger.hpp"

#include "base/os.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <sched.h>

namespace omptier {
namespace {

constexpr int k_most_rounds = 1000;                  // of stepping back for one another
constexpr std::uint64_t k_reclaim_pause = 1'000'000; // ns

void pause(int round) { // whoever decides may not be running: 50 ms at most
  const timespec time{0, 50'000};
  round < 100 ? ::sched_yield() : ::nanosleep(&time, nullptr);
}

std::uint64_t add(std::uint64_t a, std::uint64_t b) { // saturating: a file can hold anything
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? ~std::uint64_t{0} : sum;
}

} // namespace

JobLedger::JobLedger(const char* path, const NodeBytes& capacity) : capacity_(capacity) {
  const int length = std::snprintf(path_, sizeof path_, "%s", path);
  alone_ = length <= 0 || length >= static_cast<int>(sizeof path_);
}

// Held for a microsecond, never by a thread that waits: a mutex would have to be remade after fork.
void JobLedger::lock() {
  while (busy_.test_and_set(std::memory_order_acquire))
    ::sched_yield();
}

JobLedger::Account* JobLedger::account(NodeSet nodes) {
  for (Account& account : accounts_) {
    if (account.nodes == nodes.bits) return &account;
    if (account.nodes == 0) return account.nodes = nodes.bits, &account;
  }
  return nullptr;
}

JobLedger::Sums JobLedger::sum(NodeSet nodes) const {
  Sums sums;
  for (unsigned i = 0; i < slots_seen(); ++i) {
    const JobSlot& slot = file_->slots[i];
    if (slot.pid.load() == 0) continue;
    if (i != slot_)
      if (const std::uint64_t asked = slot.asking_bytes.load();
          asked != 0 && (slot.asking_nodes.load() & nodes.bits) != 0) {
        sums.asked = add(sums.asked, asked);
        sums.lower = sums.lower || i < slot_;
      }
    for (std::uint64_t rest = nodes.bits; rest != 0; rest &= rest - 1) {
      const unsigned node = NodeSet{rest}.first();
      sums.granted[node] = add(sums.granted[node], slot.granted[node].load());
    }
  }
  return sums;
}

// Node by node as far as each has room; what others ask for counts as gone on every node.
bool JobLedger::spread(NodeSet nodes, std::uint64_t bytes, const Sums& sums,
                       NodeBytes& parts) const {
  for (std::uint64_t rest = nodes.bits; rest != 0 && bytes != 0; rest &= rest - 1) {
    const unsigned node = NodeSet{rest}.first();
    const std::uint64_t gone = add(sums.granted[node], sums.asked);
    const std::uint64_t room = capacity_[node] > gone ? capacity_[node] - gone : 0;
    parts[node] = std::min(room, bytes);
    bytes -= parts[node];
  }
  return bytes == 0;
}

bool JobLedger::decide(NodeSet nodes, std::uint64_t bytes, Account& account) {
  JobSlot& own = file_->slots[slot_];
  own.asking_nodes.store(nodes.bits);
  for (int round = 0; round < k_most_rounds; ++round) {
    own.asking_bytes.store(bytes);
    Sums sums = sum(nodes);
    NodeBytes parts{};
    if (spread(nodes, bytes, sums, parts)) {
      for (std::uint64_t rest = nodes.bits; rest != 0; rest &= rest - 1) {
        const unsigned node = NodeSet{rest}.first();
        account.bytes[node] += parts[node];
        own.granted[node].fetch_add(parts[node]);
      }
      own.asking_bytes.store(0);
      return true;
    }
    // Would it fit if the others did not ask? Then they are given a moment to decide.
    if (sums.asked == 0) break;
    sums.asked = 0;
    parts = {};
    if (!spread(nodes, bytes, sums, parts)) break;
    if (sums.lower) own.asking_bytes.store(0);
    pause(round);
  }
  own.asking_bytes.store(0);
  return false;
}

bool JobLedger::reserve(NodeSet nodes, std::uint64_t bytes) {
  if (alone_.load(std::memory_order_relaxed) || nodes.empty() || bytes == 0) return true;
  const Guard guard(*this);
  Account* const counted = account(nodes);
  if (counted == nullptr || (file_ == nullptr && !attach())) return true;
  if (decide(nodes, bytes, *counted)) return true;
  // Somebody killed may still be counted, or still be asking. Not looked for at every refusal.
  const std::uint64_t now = monotonic_nanoseconds();
  if (now - reclaimed_at_ < k_reclaim_pause) return false;
  reclaimed_at_ = now;
  return reclaim() != 0 && decide(nodes, bytes, *counted);
}

void JobLedger::give_back(NodeSet nodes, std::uint64_t bytes) {
  if (nodes.empty()) return;
  const Guard guard(*this);
  Account* const counted = account(nodes);
  if (counted != nullptr) {
    const std::uint64_t inherited = std::min(bytes, counted->inherited);
    counted->inherited -= inherited;
    bytes -= inherited;
    for (std::uint64_t rest = nodes.bits; rest != 0 && bytes != 0; rest &= rest - 1) {
      const unsigned node = NodeSet{rest}.first();
      const std::uint64_t part = std::min(bytes, counted->bytes[node]);
      counted->bytes[node] -= part;
      bytes -= part;
      if (file_ != nullptr) file_->slots[slot_].granted[node].fetch_sub(part);
    }
  }
}

void JobLedger::publish_coming(std::uint64_t bytes) {
  const Guard guard(*this);
  coming_ = bytes;
  if (file_ != nullptr) file_->slots[slot_].coming.store(bytes);
}

std::uint64_t JobLedger::coming_of_others() {
  const Guard guard(*this);
  std::uint64_t all = 0;
  for (unsigned i = 0; file_ != nullptr && i < slots_seen(); ++i)
    if (i != slot_ && file_->slots[i].pid.load() != 0)
      all = add(all, file_->slots[i].coming.load());
  return all;
}

void JobLedger::ask_for_recount() {
  const Guard guard(*this);
  for (unsigned i = 0; file_ != nullptr && i < slots_seen(); ++i)
    if (i != slot_ && file_->slots[i].coming.load() != 0) file_->slots[i].recount.store(1);
}

bool JobLedger::recount_wanted() {
  const Guard guard(*this);
  return file_ != nullptr && file_->slots[slot_].recount.load() != 0 &&
         file_->slots[slot_].recount.exchange(0) != 0;
}

unsigned JobLedger::slots_seen() const {
  return static_cast<unsigned>(
      std::min<std::uint64_t>(file_->header.slots_seen.load(), k_job_slots));
}

unsigned JobLedger::processes() {
  const Guard guard(*this);
  unsigned count = 0;
  for (unsigned i = 0; file_ != nullptr && i < slots_seen(); ++i)
    count += file_->slots[i].pid.load() != 0 ? 1 : 0;
  return count;
}

unsigned JobLedger::reclaim_slots() {
  const Guard guard(*this);
  return file_ != nullptr ? reclaim() : 0;
}

std::uint64_t JobLedger::granted(unsigned node) {
  const Guard guard(*this);
  NodeSet only;
  only.add(node);
  return file_ != nullptr ? sum(only).granted[node] : 0;
}

std::uint64_t JobLedger::own(unsigned node) {
  const Guard guard(*this);
  return file_ != nullptr ? file_->slots[slot_].granted[node].load() : 0;
}

} // namespace omptier
