// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See recorder.hpp. Locks are taken in the order tables, log. A frame in no module (generated code)
// is written with a module number beyond all others.
#include "ompt/recorder.hpp"

#include "base/log.hpp"
#include "base/os.hpp"
#include "objects/stack.hpp"
#include "profile/log_name.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <fcntl.h>
#include <new>
#include <sys/syscall.h>
#include <unistd.h>

namespace omptier {
namespace {

constexpr std::uint32_t k_no_module = 8192;
constexpr unsigned k_ticks_between_counts = 20;

thread_local std::uint32_t t_thread __attribute__((tls_model("initial-exec"))) = 0;

// The process whose recorder watches this thread, or 0.
thread_local pid_t t_watched __attribute__((tls_model("initial-exec"))) = 0;

std::uint32_t this_thread() {
  if (t_thread == 0) t_thread = static_cast<std::uint32_t>(syscall(SYS_gettid));
  return t_thread;
}

// Arguments of the process, joined by blanks.
std::string command_line() {
  std::string text;
  const int fd = os().open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return text;
  char chunk[2048];
  const ssize_t count = os().read(fd, chunk, sizeof chunk);
  os().close(fd);
  for (ssize_t i = 0; i < count; ++i)
    text += chunk[i] != 0 ? chunk[i] : ' ';
  while (!text.empty() && text.back() == ' ')
    text.pop_back();
  return text;
}

} // namespace

bool Recorder::start(const RecorderOptions& options, std::unique_ptr<SampleSource> source) {
  options_ = options;
  source_ = std::move(source);
  source_wants_objects_ = source_ != nullptr && source_->wants_objects();
  process_ = getpid();
  helper_.remember_processors();
  refresh_modules();
  if (!open_log()) {
    source_.reset(); // it may hold a signal
    return false;
  }
  stretches_.begin();
  if (source_ == nullptr && !options_.why_no_source.empty())
    warn_once(Notice::sampling_unavailable,
              "no memory accesses are sampled: %s; objects and regions "
              "are recorded",
              options_.why_no_source.c_str());
  state_.store(State::active, std::memory_order_release);
  const auto work = [](void* self) { static_cast<Recorder*>(self)->tick(); };
  if (!helper_.start(work, this, options_.drain_milliseconds))
    warn_once(Notice::sampling_unavailable, "no helper thread can be had: %s",
              strerrordesc_np(errno));
  return true;
}

bool Recorder::open_log() {
  char parents[sizeof path_];
  std::memcpy(parents, path_, sizeof path_);
  if (!expand_pattern(options_.pattern.c_str(), path_, sizeof path_)) {
    warn_once(Notice::profile_unwritable,
              "OMPTIER_PROFILE: the name is too long; nothing is recorded");
    return false;
  }
  // The parent's log is not to be begun again, also when the parent has ended.
  const std::size_t length = std::strlen(path_);
  if (forked_ && std::strcmp(path_, parents) == 0)
    std::snprintf(path_ + length, sizeof path_ - length, ".%d", static_cast<int>(getpid()));
  if (!log_.open(path_, sizeof path_)) return false;
  areas_.restart(monotonic_nanoseconds());
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
  if (source_ != nullptr) {
    run.source = source_->name();
    run.source_description = source_->description();
    run.measure = source_->measure();
    run.worst_error = source_->worst_error();
  } else {
    run.source = "none";
    run.source_description = options_.why_no_source;
  }
  log_.run(run);
}

void Recorder::tick() {
  if (!active()) return;
  drain();
  look_at_areas();
  if (++ticks_ % k_ticks_between_counts == 0) {
    write_small_objects();
    write_stretch_counts();
  }
  log_.flush();
}

// Decoding allocates: short of memory, samples are lost, not the program.
void Recorder::drain() {
  const std::uint64_t begin = monotonic_nanoseconds();
  try {
    if (source_ != nullptr) source_->drain(*this);
  } catch (...) { // a thread of ours must not end the program
    warn_once(Notice::sampling_reduced, "memory is short: samples were lost");
  }
  if (waiting_ > 0) log_.waiting(waiting_, waiting_weight_);
  waiting_ = 0;
  waiting_weight_ = 0;
  write_stretches(begin);
}

void Recorder::finish() {
  if (active() && in_fork())
    return; // a child made behind our back: helper and log are the parent's
  State expected = State::active;
  if (!state_.compare_exchange_strong(expected, State::over)) return;
  helper_.stop();
  stretches_.end();
  drain();
  look_at_areas();
  write_small_objects();
  write_stretch_counts();
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
    return warn_once(Notice::profile_unwritable,
                     "profile %s was removed, or its folder, while it was written", path_);
  if (forked_) return;
  char line[2 * sizeof path_ + 200];
  const int length = std::snprintf(
      line, sizeof line, "omptier: recorded %llu samples in %s; next: omptier advise %s\n", samples,
      path_, path_);
  if (length > 0) os().write(STDERR_FILENO, line, static_cast<std::size_t>(length));
}

// OpenMP tells of threads that pthread_create has told of already.
void Recorder::thread_begin() {
  if (!active() || t_watched == process_.load(std::memory_order_relaxed) || in_fork()) return;
  MemoryAreas::thread_begin(log_, this_thread());
  const std::lock_guard<std::mutex> guard(mutex_);
  t_watched = process_.load(std::memory_order_relaxed);
  if (source_ != nullptr) source_->thread_begin(static_cast<pid_t>(this_thread()));
}

void Recorder::thread_end() {
  if (!active() || in_fork()) return;
  t_watched = 0;
  MemoryAreas::thread_end(log_, this_thread());
  const std::lock_guard<std::mutex> guard(mutex_);
  if (source_ != nullptr) source_->thread_end(static_cast<pid_t>(this_thread()));
}

std::uint32_t Recorder::module_number(const LoadedModule* module) {
  const std::uint32_t number = module != nullptr ? module->number : k_no_module;
  std::uint8_t& byte = module_written_[number / 8];
  const auto bit = static_cast<std::uint8_t>(1u << number % 8);
  if ((byte & bit) != 0) return number;
  byte |= bit;
  ModuleText text;
  if (module != nullptr)
    text = {identity_of(*module), module->name, module->path, module->bias, module->system};
  log_.module(number, text);
  return number;
}

namespace {

// The loader's lock is never waited for under ours: a thread that holds it may be waiting for ours,
// in a malloc of its dl_iterate_phdr.
void identify_modules(const ReturnAddress* frames, unsigned count) {
  refresh_modules();
  for (unsigned i = 0; i < count; ++i) {
    const ModuleListUse use;
    const LoadedModule* module = known_module_of(frames[i]);
    if (use && module != nullptr) identity_of(*module, use);
  }
}

} // namespace

// The stack's number; its frames (and their modules) enter the log when it is new.
std::uint32_t Recorder::define(StackTable& table, const ReturnAddress* frames, unsigned count,
                               bool site) {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    const std::uint32_t number = table.known(frames, count);
    if (number != StackTable::k_full) return number;
  }
  identify_modules(frames, count);
  const std::lock_guard<std::mutex> guard(mutex_);
  bool fresh = false;
  const std::uint32_t number = table.number_of(frames, count, fresh);
  if (!fresh) return number;
  Frame exact[k_max_frames];
  for (unsigned i = 0; i < count; ++i) {
    const LoadedModule* module = known_module_of(frames[i]);
    exact[i].offset = frames[i] - (module != nullptr ? module->bias : 0);
    exact[i].module = module_number(module);
  }
  if (site)
    log_.site(number, exact, count);
  else
    log_.region_definition(number, exact, count);
  return number;
}

