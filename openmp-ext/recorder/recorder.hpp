// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From events in the program to records in the log. The recorder numbers allocation sites and
// regions, names modules when they are first used, and has a helper thread drain the samples. It
// knows neither OMPT nor the origin of samples, so that tests can use a source of their own.
//
// Events arrive on the program's threads: a stack capture, one look-up under a mutex, one record
// under the log's mutex; no malloc. Nothing here throws out or stops the program: any failure ends
// the recording with one warning.
#pragma once

#include "base/address_set.hpp"
#include "borders/malloc_record.h"
#include "log/budget.hpp"
#include "log/writer.hpp"
#include "objects/stack_table.hpp"
#include "recorder/helper_thread.hpp"
#include "recorder/live_blocks.hpp"
#include "recorder/mappings.hpp"
#include "recorder/memory_areas.hpp"
#include "recorder/region_runs.hpp"
#include "recorder/sample_resolver.hpp"
#include "recorder/stretches.hpp"
#include "sampling/source.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unistd.h>

namespace omptier {

struct RecorderOptions {
  std::string pattern;       // of the log's name
  SourceRequest source;      // for the run record; the source itself is given
  std::string why_no_source; // one line, when there is none
  unsigned site_depth = 8;
  unsigned region_depth = 4;
  unsigned drain_milliseconds = 50;                   // 0: no helper thread
  std::uint64_t log_bytes = std::uint64_t{256} << 20; // the log's largest size
  std::size_t memory = std::size_t{32} << 20;         // of the recorder's own, in bytes
  bool children = true;                               // forked ones are recorded too
  std::uint64_t recording = 0;                        // for the run record
  bool quiet = false;                                 // no line at the end
};

class Recorder final : SampleSink {
public:
  // Opens the log and starts the helper thread. source may be null (objects and regions only).
  // False: a warning has been given, and all later calls do nothing.
  bool start(const RecorderOptions& options, std::unique_ptr<SampleSource> source);
  // Ends recording: last samples, end record, one line on stderr that names the log. Idempotent.
  void finish();
  bool active() const { return state_.load(std::memory_order_acquire) == State::active; }
  const char* path() const { return path_; }

  // Source of spans for small blocks by site; null: none. Before start.
  void serve_small(const omptier_small_spans* spans) { spans_ = spans; }

  void thread_begin();
  void thread_end();
  void allocated(const void* block, std::size_t bytes, std::uintptr_t allocator,
                 const void* caller);
  void released(const void* block);
  // For blocks from 4 KiB of the program's malloc, unless an OpenMP runtime or we asked for them.
  void malloc_allocated(const void* block, std::size_t bytes, const void* caller);
  static bool is_runtimes(const void* caller);
  // For a block under 4 KiB, which stands for so many.
  void small_allocated(const void* block, std::size_t bytes, const void* caller,
                       std::uint32_t stands_for);
  // The program has mapped memory, or unmapped mappings reported before that count.
  std::uint64_t mappings_logged() const { return mappings_logged_.load(); }
  void mapped(const void* address, std::size_t bytes, const void* caller);
  void unmapped(const void* address, std::size_t bytes, std::uint64_t before);
  // Returns a number for region_end; 0 = nothing was recorded.
  std::uint64_t region_begin(const void* codeptr, unsigned threads);
  void region_end(std::uint64_t region);
  // A thread leaves a barrier of its team; codeptr: where the barrier's construct returns to.
  void barrier_passed(const void* codeptr);
  void phase(const char* name);
  // at_barrier: of the region that runs; else for the one that begins next.
  void moved(const void* address, std::size_t bytes, unsigned from, unsigned to, double seconds,
             bool at_barrier = false);

  // Around fork, with the locks held. The child's recorder sleeps until restart_in_child, which
  // opens a log of its own, with the process number in its name; wants_restart says whether to call
  // it. Only the first process names its log on stderr.
  void before_fork();
  void after_fork_in_parent();
  void after_fork_in_child();
  bool wants_restart() const { return state_.load(std::memory_order_acquire) == State::forked; }
  bool restart_in_child(std::unique_ptr<SampleSource> source);

  // The helper thread's work; without a period the caller must call it.
  void tick();

private:
  enum class State : std::uint8_t { idle, active, forked, over };

