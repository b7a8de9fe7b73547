// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See recorder.hpp. Locks are taken in the order tables, log. A frame in no module (generated code)
// is written with a module number beyond all others.
#include "recorder/recorder.hpp"

#include "base/kernel_files.hpp"
#include "base/notices.hpp"
#include "base/os.hpp"
#include "log/name.hpp"
#include "objects/stack.hpp"
#include "recorder/inside.hpp"
#include "sampling/reuse.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <new>
#include <sys/syscall.h>
#include <unistd.h>

namespace omptier {

__attribute__((tls_model("initial-exec"))) thread_local constinit unsigned Inside::depth_ = 0;

namespace {

thread_local std::uint32_t t_thread __attribute__((tls_model("initial-exec"))) = 0;

// The process whose recorder watches this thread, or 0.
thread_local pid_t t_watched __attribute__((tls_model("initial-exec"))) = 0;

std::string command_line() {
  std::string text;
  char chunk[2049];
  const std::size_t count = read_small_file("/proc/self/cmdline", chunk, sizeof chunk);
  for (std::size_t i = 0; i < count; ++i)
    text += chunk[i] != 0 ? chunk[i] : ' ';
  while (!text.empty() && text.back() == ' ')
    text.pop_back();
  return text;
}

// Number of stacks that are distinguished: each takes some 250 bytes of memory and, with its
// counts, some 100 of the log each time these are written.
std::uint32_t most_stacks(const RecorderOptions& options) {
  constexpr std::uint64_t k_memory = 2048, k_log = 2048, k_least = 256, k_most = 1u << 20;
  return static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
      std::min<std::uint64_t>(options.memory / k_memory, options.log_bytes / k_log), k_least,
      k_most));
}

} // namespace

std::uint32_t Recorder::this_thread() {
  if (t_thread == 0) t_thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
  return t_thread;
}

bool Recorder::start(const RecorderOptions& options, std::unique_ptr<SampleSource> source) {
  options_ = options;
  helper_.remember_processors();
  g_most_pages = options.memory;
  live_.limit(options.memory / 8 * 5);
  most_stacks_ = most_stacks(options);
  refresh_modules();
  const bool samples = source != nullptr;
  if (!begin(std::move(source))) return false;
  if (!samples && !options_.why_no_source.empty())
    warn_once(Notice::nothing_sampled,
              "no memory accesses are sampled: %s; objects and regions "
              "are recorded",
              options_.why_no_source.c_str());
  return true;
}

bool Recorder::begin(std::unique_ptr<SampleSource> source) {
  source_ = std::move(source);
  source_wants_objects_ = source_ != nullptr && source_->wants_objects();
  process_ = getpid();
  if (!open_log()) {
    source_.reset(); // it may hold a signal
    return false;
  }
  stretches_.begin();
  state_.store(State::active, std::memory_order_release);
  const auto work = [](void* self) { static_cast<Recorder*>(self)->tick(); };
  if (options_.drain_milliseconds > 0 && !helper_.start(work, this, options_.drain_milliseconds))
    warn_once(Notice::no_helper_thread, "no helper thread can be had: %s",
              strerrordesc_np(errno));
  return true;
}

bool Recorder::open_log() {
  char parents[sizeof path_];
  std::memcpy(parents, path_, sizeof path_);
  if (!expand_pattern(options_.pattern.c_str(), path_, sizeof path_)) {
    warn_once(Notice::profile_name,
              "OMPTIER_PROFILE: the name is too long; nothing is recorded");
    return false;
  }
  // The parent's log must not be started again, even if the parent has ended.
  const std::size_t length = std::strlen(path_);
  if (forked_ && std::strcmp(path_, parents) == 0)
    std::snprintf(path_ + length, sizeof path_ - length, ".%d", static_cast<int>(getpid()));
  if (!log_.open(path_, sizeof path_)) return false;
  areas_.restart(monotonic_nanoseconds());
  budget_.start(options_.log_bytes, monotonic_nanoseconds());
  log_.limit(budget_.limit());
  most_logged_ = ~std::uint32_t{0};
  ticks_ = counts_written_ = 0;
  write_run();
  log_.flush();
  return true;
}

void Recorder::write_run() {
  RunRecord run;
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  run.host = host;
  run.program = module_count() > 0 ? module_at(0).name : "";
  run.command_line = command_line();
  run.process = static_cast<std::uint64_t>(getpid());
  run.rank = rank_in_job();
  run.job = job_name();
  run.start_time = monotonic_nanoseconds();
  run.wall_clock_start = static_cast<std::uint64_t>(std::time(nullptr));
  run.rate = options_.source.rate;
  run.recording = options_.recording;
  if (source_ != nullptr) {
    run.source = source_->name();
    run.source_description = source_->description();
    run.measure = source_->measure();
    run.worst_error = source_->worst_error();
    run.caches = cache_sizes();
  } else {
    run.source = "none";
    run.source_description = options_.why_no_source;
  }
  log_.run(run);
}

void Recorder::finish() {
  if (active() && in_fork())
    return; // a child made without fork's handlers: helper and log are the parent's
  State expected = State::active;
  if (!state_.compare_exchange_strong(expected, State::over)) return;
  helper_.stop();
  stretches_.end();
  log_.ending();
  drain();
  look_at_areas();
  write_counts();
  log_.end();
  const bool whole = log_.is_open();
  const unsigned long long samples = log_.samples();
  log_.close();
  {
    const std::lock_guard<std::mutex> guard(mutex_); // threads of the program's own may be ending
    source_.reset();
  }
  if (!whole) return; // a warning has been given
  if (access(path_, F_OK) != 0)
    return warn_once(Notice::profile_removed,
                     "profile %s was removed, or its folder, while it was written", path_);
  if (forked_ || options_.quiet) return;
  char line[2 * sizeof path_ + 200];
  const int length = std::snprintf(
      line, sizeof line, "omptier: recorded %llu samples in %s; next: omptier advise %s\n", samples,
      path_, path_);
  if (length > 0) os().write(STDERR_FILENO, line, static_cast<std::size_t>(length));
}