// Sources that count every access keep objects and regions apart themselves.
template <typename Tell> void Recorder::tell_source(Tell&& tell) {
  if (!source_wants_objects_.load(std::memory_order_relaxed)) return;
  const std::lock_guard<std::mutex> guard(mutex_);
  if (source_ != nullptr) tell(*source_);
}

void Recorder::allocated(const void* block, std::size_t bytes, std::uintptr_t allocator,
                         const void* caller) {
  if (!active() || block == nullptr) return;
  ReturnAddress frames[k_max_frames];
  const unsigned count = capture_stack(caller, frames, options_.site_depth);
  object(block, bytes, allocator, frames, count);
}

void Recorder::object(const void* block, std::size_t bytes, std::uintptr_t allocator,
                      const ReturnAddress* frames, unsigned count) {
  const std::uint32_t site = define(sites_, frames, count, true);
  if (site == StackTable::k_full) return;
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  log_.object(site, address, bytes, this_thread(), allocator);
  tell_source([&](SampleSource& source) { source.object_begin(address, bytes); });
}

void Recorder::released(const void* block) {
  if (!active() || block == nullptr) return;
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  tell_source([&](SampleSource& source) { source.object_end(address); });
  log_.release(address);
}

namespace {

const LoadedModule* module_at_call(const void* caller) {
  const auto at = reinterpret_cast<std::uintptr_t>(caller);
  const LoadedModule* module = known_module_of(at);
  return module != nullptr ? module : module_of(at);
}

// No frame of the program's leads to it: a library of the system's starting up, or a thread of its.
bool is_systems(const void* caller, const ReturnAddress* frames, unsigned count) {
  if (count != 1 || frames[0] != reinterpret_cast<ReturnAddress>(caller)) return false;
  const LoadedModule* module = module_at_call(caller);
  return module != nullptr && module->system;
}

} // namespace

