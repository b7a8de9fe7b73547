// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ledger of a job: bytes per NUMA node that the job's processes on this machine hold, in a file
// of /dev/shm that all of them map. Each process counts in its own slot only (in others' it clears
// requests); the total is the sum over the slots, so a killed process leaves nothing to repair: its
// slot just stops counting.
//
// A request is published in the slot (*asking*), then all slots are read, then it is granted, if
// still published, or withdrawn. Of two processes at least one sees the other's request, so
// together they never exceed a node's capacity. A request that fits only without those of others
// calls them off, and their processes try again. So no process waits for one that was stopped or
// killed within a request, which at worst holds what it was about to be granted. Within a process a
// lock protects the ledger, held for some microseconds, never while waiting: a thread that finds
// the file busy counts for this process alone meanwhile.
//
// A slot belongs to the process that holds a lock (F_OFD_SETLK) on the slot's byte of the file. The
// mapping keeps the lock, not a descriptor, so it ends with the process, whatever descriptors the
// program closes. A child forked past our handlers keeps it, too: then the slot's process has ended
// if its pid namespace is ours and no process has its number and start time. Such a child counts
// alone: the slot is its parent's. Slots are taken, cleared and counted under the lock of byte 0. If
// the file cannot be used, one warning explains why, and the process counts alone.
#pragma once

#include "base/owner_mark.hpp"
#include "placement/pages.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <mutex>

namespace omptier {

inline constexpr std::uint64_t k_job_magic = 0x7265697470'6d6f; // "omptier"
inline constexpr std::uint32_t k_job_version = 3; // 2: requests were not called off
inline constexpr unsigned k_job_slots = 512;

struct JobFileHeader {
  std::uint64_t magic;
  std::uint32_t version, header_bytes, slot_bytes, slots, nodes, uid;
  std::atomic<std::uint64_t> slots_seen; // slots from here on were never taken
  std::uint64_t unused[3];
};

struct JobSlot { // written by its process; cleared once that is known to be gone
  std::atomic<std::uint64_t> pid, start_time, pid_namespace; // 0 = unknown; no pid: a free slot
  // A request being decided; 0 bytes = none. Other processes set the bytes to 0 to call it off.
  std::atomic<std::uint64_t> asking_nodes, asking_bytes;
  std::atomic<std::uint64_t> coming;                     // bytes granted that are not in memory yet
  std::atomic<std::uint64_t> recount;                    // others ask for a recount of coming
  std::uint64_t unused;
  std::atomic<std::uint64_t> granted[k_max_nodes];
};

struct JobFile {
  JobFileHeader header;
  JobSlot slots[k_job_slots];
};
static_assert(std::atomic<std::uint64_t>::is_always_lock_free);
static_assert(sizeof(JobFileHeader) == 64 && sizeof(JobSlot) == 64 + 8 * k_max_nodes);

using NodeBytes = std::array<std::uint64_t, k_max_nodes>;

class JobLedger {
public:
  static constexpr std::uint64_t k_no_limit = ~std::uint64_t{0};

  // path: the file (copied; empty = count alone). capacity: bytes of each node that the job may
  // take, as this process sees it; k_no_limit where unknown. enter opens the file.
  JobLedger(const char* path, const NodeBytes& capacity);
  ~JobLedger() { leave(); } // tests only; a process's ledger is never destroyed

  // Opens the file if that was not tried before. May wait 0.4 s (longer on a busy machine)
  // for another process that opens it: call it without locks, before blocks are placed or moved.
  // Requests meanwhile are counted alone, and published when the file is open.
  void enter() {
    if (state_.load(std::memory_order_acquire) == State::apart) enter_now();
  }
  // Grants bytes on a set of nodes; true also when counting alone. Thread-safe, no malloc.
  bool reserve(NodeSet nodes, std::uint64_t bytes);
  // For the same set of nodes as granted.
  void give_back(NodeSet nodes, std::uint64_t bytes);

  // Publishes the bytes that this process was granted and that are not in memory yet, before the
  // limit of a shared control group is compared with what all processes will still take.
  void publish_coming(std::uint64_t bytes);
  std::uint64_t coming_of_others();
  // Asks all other processes to recount: their published bytes may have come into memory.
  void ask_for_recount();
  bool recount_wanted(); // asked by another process since the last call

  // Leaves the job; the last process removes the file. Later requests count alone.
  void leave();
  // In a child after fork: it gets a slot of its own when it enters. What it inherited stays
  // counted for the parent only. The caller holds the lock, as during the fork.
  void forget_parent();
  void lock() { lock_.lock(); }
  void unlock() { lock_.unlock(); }

  bool active() const { return state_.load(std::memory_order_acquire) == State::entered; }
  const char* path() const { return path_; }
  const char* why_alone() const { return why_.load(); } // "" while active or not entered yet
  unsigned processes();                          // slots in use, dead ones included
  std::uint64_t granted(unsigned node);          // to the whole job
  std::uint64_t own(unsigned node);              // of it to this process
  std::uint64_t capacity(unsigned node) const { return capacity_[node]; }

  // Clears the slots of processes that are gone; returns how many.
  unsigned reclaim_slots();

private:
  enum class State : std::uint8_t { apart, entering, entered, alone };
  struct Account { // bytes granted on one set of nodes
    std::uint64_t nodes = 0;
    std::uint64_t inherited = 0; // by fork: counted by the parent, may be given back here
    NodeBytes bytes{};
  };
  struct Sums {
    NodeBytes granted{};
    std::uint64_t asked = 0; // by others, on a node of the set
  };
  static constexpr unsigned k_most_accounts = 32;

  void enter_now();
  JobFile* attach(unsigned& slot);
  JobFile* attach_to(int fd, unsigned& slot);
  bool check(int fd, bool& fresh);
  bool take_slot(int fd, JobFile& file, unsigned& slot);
  bool fail(const char* why);
  int open_file(int flags);
  void close_file(int fd);
  unsigned reclaim();
  // The caller holds the lock.
  JobFile* own_file();
  unsigned slots_seen() const;
  Account* account(NodeSet nodes);
  Sums sum(NodeSet nodes) const;
  bool spread(NodeSet nodes, std::uint64_t bytes, const Sums& sums, NodeBytes& parts) const;
  bool decide(NodeSet nodes, std::uint64_t bytes, Account& account);
  void call_off_others(NodeSet nodes);
  void count_alone(NodeSet nodes, std::uint64_t bytes, Account& account) const;

  char path_[200];
  NodeBytes capacity_;
  std::atomic<State> state_{State::apart};
  std::atomic<const char*> why_{""};
  // One thread at a time opens the file: a child forked meanwhile must close its copies of the
  // descriptor and of a mapping that is not file_ yet.
  std::atomic_flag opening_ = ATOMIC_FLAG_INIT;
  std::atomic<int> open_fd_{-1};
  std::atomic<JobFile*> fresh_file_{nullptr};
  std::atomic<std::uint64_t> inode_{0};
  std::atomic<std::uint64_t> reclaimed_at_{0}; // ns

  std::mutex lock_; // protects what follows
  std::uint64_t coming_ = 0;
  OwnerMark mark_; // set before there is a file_
  JobFile* file_ = nullptr;
  unsigned slot_ = 0;
  std::array<Account, k_most_accounts> accounts_;
};

// Removes other ledgers of the same user in this one's folder whose processes were all killed;
// returns how many. Lists the folder: to be called at start, before placing.
unsigned remove_stale_job_ledgers(const char* path);

} // namespace omptier
