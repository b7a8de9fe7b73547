// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One counter per kind, raised by compare-and-swap, so that the limit is never exceeded.
#include "placement/ledger.hpp"

namespace omptier {

Ledger::Ledger(const CapacityByKind& capacity) {
  for (const MemoryKind kind : k_all_memory_kinds)
    at(kind).limit = capacity[static_cast<std::size_t>(kind)].value_or(k_no_limit);
}

bool Ledger::reserve(MemoryKind kind, std::uint64_t bytes, Coming* coming) {
  const Answer answer = ask(kind, bytes, coming);
  if (answer == Answer::granted) return true;
  Account& account = at(kind);
  account.refusals.fetch_add(1, std::memory_order_relaxed);
  if (answer == Answer::refused_by_job)
    account.refusals_of_job.fetch_add(1, std::memory_order_relaxed);
  return false;
}

bool Ledger::begin_beyond(MemoryKind kind) {
  std::uint64_t none = 0;
  return limit(kind) <= k_no_limit - k_beyond &&
         at(kind).beyond.compare_exchange_strong(none, k_beyond, std::memory_order_relaxed);
}

bool Ledger::end_beyond(MemoryKind kind) {
  if (used(kind) > limit(kind)) return false;
  at(kind).beyond.store(0, std::memory_order_relaxed);
  return true;
}

Ledger::Answer Ledger::ask(MemoryKind kind, std::uint64_t bytes, Coming* coming,
                           std::uint64_t beyond) {
  Account& account = at(kind);
  std::uint64_t used = account.used.load(std::memory_order_relaxed);
  std::uint64_t wanted = 0;
  if (!group_leaves(kind, bytes, coming)) return Answer::refused;
  do {
    if (__builtin_add_overflow(used, bytes, &wanted) || wanted > account.limit + beyond)
      return Answer::refused;
  } while (!account.used.compare_exchange_weak(used, wanted, std::memory_order_relaxed));
  if (job_ != nullptr && !job_->reserve(nodes_[static_cast<std::size_t>(kind)], bytes)) {
    account.used.fetch_sub(bytes, std::memory_order_relaxed);
    return Answer::refused_by_job;
  }
  std::uint64_t peak = account.peak.load(std::memory_order_relaxed);
  while (peak < wanted &&
         !account.peak.compare_exchange_weak(peak, wanted, std::memory_order_relaxed)) {
  }
  return Answer::granted;
}

void Ledger::give_back(MemoryKind kind, std::uint64_t bytes) {
  at(kind).used.fetch_sub(bytes, std::memory_order_relaxed);
  if (job_ != nullptr) job_->give_back(nodes_[static_cast<std::size_t>(kind)], bytes);
}

bool Ledger::is_sound(std::string& why_not) const {
  for (const MemoryKind kind : k_all_memory_kinds)
    if (const std::uint64_t beyond = at(kind).beyond.load(std::memory_order_relaxed);
        used(kind) > limit(kind) && used(kind) - limit(kind) > beyond) {
      why_not = "more " + std::string(name_of(kind)) + " granted than allowed";
      return false;
    }
  return true;
}

} // namespace omptier
