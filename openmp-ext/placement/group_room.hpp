// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Room below the limit of a control group, which several kinds of memory and several processes
// share. Besides present pages, two things count against it, for this process and, through the
// job's ledger, for the others: blocks about to be made present (announced), and blocks handed out
// for first touch, as far as they are not known to be touched (promised).
#pragma once

#include "placement/cgroup.hpp"
#include "placement/job_ledger.hpp"

#include <array>
#include <atomic>
#include <cstdint>

namespace omptier {

// Bytes of a tier that are handed out and perhaps not touched yet: the sum over its extents.
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
  // Finds the groups' limits. To be called before any use.
  void find() { limits_.find(); }
  // Counts a tier's promised bytes, all of which are coming. tier: below k_most.
  Promised& promised_of(std::size_t tier) { return promised_[tier]; }

  bool limited() const { return limits_.limited(); }
  const CgroupLimits& limits() const { return limits_; }
  // Whether bytes more, with all that is announced and promised, stay below the limit, beyond which
  // the kernel kills. Reads the groups' files; thread-safe, takes the job's lock.
  bool leaves(std::uint64_t bytes);

  // Announces bytes to be touched while it exists. Of two at once, at least one sees the other.
  class Announcement {
  public:
    explicit Announcement(GroupRoom& group) : group_(group) {}
    ~Announcement() { group_.announced_.fetch_sub(bytes_); }
    Announcement(const Announcement&) = delete;
    Announcement& operator=(const Announcement&) = delete;
    // Returns whether the group has room for the bytes, which replace those announced before.
    bool fits(std::uint64_t bytes) {
      group_.announced_.fetch_add(bytes - bytes_);
      bytes_ = bytes;
      return group_.leaves(0);
    }

  private:
    GroupRoom& group_;
    std::uint64_t bytes_ = 0;
  };
  // In a child after fork: the threads that announced do not exist there.
  void forget_announced() { announced_.store(0, std::memory_order_relaxed); }

  static constexpr std::size_t k_most = 16;

private:
  CgroupLimits limits_;
  JobLedger& job_;
  std::atomic<std::uint64_t> announced_{0};
  std::array<Promised, k_most> promised_; // by tier
};

} // namespace omptier
