// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Room below the limit of a control group, which several kinds of memory and several processes
// share. What counts against it beside the pages that are there: blocks about to be made present
// (announced), and blocks handed out for first touch, as far as they were not seen touched
// (promised), of this process and, through the job's ledger, of the others.
#pragma once

#include "placement/cgroup.hpp"
#include "placement/job_ledger.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace omptier {

// Bytes of a tier that were handed out and are perhaps not touched yet: the sum of its extents'.
class Promised {
public:
  std::uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  void add(std::uint64_t bytes) { bytes_.fetch_add(bytes, std::memory_order_relaxed); }

private:
  std::atomic<std::uint64_t> bytes_{0};
};

class GroupRoom {
public:
  explicit GroupRoom(JobLedger& job) : job_(job) {}
  // Finds the groups' limits. Before any use, as the next one.
  void find() { limits_.find(); }
  // What is promised of a tier is coming; of k_most tiers at most.
  void add_tier(const Promised& promised) { tiers_[tier_count_++] = &promised; }

  bool limited() const { return limits_.limited(); }
  const CgroupLimits& limits() const { return limits_; }
  // So many bytes more, with all that is coming, fit below the limit. Beyond it the kernel kills.
  // Reads the groups' files; thread-safe, takes the job's lock.
  bool leaves(std::uint64_t bytes);

  // Bytes that are about to be touched, while it lives: of two threads that ask at once, one sees
  // the other.
  class Announcement {
  public:
    explicit Announcement(GroupRoom& group) : group_(group) {}
    ~Announcement() { group_.announced_.fetch_sub(bytes_); }
    Announcement(const Announcement&) = delete;
    Announcement& operator=(const Announcement&) = delete;
    // Announces so many in place of those before; whether the group leaves room for them.
    bool fits(std::uint64_t bytes) {
      group_.announced_.fetch_add(bytes - bytes_);
      bytes_ = bytes;
      return group_.leaves(0);
    }

  private:
    GroupRoom& group_;
    std::uint64_t bytes_ = 0;
  };
  // In a child after fork: the threads that announced are not here.
  void forget_announced() { announced_.store(0, std::memory_order_relaxed); }

  static constexpr std::size_t k_most = 16;

private:
  CgroupLimits limits_;
  JobLedger& job_;
  std::atomic<std::uint64_t> announced_{0};
  std::array<const Promised*, k_most> tiers_{};
  std::size_t tier_count_ = 0;
};

} // namespace omptier
