// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libomptier_ompt.so: the OMPT tool that records. libomp finds it through OMP_TOOL_LIBRARIES, calls
// ompt_start_tool, and from then on the callbacks below. Objects come from the copy of
// libomptier.so that the patched libomp has loaded; an unpatched libomp has none, and OpenMP's own
// objects are then not recorded. Another tool named behind ours also works (other_tool.hpp).
#include "base/notices.hpp"
#include "base/options.hpp"
#include "borders/malloc_record.h"
#include "borders/observer.h"
#include "objects/modules.hpp"
#include "objects/stack.hpp"
#include "ompt/other_tool.hpp"
#include "ompt/phase_events.hpp"
#include "recorder/recorder.hpp"
#include "sampling/timer_signal.hpp"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <new>
#include <omp-tools.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <unistd.h>

namespace omptier {
namespace {

// Never destroyed: callbacks may come until the very end of the process.
Recorder& recorder() {
  alignas(Recorder) static char storage[sizeof(Recorder)];
  static Recorder* made = new (storage) Recorder;
  return *made;
}

OtherTool g_other;
RegionNotes g_notes; // only with another tool, which then owns the runtime's data

using Observe = int (*)(const omptier_observer*);
std::atomic<Observe> g_observe{nullptr};
// With libomptier_preload.so recording begins before main and outlives OpenMP.
std::atomic<bool> g_whole_process{false};
pid_t g_started_in = 0;
std::atomic<bool> g_asked{false}; // libomp has called ompt_start_tool

void on_allocated(const void* block, std::size_t bytes, std::uintptr_t allocator,
                  const void* caller) {
  recorder().allocated(block, bytes, allocator, caller);
}
void on_released(const void* block) {
  recorder().released(block);
}
void on_phase(const char* name) {
  recorder().phase(name);
}
void on_moved(const void* address, std::size_t bytes, unsigned from, unsigned to, double seconds,
              int at_barrier) {
  recorder().moved(address, bytes, from, to, seconds, at_barrier != 0);
}

constexpr omptier_observer k_observer = {OMPTIER_OBSERVER_VERSION,
                                         sizeof(omptier_observer),
                                         on_allocated,
                                         on_released,
                                         on_phase,
                                         on_moved};

Observe find_observe() {
  refresh_modules();
  for (unsigned i = 0; i < module_count(); ++i) {
    const LoadedModule& module = module_at(i);
    if (std::strcmp(module.name, "libomptier.so") != 0 || !module.loaded.load()) continue;
    void* library = dlopen(module.path, RTLD_NOW | RTLD_NOLOAD);
    if (library == nullptr) continue;
    void* symbol = dlsym(library, "omptier_observe");
    if (symbol == nullptr) continue;
    return reinterpret_cast<Observe>(symbol);
  }
  return nullptr;
}

void attach_observer() {
  if (g_observe.load() != nullptr) return;
  const Observe observe = find_observe();
  if (observe == nullptr) {
    if (g_whole_process.load()) return; // malloc's objects are
    inform(Notice::objects_unseen,
           "this runtime is not OMPTier's: regions and samples are recorded, objects are not");
    return;
  }
  if (observe(&k_observer) == 0) g_observe.store(observe, std::memory_order_release);
}

void detach_observer() {
  if (const Observe observe = g_observe.exchange(nullptr)) observe(nullptr);
}

RecorderOptions options_from_environment() {
  RecorderOptions options;
  options.pattern = option_text(Option::profile);
  options.source.which = option_text(Option::events);
  options.source.rate = static_cast<double>(option_number(Option::rate));
  options.site_depth = frames_to_keep();
  options.log_bytes = option_number(Option::profile_size);
  options.memory = option_number(Option::profile_memory);
  options.recording = option_number(Option::recording);
  options.quiet = option_flag(Option::quiet);
  options.children = std::strcmp(option_text(Option::children), "no") != 0;
  return options;
}

std::unique_ptr<SampleSource> open_source(RecorderOptions& options) {
  std::string why;
  std::unique_ptr<SampleSource> source = open_sample_source(options.source, why);
  if (source == nullptr && options.source.which != "none")
    options.why_no_source = why;
  else if (source != nullptr)
    inform(Notice::sample_source, "samples: %s", why.c_str());
  return source;
}

// At its first region, thread or recorded block, so that children which only exec leave no log.
void wake_forked_child() {
  if (!recorder().wants_restart()) return;
  static std::atomic<pid_t> woken{0}; // only one of the child's threads may open a source
  if (woken.exchange(getpid()) == getpid()) return;
  RecorderOptions options = options_from_environment();
  const Observe observe = g_observe.load();
  if (observe != nullptr) observe(nullptr);
  if (!recorder().restart_in_child(open_source(options))) return;
  recorder().thread_begin();
  if (observe != nullptr) observe(&k_observer); // also reports the blocks that are already live
}

// Sample sources allocate: their exceptions must not reach libomp.
template <typename Work> void guarded(Work&& work) {
  try {
    work();
  } catch (...) {
    warn_once(Notice::threads_unsampled, "memory is short: some threads are not sampled");
  }
}

template <typename Callback, typename... A>
void call_other(ompt_callbacks_t event, A... arguments) {
  if (!g_other.active()) return;
  if (const auto callback = g_other.callback<Callback>(event)) callback(arguments...);
}

// A child inherits its parent's count of blocks until the next reported small block, so its first
// report may come at once and does not show that the child does any work.
bool is_first_small_since_fork() {
  static std::atomic<pid_t> seen_in{0};
  if (!recorder().wants_restart()) return false;
  const pid_t process = getpid();
  return seen_in.exchange(process) != process;
}

// caller: of malloc. An OpenMP runtime's own allocations in a forked child do not start its log.
void wake_for_block(const void* caller) {
  if (recorder().wants_restart() && !recorder().is_runtimes(caller)) guarded(wake_forked_child);
}

void on_thread_begin(ompt_thread_t type, ompt_data_t* thread) {
  guarded([] { recorder().thread_begin(); });
  call_other<ompt_callback_thread_begin_t>(ompt_callback_thread_begin, type, thread);
}
void on_thread_end(ompt_data_t* thread) {
  call_other<ompt_callback_thread_end_t>(ompt_callback_thread_end, thread);
  guarded([] { recorder().thread_end(); });
}

void on_parallel_begin(ompt_data_t* task, const ompt_frame_t* frame, ompt_data_t* parallel,
                       unsigned int requested, int flags, const void* codeptr) {
  guarded(wake_forked_child);
  const std::uint64_t region = recorder().region_begin(codeptr, requested);
  if (!g_other.active()) return void(parallel->value = region);
  g_notes.note(parallel, region);
  call_other<ompt_callback_parallel_begin_t>(ompt_callback_parallel_begin, task, frame, parallel,
                                             requested, flags, codeptr);
}

void on_parallel_end(ompt_data_t* parallel, ompt_data_t* task, int flags, const void* codeptr) {
  const std::uint64_t region = g_other.active() ? g_notes.take(parallel) : parallel->value;
  call_other<ompt_callback_parallel_end_t>(ompt_callback_parallel_end, parallel, task, flags,
                                           codeptr);
  recorder().region_end(region);
}

template <typename Callback>
void set_callback(ompt_set_callback_t set, ompt_callbacks_t event, Callback callback) {
  set(event, reinterpret_cast<ompt_callback_t>(callback));
}

void finish() {
  detach_observer();
  recorder().finish();
}

// Once: a library that uses OpenMP while it is loaded starts it before libomptier_preload.so does.
bool start_recorder() {
  if (recorder().active()) return true;
  try {
    RecorderOptions options = options_from_environment();
    std::unique_ptr<SampleSource> source = open_source(options);
    if (!recorder().start(options, std::move(source))) return false;
    if (!options.children) unsetenv("OMPTIER_RECORD"); // what this process starts is not recorded
    pthread_atfork([] { recorder().before_fork(); }, [] { recorder().after_fork_in_parent(); },
                   [] {
                     recorder().after_fork_in_child();
                     g_notes.clear();
                   });
    return true;
  } catch (...) {
    warn_once(Notice::recorder_failed, "the profiler could not start; nothing is recorded");
    return false;
  }
}

// Whether this process was started by a program whose children are not recorded.
bool is_ignored_child() {
  return std::strcmp(option_text(Option::children), "no") == 0 &&
         std::getenv("OMPTIER_RECORD") == nullptr && !recorder().active();
}

int on_initialize(ompt_function_lookup_t look_up, int device, ompt_data_t*) {
  const auto set = reinterpret_cast<ompt_set_callback_t>(look_up("ompt_set_callback"));
  if (set == nullptr) return 0;
  const bool recording = g_whole_process.load() || start_recorder();
  const bool other = g_other.initialize(look_up, device);
  if (!recording && !other) return 0;
  set_callback(set, ompt_callback_thread_begin, &on_thread_begin);
  set_callback(set, ompt_callback_thread_end, &on_thread_end);
  set_callback(set, ompt_callback_parallel_begin, &on_parallel_begin);
  set_callback(set, ompt_callback_parallel_end, &on_parallel_end);
  set_phase_callbacks(set, recorder(), g_other);
  if (recording) guarded(attach_observer);
  return 1;
}

void on_finalize(ompt_data_t*) {
  g_other.finalize();
  if (g_whole_process.load()) return;
  try {
    finish();
  } catch (...) {
    warn_once(Notice::profile_unfinished,
              "the profile could not be ended; its last part is missing");
  }
}

int start_whole_process(const omptier_small_spans* spans) {
  recorder().serve_small(spans);
  if (!start_recorder()) return 0;
  g_started_in = getpid();
  g_whole_process.store(true);
  guarded([] { recorder().thread_begin(); });
  guarded(attach_observer);
  return 1;
}

// libomp prefers a tool that is linked into the program, and then never starts ours.
void warn_of_linked_tool() {
  if (g_asked.load() || getpid() != g_started_in) return;
  void* start = dlsym(RTLD_DEFAULT, "ompt_start_tool");
  if (start == nullptr || dlsym(RTLD_DEFAULT, "omp_get_max_threads") == nullptr) return;
  refresh_modules();
  const LoadedModule* module = module_of(reinterpret_cast<std::uintptr_t>(start));
  if (module == nullptr || module->runtime) return;
  warn_once(Notice::regions_unseen,
            "%s has an OMPT tool of its own (ompt_start_tool): parallel regions are not recorded; "
            "name that tool in OMP_TOOL_LIBRARIES instead of linking it, and both are served",
            module->name);
}

void end_whole_process() {
  guarded(warn_of_linked_tool);
  guarded(finish);
}

constexpr omptier_malloc_record k_malloc_record = {
    OMPTIER_MALLOC_RECORD_VERSION,
    sizeof(omptier_malloc_record),
    start_whole_process,
    end_whole_process,
    [](const void* block, std::size_t bytes, const void* caller) {
      wake_for_block(caller);
      recorder().malloc_allocated(block, bytes, caller);
    },
    [](const void* block) { recorder().released(block); },
    [](const void* block, std::size_t bytes, const void* caller, std::uint32_t stands_for) {
      if (!is_first_small_since_fork()) wake_for_block(caller);
      recorder().small_allocated(block, bytes, caller, stands_for);
    },
    [] { return recorder().mappings_logged(); },
    [](const void* address, std::size_t bytes, const void* caller) {
      wake_for_block(caller);
      recorder().mapped(address, bytes, caller);
    },
    [](const void* address, std::size_t bytes, std::uint64_t before) {
      recorder().unmapped(address, bytes, before);
    },
    [] {
      guarded([] {
        wake_forked_child();
        recorder().thread_begin();
      });
    },
    [] { guarded([] { recorder().thread_end(); }); },
    [] { guarded(attach_observer); },
    [](const void* codeptr, unsigned threads) {
      guarded(wake_forked_child);
      return recorder().region_begin(codeptr, threads);
    },
    [](std::uint64_t region) { recorder().region_end(region); },
    [](const void* codeptr) { recorder().barrier_passed(codeptr); },
    [](int number, int taken) { return program_asks_signal(number, taken != 0) ? 1 : 0; },
};

} // namespace
} // namespace omptier

extern "C" __attribute__((visibility("default"))) ompt_start_tool_result_t*
ompt_start_tool(unsigned int omp_version, const char* runtime_version) {
  // Not in programs with more rights than their user, who could make them write files.
  if (getauxval(AT_SECURE) != 0) return nullptr;
  omptier::g_asked.store(true);
  if (omptier::is_ignored_child()) return nullptr;
  try {
    omptier::g_other.find(omp_version, runtime_version);
  } catch (...) { // no memory for a file's name: goes on without the other tool
  }
  static ompt_start_tool_result_t result = {&omptier::on_initialize, &omptier::on_finalize, {0}};
  return &result;
}

extern "C" __attribute__((visibility("default"))) const omptier_malloc_record*
omptier_malloc_record_attach(std::uint32_t version) {
  const bool fit = version == OMPTIER_MALLOC_RECORD_VERSION && getauxval(AT_SECURE) == 0;
  return fit ? &omptier::k_malloc_record : nullptr;
}