bool Recorder::is_runtimes(const void* caller) {
  const LoadedModule* module = module_at_call(caller);
  return module != nullptr && module->runtime;
}

void Recorder::malloc_allocated(const void* block, std::size_t bytes, const void* caller) {
  if (!active() || block == nullptr || is_runtimes(caller)) return;
  ReturnAddress frames[k_max_frames];
  const unsigned count = capture_stack(caller, frames, options_.site_depth);
  if (!is_systems(caller, frames, count)) object(block, bytes, 0, frames, count);
}

void Recorder::small_allocated(const void* block, std::size_t bytes, const void* caller,
                               std::uint32_t stands_for) {
  if (!active() || is_runtimes(caller)) return;
  ReturnAddress frames[k_max_frames];
  const unsigned count = capture_stack(caller, frames, options_.site_depth);
  const std::uint32_t site = define(sites_, frames, count, true);
  if (site == StackTable::k_full) return;
  const auto area = reinterpret_cast<std::uintptr_t>(block) / k_small_area * k_small_area;
  const std::lock_guard<std::mutex> guard(mutex_);
  if (site >= small_counts_.size() && !small_counts_.resize(2 * std::size_t{site} + 64, {})) return;
  small_counts_[site].objects += stands_for;
  small_counts_[site].bytes += bytes * stands_for;
  if (small_areas_.add(area)) log_.small_area(area);
}

void Recorder::write_small_objects() {
  const std::lock_guard<std::mutex> guard(mutex_);
  for (std::uint32_t site = 0; site < small_counts_.size(); ++site) {
    SmallCount& count = small_counts_[site];
    if (count.objects == count.written) continue;
    log_.small_objects(site, count.objects, count.bytes);
    count.written = count.objects;
  }
}

void Recorder::mapped(const void* address, std::size_t bytes, const void* caller) {
  if (!active() || is_runtimes(caller)) return;
  ReturnAddress frames[k_max_frames];
  const unsigned count = capture_stack(caller, frames, options_.site_depth);
  const std::uint32_t site =
      is_systems(caller, frames, count) ? StackTable::k_full : define(sites_, frames, count, true);
  if (site == StackTable::k_full) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (!mappings_.add(begin, begin + bytes, site)) return;
    log_.object(site, begin, bytes, this_thread(), ObjectRecord::k_mapping);
  }
  tell_source([&](SampleSource& source) { source.object_begin(begin, bytes); });
}

