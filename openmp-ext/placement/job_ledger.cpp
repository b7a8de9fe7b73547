// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Grants and gives back. The order of reads and writes keeps the sum right: a request is published
// before others' slots are read; it is added to the granted bytes before it is withdrawn, and
// counts only if its own process could withdraw it; and a reader reads a slot's request before its
// granted bytes. All of these are sequentially consistent. Only the slot's process ever publishes a
// request, so one that was called off does not come back.
#include "placement/job_ledger.hpp"

#include "base/os.hpp"

#include <algorithm>
#include <cstdio>

namespace omptier {
namespace {

constexpr int k_most_rounds = 64; // of calling one another off: each succeeds half of the time
constexpr std::uint64_t k_reclaim_pause = 1'000'000; // ns

std::uint64_t add(std::uint64_t a, std::uint64_t b) { // saturating: a file can hold anything
  std::uint64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? ~std::uint64_t{0} : sum;
}

template <typename F> void each_node(NodeSet nodes, F&& visit) {
  for (; !nodes.empty(); nodes.bits &= nodes.bits - 1)
    visit(nodes.first());
}

} // namespace

JobLedger::JobLedger(const char* path, const NodeBytes& capacity) : capacity_(capacity) {
  const int length = std::snprintf(path_, sizeof path_, "%s", path);
  if (length <= 0 || length >= static_cast<int>(sizeof path_)) state_ = State::alone;
}

// Null where none is open, and in a child made without fork handlers: it has a copy of file_, but
// the slot is its parent's. The mapping stays, since another thread may be reading it.
JobFile* JobLedger::own_file() {
  if (file_ != nullptr && !mark_.is_set()) {
    file_ = nullptr;
    why_ = "this process was forked without fork handlers";
    state_.store(State::alone, std::memory_order_release);
  }
  return file_;
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
          asked != 0 && (slot.asking_nodes.load() & nodes.bits) != 0)
        sums.asked = add(sums.asked, asked);
    each_node(nodes, [&](unsigned node) {
      sums.granted[node] = add(sums.granted[node], slot.granted[node].load());
    });
  }
  return sums;
}

// Distributes bytes over the nodes by room; other processes' requests count on every node.
bool JobLedger::spread(NodeSet nodes, std::uint64_t bytes, const Sums& sums,
                       NodeBytes& parts) const {
  each_node(nodes, [&](unsigned node) {
    const std::uint64_t gone = add(sums.granted[node], sums.asked);
    const std::uint64_t room = capacity_[node] > gone ? capacity_[node] - gone : 0;
    parts[node] = std::min(room, bytes);
    bytes -= parts[node];
  });
  return bytes == 0;
}

// No process is notified or waited for: the owner's compare-exchange fails.
void JobLedger::call_off_others(NodeSet nodes) {
  for (unsigned i = 0; i < slots_seen(); ++i) {
    JobSlot& slot = file_->slots[i];
    std::uint64_t asked = i != slot_ ? slot.asking_bytes.load() : 0;
    if (asked != 0 && (slot.asking_nodes.load() & nodes.bits) != 0)
      slot.asking_bytes.compare_exchange_strong(asked, 0);
  }
}

bool JobLedger::decide(NodeSet nodes, std::uint64_t bytes, Account& account) {
  JobSlot& own = file_->slots[slot_];
  own.asking_nodes.store(nodes.bits);
  for (int round = 0; round < k_most_rounds; ++round) {
    own.asking_bytes.store(bytes);
    Sums sums = sum(nodes);
    NodeBytes parts{};
    if (spread(nodes, bytes, sums, parts)) {
      each_node(nodes, [&](unsigned node) { own.granted[node].fetch_add(parts[node]); });
      std::uint64_t asked = bytes;
      if (own.asking_bytes.compare_exchange_strong(asked, 0)) {
        each_node(nodes, [&](unsigned node) { account.bytes[node] += parts[node]; });
        return true;
      }
      each_node(nodes, [&](unsigned node) { own.granted[node].fetch_sub(parts[node]); });
      continue;
    }
    if (sums.asked == 0) break;
    sums.asked = 0;
    parts = {};
    if (!spread(nodes, bytes, sums, parts)) break;
    call_off_others(nodes);
  }
  own.asking_bytes.store(0);
  return false;
}