// OpenMP also reports threads that pthread_create has reported already.
void Recorder::thread_begin() {
  if (!active() || t_watched == process_.load(std::memory_order_relaxed) || in_fork()) return;
  const Inside inside;
  MemoryAreas::thread_begin(log_, this_thread());
  const std::lock_guard<std::mutex> guard(mutex_);
  t_watched = process_.load(std::memory_order_relaxed);
  if (source_ == nullptr) return;
  source_->thread_begin(static_cast<pid_t>(this_thread()));
  if (source_->watches_when_drained()) helper_.wake_soon();
}

void Recorder::thread_end() {
  if (!active() || in_fork()) return;
  t_watched = 0;
  const Inside inside;
  MemoryAreas::thread_end(log_, this_thread());
  const std::lock_guard<std::mutex> guard(mutex_);
  if (source_ != nullptr) source_->thread_end(static_cast<pid_t>(this_thread()));
}

std::uint64_t Recorder::region_begin(const void* codeptr, unsigned threads) {
  if (!active()) return 0;
  const Inside inside;
  ReturnAddress frames[k_max_frames];
  const unsigned count = capture_stack(codeptr, frames, options_.region_depth);
  const std::uint32_t region = define(regions_, frames, count, false);
  if (region == StackTable::k_full) {
    runs_.drop();
    return 0;
  }
  runs_.begin(region, threads, this_thread());
  stretches_.region_began(region, this_thread());
  with_source([&](SampleSource& source) { source.region_changed(std::uint64_t{region} + 1); });
  return std::uint64_t{region} + 1;
}

void Recorder::region_end(std::uint64_t region) {
  if (!active() || region == 0) return;
  const Inside inside;
  stretches_.region_ended(this_thread());
  if (runs_.end(static_cast<std::uint32_t>(region - 1), this_thread())) helper_.wake();
  with_source([](SampleSource& source) { source.region_changed(0); });
}

// For sources that count every access, each stretch has a number of its own.
void Recorder::barrier_passed(const void* codeptr) {
  if (!active()) return;
  const Inside inside;
  const std::uint64_t region = stretches_.passed(codeptr, this_thread());
  if (region != 0)
    with_source([&](SampleSource& source) {
      source.region_changed(region | reinterpret_cast<std::uintptr_t>(codeptr) << 32);
    });
}

void Recorder::phase(const char* name) {
  const Inside inside;
  if (active()) log_.phase(name != nullptr ? name : "");
}

void Recorder::moved(const void* address, std::size_t bytes, unsigned from, unsigned to,
                     double seconds, bool at_barrier) {
  if (!active()) return;
  const Inside inside;
  const auto kind = [](unsigned number) {
    return static_cast<MemoryKind>(number < k_memory_kinds ? number : k_memory_kinds);
  };
  MoveRecord move;
  move.time = monotonic_nanoseconds();
  move.address = reinterpret_cast<std::uintptr_t>(address);
  move.bytes = bytes;
  move.from = kind(from);
  move.to = kind(to);
  move.seconds = seconds;
  move.at_barrier = at_barrier;
  log_.move(move);
  if (at_barrier)
    runs_.log_present();
  else
    runs_.log_next();
}

void Recorder::before_fork() {
  mutex_.lock();
  runs_.lock();
  log_.lock();
  close_modules_for_fork();
}

void Recorder::after_fork_in_parent() {
  open_modules_after_fork(false);
  log_.unlock();
  runs_.unlock();
  mutex_.unlock();
}

void Recorder::after_fork_in_child() {
  open_modules_after_fork(true);
  log_.forget();
  log_.unlock();
  runs_.forget();
  runs_.unlock();
  sites_.restart();
  regions_.restart();
  site_counts_.clear();
  live_.clear();
  new (&resolver_) SampleResolver; // the parent's helper thread may have been using these
  new (&sample_times_) SampleTimes;
  new (&stretch_counts_) decltype(stretch_counts_);
  waiting_ = 0;
  waiting_weight_ = 0;
  unwatched_ = by_caller_ = regions_by_caller_ = 0;
  shortages_written_ = {};
  loops_ = {};
  std::fill(std::begin(lost_), std::end(lost_), 0);
  small_counts_.clear();
  small_bytes_ = 0;
  served_.clear();
  small_areas_.clear();
  stretches_.forget();
  stretches_known_.restart();
  mappings_.clear();
  std::memset(module_written_, 0, sizeof module_written_);
  mutex_.unlock();
  helper_.forget();
  t_thread = 0;
  if (source_ != nullptr) source_->forked_child();
  State expected = State::active;
  state_.compare_exchange_strong(expected, options_.children ? State::forked : State::over);
}

bool Recorder::restart_in_child(std::unique_ptr<SampleSource> source) {
  State expected = State::forked;
  if (!state_.compare_exchange_strong(expected, State::over)) return false;
  static_cast<void>(
      source_.release()); // the parent's: must not be touched, not even freed
  forked_ = true;
  return begin(std::move(source));
}

} // namespace omptier
