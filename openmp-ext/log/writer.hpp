// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes a profile while the program runs. Several threads hand in records; one mutex covers the
// block that is being filled, and the thread that fills it writes it out with one write(2). No
// stdio, no malloc. If the file cannot be written (disk full, file-size limit, descriptor closed by
// the program), the writer says so once and drops everything that follows: the program continues.
#pragma once

#include "log/format.hpp"
#include "log/records.hpp"

#include <atomic>
#include <mutex>
#include <sys/types.h>

namespace omptier {

struct ModuleText { // ModuleInfo without strings of its own: made on the program's allocation path
  const char* identity = "unknown";
  const char* name = "";
  const char* path = "";
  std::uint64_t bias = 0;
  bool system = false;
};

class LogWriter {
public:
  // Creates (or truncates) the file and writes its header. If another process is recording into it,
  // the process number is added to the name, in path, which has room for size bytes and must stay
  // valid. False: a warning has been given.
  bool open(char* path, std::size_t size);
  bool is_open() const { return fd_ >= 0; }
  // Beyond so many bytes only losses and the end are written. Each of phases, areas (with their
  // ends) and moves is refused beyond an eighth of them, and counted. Samples that come
  // nevertheless count as lost at the end.
  void limit(std::uint64_t bytes) { most_bytes_ = bytes; }
  // From here on only last counts follow; the last block but one is reserved for them.
  void ending() { ending_.store(true, std::memory_order_relaxed); }
  void add_refused(Shortages& all);
  bool is_full() const { return full_.load(std::memory_order_relaxed); }
  // Writes the block even if it is not full. The helper thread calls it from time to time.
  void flush();
  // Drops records that come later.
  void close();
  // For the child after fork: does not write what the parent will write itself.
  void forget();
  // Held during fork, in both processes.
  void lock() { mutex_.lock(); }
  void unlock() { mutex_.unlock(); }

  void run(const RunRecord& record);
  void module(std::uint32_t number, const ModuleText& module);
  void site(std::uint32_t site, const Frame* frames, unsigned count);
  // Objects, releases, totals and phases get the time at which they enter the log, so their order
  // in the log is their order in time.
  void object(std::uint32_t site, std::uint64_t address, std::uint64_t bytes, std::uint32_t thread,
              std::uint64_t allocator);
  void release(std::uint64_t address);
  // Objects under 4 KiB: those of a site since the start, and (a multiple of k_small_area) where
  // some lie.
  void small_objects(std::uint32_t site, std::uint64_t objects, std::uint64_t bytes);
  void small_area(std::uint64_t address);
  void site_totals(const SiteTotals& totals); // its time is now
  void shortages(const Shortages& all);
  // A new area replaces the one of its kind and number. begin, end: monotonic, earlier than now.
  void area(AreaKind kind, std::uint32_t number, std::uint64_t address, std::uint64_t bytes,
            std::uint64_t begin);
  void area_end(AreaKind kind, std::uint32_t number, std::uint64_t end);
  void region_definition(std::uint32_t region, const Frame* frames, unsigned count);
  // Written once something is known to have fallen into the region's run, but in order of time.
  void region(const RegionRecord& record);
  void region_totals(std::uint32_t region, const RegionTotals& totals);
  void stretch_definition(std::uint32_t stretch, const StretchDefinition& definition);
  void stretch(const StretchRecord& record);
  void stretch_count(std::uint32_t stretch, std::uint64_t entries, std::uint64_t nanoseconds);
  void phase(const char* name);
  void move(const MoveRecord& record); // its time is when the move ended
  // place: in an object that is not logged one by one; through: of a pattern's index. A pattern has
  // time and thread of the sample written last.
  void sample(const AccessSample& sample, const BlockPlace& place = {});
  void pattern(const AccessPattern& pattern, const BlockPlace& place = {},
               const BlockPlace& through = {});
  void reuse(const AddressReuse& reuse, const BlockPlace& place = {});
  void thinned(std::uint64_t kept_of); // from now on
  void lost(std::uint64_t samples, LossReason reason = LossReason::source);
  // Samples that fell on threads waiting in the OpenMP runtime; they belong to no object.
  void waiting(std::uint64_t samples, double weight);
  void end(); // with the counts of samples written and lost

  std::uint64_t bytes_written() const { return written_.load(std::memory_order_relaxed); }
  std::uint64_t samples() const { return samples_; }

private:
  class Body;
  void append(const Body& body);
  void start_block();
  void write_block();
  bool may_write(std::size_t bytes);
  void give_up(const char* why);
  bool accepts(RecordType type);
  struct Quota {
    std::uint64_t bytes = 0, refused = 0;
  };
  Quota* quota_of(RecordType type);

  std::mutex mutex_;
  int fd_ = -1;
  dev_t device_ = 0; // of the file, to notice when the program has closed our descriptor
  ino_t inode_ = 0;
  const char* path_ = nullptr;
  std::uint8_t* here_ = nullptr; // 1; 0 in a child that was made without fork's handlers
  std::uint32_t sequence_ = 0;
  std::uint32_t records_ = 0;
  std::uint64_t base_time_ = 0;
  DifferenceState state_;
  std::uint64_t samples_ = 0, lost_ = 0;
  std::atomic<std::uint64_t> written_{0};
  std::uint64_t most_bytes_ = ~std::uint64_t{0}, refused_ = 0; // samples
  Quota phases_, areas_, moves_;
  std::atomic<bool> full_{false}, ending_{false};
  std::size_t used_ = 0; // bytes of block_, header included
  std::uint8_t block_[k_largest_block];
  static constexpr std::size_t k_largest_body = 8192;
  std::uint8_t body_[k_largest_body]; // of the record that is being put together
};

} // namespace omptier