// By room, the rest on the first node: nothing is refused for a limit that is not visible yet.
void JobLedger::count_alone(NodeSet nodes, std::uint64_t bytes, Account& account) const {
  Sums own;
  for (const Account& each : accounts_)
    each_node(nodes, [&](unsigned node) { own.granted[node] += each.bytes[node]; });
  NodeBytes parts{};
  spread(nodes, bytes, own, parts);
  each_node(nodes, [&](unsigned node) {
    account.bytes[node] += parts[node];
    bytes -= parts[node];
  });
  account.bytes[nodes.first()] += bytes;
}

bool JobLedger::reserve(NodeSet nodes, std::uint64_t bytes) {
  if (nodes.empty() || bytes == 0) return true;
  if (state_.load(std::memory_order_relaxed) == State::alone) return true;
  for (bool again = true;; again = false) {
    {
      const std::lock_guard guard(lock_);
      Account* const counted = account(nodes);
      if (counted == nullptr) return true;
      if (own_file() == nullptr) return count_alone(nodes, bytes, *counted), true;
      if (decide(nodes, bytes, *counted)) return true;
    }
    // A killed process may still be counted. Checked at intervals, not at every refusal.
    const std::uint64_t now = monotonic_nanoseconds();
    std::uint64_t before = reclaimed_at_.load(std::memory_order_relaxed);
    if (!again || now - before < k_reclaim_pause ||
        !reclaimed_at_.compare_exchange_strong(before, now) || reclaim() == 0)
      return false;
  }
}

void JobLedger::give_back(NodeSet nodes, std::uint64_t bytes) {
  if (nodes.empty() || state_.load(std::memory_order_relaxed) == State::alone) return;
  const std::lock_guard guard(lock_);
  Account* const counted = account(nodes);
  if (counted == nullptr) return;
  JobFile* const file = own_file();
  const std::uint64_t inherited = std::min(bytes, counted->inherited);
  counted->inherited -= inherited;
  bytes -= inherited;
  each_node(nodes, [&](unsigned node) {
    const std::uint64_t part = std::min(bytes, counted->bytes[node]);
    counted->bytes[node] -= part;
    bytes -= part;
    if (file != nullptr) file->slots[slot_].granted[node].fetch_sub(part);
  });
}

void JobLedger::publish_coming(std::uint64_t bytes) {
  const std::lock_guard guard(lock_);
  coming_ = bytes;
  if (JobFile* const file = own_file()) file->slots[slot_].coming.store(bytes);
}

std::uint64_t JobLedger::coming_of_others() {
  const std::lock_guard guard(lock_);
  const JobFile* const file = own_file();
  std::uint64_t all = 0;
  for (unsigned i = 0; file != nullptr && i < slots_seen(); ++i)
    if (i != slot_ && file->slots[i].pid.load() != 0) all = add(all, file->slots[i].coming.load());
  return all;
}

void JobLedger::ask_for_recount() {
  const std::lock_guard guard(lock_);
  JobFile* const file = own_file();
  for (unsigned i = 0; file != nullptr && i < slots_seen(); ++i)
    if (i != slot_ && file->slots[i].coming.load() != 0) file->slots[i].recount.store(1);
}

bool JobLedger::recount_wanted() {
  if (!active()) return false; // below a group's limit every large block asks
  const std::lock_guard guard(lock_);
  JobFile* const file = own_file();
  return file != nullptr && file->slots[slot_].recount.load() != 0 &&
         file->slots[slot_].recount.exchange(0) != 0;
}

unsigned JobLedger::slots_seen() const {
  return static_cast<unsigned>(
      std::min<std::uint64_t>(file_->header.slots_seen.load(), k_job_slots));
}

unsigned JobLedger::processes() {
  const std::lock_guard guard(lock_);
  const JobFile* const file = own_file();
  unsigned count = 0;
  for (unsigned i = 0; file != nullptr && i < slots_seen(); ++i)
    count += file->slots[i].pid.load() != 0 ? 1 : 0;
  return count;
}

unsigned JobLedger::reclaim_slots() {
  return active() ? reclaim() : 0;
}

std::uint64_t JobLedger::granted(unsigned node) {
  const std::lock_guard guard(lock_);
  NodeSet only;
  only.add(node);
  return own_file() != nullptr ? sum(only).granted[node] : 0;
}

std::uint64_t JobLedger::own(unsigned node) {
  const std::lock_guard guard(lock_);
  const JobFile* const file = own_file();
  return file != nullptr ? file->slots[slot_].granted[node].load() : 0;
}

} // namespace omptier