  bool begin(std::unique_ptr<SampleSource> source);
  bool open_log();
  void write_run();
  // True in a forked child before after_fork_in_child: libomp's own fork handler may start libomp
  // anew, and its callbacks come while our locks and the source's are still as the parent had them.
  bool in_fork() const { return process_.load(std::memory_order_relaxed) != getpid(); }
  void drain();
  void settle_batch();
  void lose(std::uint64_t samples, LossReason reason);
  void write_counts();
  Shortages shortages();
  void write_small_objects();
  void write_site_totals();
  void write_stretches(std::uint64_t until);
  std::uint32_t stretch_number(const EndedStretch& stretch);
  void write_stretch_counts();
  void look_at_areas();
  std::uint32_t define(StackTable& table, const ReturnAddress* frames, unsigned count, bool site);
  bool is_full_of_stacks(const StackTable& table, unsigned frames) const;
  std::uint32_t object(const void* block, std::size_t bytes, std::uintptr_t allocator,
                       const ReturnAddress* frames, unsigned count);
  struct SiteCount { // of objects that are not logged one by one
    std::uint64_t objects, bytes, largest, live;
    std::uint64_t peak, peak_time; // since it was written
    std::uint64_t asked_at;        // objects when spans were last asked for
    std::uint32_t logged;          // objects that were logged, besides these
    bool by_malloc, changed;
  };
  SiteCount* count_of(std::uint32_t site);
  bool must_log(std::size_t bytes, const SiteCount& count) const;
  void begin_block(SiteCount& count, std::uint64_t bytes, bool by_malloc);
  static bool is_busy(SiteCount& count);
  bool end_block(std::uint64_t address);
  static void add_rest(SiteCount& count, std::uint64_t bytes);
  bool begin_mapping(const Mapping& fresh);
  void end_mappings(std::uint64_t begin, std::uint64_t end, std::uint64_t before);
  bool small_object(std::uint32_t site, std::uint64_t address, std::size_t bytes,
                    std::uint32_t stands_for);
  void serve_call(const void* caller, std::uint32_t only);
  void take_small_counts();
  static void identify_modules(const ReturnAddress* frames, unsigned count); // before the lock
  std::uint32_t module_number(const LoadedModule* module);
  static std::uint32_t this_thread();
  // Sources that count every access attribute it to objects and regions themselves.
  template <typename Tell> void with_source(Tell&& tell) {
    if (!source_wants_objects_.load(std::memory_order_relaxed)) return;
    const std::lock_guard<std::mutex> guard(mutex_);
    if (source_ != nullptr) tell(*source_);
  }
  bool is_waiting(std::uint64_t pc) const;
  void sample(const AccessSample& sample) override;
  void lost(std::uint64_t count) override;
  void pattern(const AccessPattern& pattern) override;
  void reuse(const AddressReuse& reuse) override;
  void emulated(const LoopCounts& all) override { loops_ = all; }

  std::atomic<State> state_{State::idle};
  std::atomic<pid_t> process_{0}; // that is recorded
  bool forked_ = false;           // from one that was
  RecorderOptions options_;
  std::unique_ptr<SampleSource> source_;
  std::uint64_t waiting_ =
      0; // samples since the last counts that fell on waiting threads, their weight
  double waiting_weight_ = 0;
  std::atomic<bool> source_wants_objects_{false};
  HelperThread helper_;
  std::mutex mutex_; // tables; the source's life
  StackTable sites_, regions_;
  struct SmallCount { // of small blocks that have no span of their own
    std::uint64_t objects, bytes, written;
    std::uint64_t asked_at; // bytes when spans were last asked for
  };
  PageArray<SmallCount> small_counts_; // by site
  std::uint64_t small_bytes_ = 0;      // of all of them
  const omptier_small_spans* spans_ = nullptr;
  PageArray<omptier_small_counts> served_; // by site: counts already taken
  PageArray<SiteCount> site_counts_;   // by site
  LiveBlocks live_;
  std::atomic<std::uint32_t> most_logged_{~std::uint32_t{0}}; // objects from 64 KiB of one site
  std::atomic<std::uint64_t> unwatched_{0};                 // objects without room
  std::atomic<std::uint64_t> by_caller_{0};                 // allocations
  std::atomic<std::uint64_t> regions_by_caller_{0};         // runs
  std::uint32_t most_stacks_ = 0;                           // of sites, of regions
  std::uint64_t lost_[k_loss_reasons] = {};                 // to be written
  Shortages shortages_written_;                             // helper thread's, as all that follow
  LoopCounts loops_;
  LogBudget budget_;
  SampleResolver resolver_;
  std::uint64_t pattern_weight_ = 0; // of the last sample's patterns; 0: not kept
  RegionRuns runs_;
  AddressSet small_areas_;
  StretchQueue stretches_;
  SampleTimes sample_times_;   // helper thread's
  StackTable stretches_known_; // kind and region, place
  struct StretchCount {
    std::uint64_t entries, nanoseconds, written;
  };
  PageArray<StretchCount> stretch_counts_;       // by number in stretches_known_; helper thread's
  std::uint64_t ticks_ = 0, counts_written_ = 0; // numbers: present, of the last counts
  Mappings mappings_;
  std::atomic<std::uint64_t> mappings_logged_{0};
  MemoryAreas areas_;
  std::uint8_t module_written_[k_max_modules / 8 + 1] = {};
  char path_[4096] = {};
  LogWriter log_;
};

} // namespace omptier
