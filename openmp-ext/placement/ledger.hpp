// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The capacity ledger of this process: bytes granted of each memory kind. They are limited by
// OMPTIER_CAPACITY or the rank's share, then by what the job's other processes hold on the kind's
// nodes (placement/job_ledger.hpp), and always by the limit of a control group
// (placement/group_room.hpp). Consulted before the kernel. It counts memory made writable in the
// ranges of a kind (blocks in whole pages, chunks of the small-block heaps, cached extents, open
// runs): the most that those pages can hold, touched or not.
#pragma once

#include "base/kind.hpp"
#include "base/text.hpp"
#include "placement/group_room.hpp"
#include "placement/job_ledger.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <string>

namespace omptier {

class Ledger {
public:
  static constexpr std::uint64_t k_no_limit = ~std::uint64_t{0};

  explicit Ledger(const CapacityByKind& capacity);

  // Consults the job's ledger too, where bytes of a kind count on these nodes. Before any use.
  void join(JobLedger& job, const std::array<NodeSet, k_memory_kinds + 1>& nodes) {
    job_ = &job;
    nodes_ = nodes;
  }

  // Refuses what the control group has no room for. Before any use.
  void keep_below(GroupRoom& group) { group_ = &group; }
  // This kind lies in a DAX directory: the kernel charges it to no group.
  void leave_to_folder(MemoryKind kind) { at(kind).of_folder = true; }

  // Thread-safe, no malloc. coming: announces the bytes to a limited control group.
  using Coming = GroupRoom::Announcement;
  bool reserve(MemoryKind kind, std::uint64_t bytes, Coming* coming = nullptr);
  // For optional memory: refusals are not counted.
  bool reserve_spare(MemoryKind kind, std::uint64_t bytes, Coming* coming = nullptr) {
    return ask(kind, bytes, coming) == Answer::granted;
  }
  void give_back(MemoryKind kind, std::uint64_t bytes);

  // While two full kinds exchange blocks, one of them may hold so many bytes beyond the process's
  // own limit: the job's ledger and the control group are asked as ever. One exchange at a time has
  // this; false: another has. The end is refused until the kind is within its limit again.
  static constexpr std::uint64_t k_beyond = std::uint64_t{4} << 20;
  bool begin_beyond(MemoryKind kind);
  bool reserve_beyond(MemoryKind kind, std::uint64_t bytes) {
    return ask(kind, bytes, nullptr, at(kind).beyond.load(std::memory_order_relaxed)) ==
           Answer::granted;
  }
  bool end_beyond(MemoryKind kind);

  std::uint64_t used(MemoryKind kind) const {
    return at(kind).used.load(std::memory_order_relaxed);
  }
  std::uint64_t peak(MemoryKind kind) const {
    return at(kind).peak.load(std::memory_order_relaxed);
  }
  std::uint64_t limit(MemoryKind kind) const { return at(kind).limit; } // k_no_limit = none
  std::uint64_t refusals(MemoryKind kind) const {
    return at(kind).refusals.load(std::memory_order_relaxed);
  }
  // Those that only the job's ledger refused.
  std::uint64_t refusals_of_job(MemoryKind kind) const {
    return at(kind).refusals_of_job.load(std::memory_order_relaxed);
  }
  // By the process's own limit.
  std::uint64_t room(MemoryKind kind) const {
    const std::uint64_t now = used(kind);
    return now < limit(kind) ? limit(kind) - now : 0;
  }

  bool is_sound(std::string& why_not) const;

private:
  enum class Answer : std::uint8_t { granted, refused, refused_by_job };
  // beyond: bytes that may be granted above the limit.
  Answer ask(MemoryKind kind, std::uint64_t bytes, Coming* coming, std::uint64_t beyond = 0);
  bool group_leaves(MemoryKind kind, std::uint64_t bytes, Coming* coming) {
    return group_ == nullptr || at(kind).of_folder || (coming != nullptr ? coming->fits(bytes) : group_->leaves(bytes));
  }
  struct Account {
    std::uint64_t limit = k_no_limit;
    bool of_folder = false;
    std::atomic<std::uint64_t> used{0}, peak{0}, refusals{0}, refusals_of_job{0};
    std::atomic<std::uint64_t> beyond{0};
  };
  const Account& at(MemoryKind kind) const { return accounts_[static_cast<std::size_t>(kind)]; }
  Account& at(MemoryKind kind) { return accounts_[static_cast<std::size_t>(kind)]; }
  std::array<Account, k_memory_kinds + 1> accounts_;
  JobLedger* job_ = nullptr;
  GroupRoom* group_ = nullptr;
  std::array<NodeSet, k_memory_kinds + 1> nodes_{};
};

} // namespace omptier