void Recorder::unmapped(const void* address, std::size_t bytes) {
  if (!active()) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  const std::lock_guard<std::mutex> guard(mutex_);
  const bool tell = source_ != nullptr && source_wants_objects_.load(std::memory_order_relaxed);
  mappings_.remove(
      begin, begin + bytes,
      [&](std::uintptr_t old) {
        if (tell) source_->object_end(old);
        log_.release(old);
      },
      [&](std::uintptr_t left, std::uintptr_t end, std::uint32_t site) {
        log_.object(site, left, end - left, this_thread(), ObjectRecord::k_rest);
        if (tell) source_->object_begin(left, end - left);
      });
}

void Recorder::look_at_areas() {
  areas_.look(log_, mutex_, [&](const LoadedModule& module) { module_number(&module); });
}

std::uint64_t Recorder::region_begin(const void* codeptr, unsigned threads) {
  if (!active()) return 0;
  ReturnAddress frames[k_max_frames];
  const unsigned count = capture_stack(codeptr, frames, options_.region_depth);
  const std::uint32_t region = define(regions_, frames, count, false);
  if (region == StackTable::k_full) return 0;
  log_.region({monotonic_nanoseconds(), region, threads, this_thread(), true});
  stretches_.region_began(region, this_thread());
  tell_source([&](SampleSource& source) { source.region_changed(std::uint64_t{region} + 1); });
  return std::uint64_t{region} + 1;
}

void Recorder::region_end(std::uint64_t region) {
  if (!active() || region == 0) return;
  stretches_.region_ended(this_thread());
  log_.region(
      {monotonic_nanoseconds(), static_cast<std::uint32_t>(region - 1), 0, this_thread(), false});
  tell_source([](SampleSource& source) { source.region_changed(0); });
}

// Sources that count every access are told by a number that differs from stretch to stretch.
void Recorder::barrier_passed(const void* codeptr) {
  if (!active()) return;
  const std::uint64_t region = stretches_.passed(codeptr, this_thread());
  if (region != 0)
    tell_source([&](SampleSource& source) {
      source.region_changed(region | reinterpret_cast<std::uintptr_t>(codeptr) << 32);
    });
}

void Recorder::phase(const char* name) {
  if (active()) log_.phase(name != nullptr ? name : "");
}

void Recorder::moved(const void* address, std::size_t bytes, unsigned from, unsigned to,
                     double seconds) {
  if (!active()) return;
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
  log_.move(move);
}

// Time that a thread spends in the OpenMP runtime, mostly at the end of a region, is no access's.
bool Recorder::is_waiting(std::uint64_t pc) const {
  if (source_->measure() != Measure::time) return false;
  const LoadedModule* module = module_of(pc);
  return module != nullptr && module->runtime;
}

void Recorder::sample(const AccessSample& sample) {
  if (is_waiting(sample.pc)) {
    ++waiting_;
    waiting_weight_ += double{sample.weight};
    return;
  }
  log_.sample(sample);
  sample_times_.add(sample.time);
}

void Recorder::pattern(const AccessPattern& pattern) {
  if (!is_waiting(pattern.pc)) log_.pattern(pattern);
}

void Recorder::lost(std::uint64_t count) {
  if (count > 0) log_.lost(count);
}

void Recorder::before_fork() {
  mutex_.lock();
  log_.lock();
  close_modules_for_fork();
}

void Recorder::after_fork_in_parent() {
  open_modules_after_fork(false);
  log_.unlock();
  mutex_.unlock();
}

void Recorder::after_fork_in_child() {
  open_modules_after_fork(true);
  log_.forget();
  log_.unlock();
  sites_.restart();
  regions_.restart();
  small_counts_.clear();
  small_areas_.clear();
  stretches_.forget();
  sample_times_.clear();
  stretches_known_.restart();
  stretch_counts_.clear();
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
      source_.release()); // the parent's: what it holds is not to be touched, not even to be freed
  source_ = std::move(source);
  source_wants_objects_ = source_ != nullptr && source_->wants_objects();
  process_ = getpid();
  forked_ = true;
  if (!open_log()) return false;
  stretches_.begin();
  state_.store(State::active, std::memory_order_release);
  const auto work = [](void* self) { static_cast<Recorder*>(self)->tick(); };
  helper_.start(work, this, options_.drain_milliseconds);
  return true;
}

} // namespace omptier
