// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The recorder with a source made up here: what it is told ends up in the log; it survives fork,
// other threads, a folder that is not there; its cost.
#include "analysis_summary.hpp"
#include "log_build.hpp"
#include "made_up_source.hpp"

#include "base/os.hpp"
#include "recorder/helper_thread.hpp"
#include "recorder/recorder.hpp"

#include <atomic>
#include <chrono>
#include <gtest/gtest.h>
#include <mutex>
#include <sys/wait.h>
#include <thread>

using namespace omptier;

namespace {

struct Recording {
  explicit Recording(const std::string& pattern, const omptier_small_spans* spans = nullptr) {
    recorder->serve_small(spans);
    RecorderOptions options;
    options.pattern = pattern;
    options.drain_milliseconds = 5;
    auto owned = std::make_unique<MadeUpSource>();
    source = owned.get();
    started = recorder->start(options, std::move(owned));
  }
  // Until the helper thread has taken all samples; ten seconds at most.
  bool drained() const {
    for (int i = 0; i < 2000; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
      if (source->is_drained()) return true;
    }
    return false;
  }
  void miss(const void* address, unsigned times = 1) {
    AccessSample sample =
        sample_at(monotonic_nanoseconds(), reinterpret_cast<std::uintptr_t>(address));
    sample.kind = AccessKind::load;
    sample.weight = 10;
    for (unsigned i = 0; i < times; ++i)
      source->add(sample);
  }
  std::string finish() { // what it says on stderr
    testing::internal::CaptureStderr();
    recorder->finish();
    return testing::internal::GetCapturedStderr();
  }
  // Never destroyed, as in the tool.
  Recorder* recorder = new Recorder;
  MadeUpSource* source = nullptr;
  bool started = false;
};

__attribute__((noinline)) void allocate(Recorder& recorder, const void* block, std::size_t bytes) {
  recorder.allocated(block, bytes, 1, __builtin_return_address(0));
  asm volatile("");
}

} // namespace

// The longest name there can be stands in the last line twice.
TEST(Recorder, NamesLogsWithLongPaths) {
  const ScratchFile file;
  std::string path = file.path();
  const std::size_t slash = path.rfind('/');
  std::string detour;
  while (path.size() + detour.size() + 2 < 4000)
    detour += "/.";
  path.insert(slash, detour);
  Recording recording(path);
  ASSERT_TRUE(recording.started);
  const std::string said = recording.finish();
  EXPECT_TRUE(said.ends_with(path + "\n"));
  EXPECT_NE(said.find("in " + path + ";"), std::string::npos);
}

// The program goes on when decoding finds no memory.
TEST(Recorder, LosesSamplesWhenMemoryIsShort) {
  const ScratchFile file;
  Recording recording(file.path());
  ASSERT_TRUE(recording.started);
  recording.source->short_of_memory = true;
  recording.miss(&file, 3);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  recording.finish();
  EXPECT_TRUE(read_back(file.path()).samples.empty());
}

TEST(Recorder, WritesWhatItIsTold) {
  const ScratchFile file;
  Recording recording(file.path());
  ASSERT_TRUE(recording.started);
  Recorder& recorder = *recording.recorder;
  static char first[1000], second[2000];
  recorder.thread_begin();
  EXPECT_EQ(recording.source->last_begun, gettid());
  allocate(recorder, first, sizeof first);
  int twice = 2;
  asm volatile("" : "+r"(twice)); // a loop, not two calls
  for (int i = 0; i < twice; ++i)
    allocate(recorder, second + 1000 * i, 1000); // one site, two objects
  recorder.phase("setup");
  const std::uint64_t region = recorder.region_begin(__builtin_return_address(0), 4);
  EXPECT_NE(region, 0u);
  recording.miss(first + 10, 30);
  recording.miss(second + 1500, 10);
  recording.source->lose = 7;
  EXPECT_TRUE(recording.drained());
  recorder.region_end(region);
  recorder.moved(first, sizeof first, 2, 0, 0.001);
  recorder.released(first);
  recorder.thread_end();
  EXPECT_EQ(recording.source->last_ended, gettid());
  const std::string said = recording.finish();
  EXPECT_EQ(said, "omptier: recorded 40 samples in " + file.path() + "; next: omptier advise " +
                      file.path() + "\n");

  const Profile profile = read_back(file.path());
  EXPECT_TRUE(profile.cut.empty()) << profile.cut;
  EXPECT_EQ(profile.run.source, "fake");
  EXPECT_EQ(profile.run.measure, Measure::misses);
  EXPECT_EQ(profile.run.process, static_cast<std::uint64_t>(getpid()));
  EXPECT_NE(profile.run.command_line.find("unit_recorder"), std::string::npos);
  ASSERT_EQ(profile.objects.size(), 3u);
  EXPECT_NE(profile.objects[0].site, profile.objects[1].site);
  EXPECT_EQ(profile.objects[1].site, profile.objects[2].site);
  EXPECT_EQ(profile.objects[2].instance, 1u);
  EXPECT_EQ(profile.samples_lost, 7u);
  ASSERT_EQ(profile.phases.size(), 1u);
  ASSERT_EQ(profile.moves.size(), 1u);
  EXPECT_EQ(profile.moves[0].from, MemoryKind::nvm);
  for (const SiteRecord& site : profile.sites)
    EXPECT_EQ(profile.modules[site.frames[0].module].name, "unit_recorder");
  const ProfileSummary summary = summary_of(profile);
  EXPECT_DOUBLE_EQ(summary.sites[0].share.value, 0.75);
  EXPECT_DOUBLE_EQ(summary.sites[1].share.value, 0.25);
  ASSERT_EQ(summary.regions.size(), 2u);
  EXPECT_EQ(summary.regions[1].samples, 40u);
}

// Of runs without a sample, those in which memory moved at a barrier.
TEST(Recorder, LogsTheRunInWhichMemoryMovesAtABarrier) {
  const ScratchFile file;
  Recording recording(file.path());
  ASSERT_TRUE(recording.started);
  Recorder& recorder = *recording.recorder;
  static char block[1000];
  allocate(recorder, block, sizeof block);
  for (int run = 0; run < 3; ++run) {
    const std::uint64_t region = recorder.region_begin(__builtin_return_address(0), 4);
    if (run == 1) recorder.moved(block, sizeof block, 2, 0, 0, true);
    recorder.region_end(region);
  }
  recording.finish();
  const Profile profile = read_back(file.path());
  ASSERT_EQ(profile.moves.size(), 1u);
  ASSERT_EQ(profile.regions.size(), 2u) << "begin and end";
  EXPECT_LE(profile.regions[0].time, profile.moves[0].time);
  EXPECT_GE(profile.regions[1].time, profile.moves[0].time);
}

TEST(Recorder, FolderThatIsNotThereIsOneWarning) {
  testing::internal::CaptureStderr();
  Recording recording("/nonexistent/folder/p.profile");
  EXPECT_FALSE(recording.started);
  recording.recorder->allocated(&recording, 8, 0, nullptr);
  recording.recorder->region_end(recording.recorder->region_begin(nullptr, 1));
  recording.recorder->finish();
  const std::string said = testing::internal::GetCapturedStderr();
  EXPECT_NE(said.find("/nonexistent/folder/p.profile"), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1) << said;
}

TEST(Recorder, ForkedChildHasALogOfItsOwnOrNone) {
  const ScratchFile file;
  Recording recording(file.path() + "-%p");
  ASSERT_TRUE(recording.started);
  Recorder& recorder = *recording.recorder;
  static char block[64];
  allocate(recorder, block, sizeof block);
  const auto fork_here = [&] {
    recorder.before_fork();
    const pid_t child = fork();
    if (child != 0)
      recorder.after_fork_in_parent();
    else
      recorder.after_fork_in_child();
    return child;
  };
  const pid_t quiet = fork_here();
  if (quiet == 0) _exit(recorder.wants_restart() && recording.source->forked ? 0 : 1);
  const pid_t busy = fork_here();
  if (busy == 0) {
    if (!recorder.restart_in_child(std::make_unique<MadeUpSource>())) _exit(2);
    allocate(recorder, block, sizeof block);
    recorder.finish();
    _exit(0);
  }
  int status = 0;
  ASSERT_EQ(waitpid(quiet, &status, 0), quiet);
  EXPECT_EQ(status, 0);
  ASSERT_EQ(waitpid(busy, &status, 0), busy);
  EXPECT_EQ(status, 0);
  recording.finish();
  const std::string own = file.path() + "-" + std::to_string(getpid());
  const std::string of_busy = file.path() + "-" + std::to_string(busy);
  const Profile parent = read_back(own), child = read_back(of_busy);
  EXPECT_NE(access((file.path() + "-" + std::to_string(quiet)).c_str(), F_OK), 0);
  EXPECT_TRUE(parent.cut.empty());
  EXPECT_TRUE(child.cut.empty());
  EXPECT_EQ(parent.objects.size(), 1u);
  ASSERT_EQ(child.objects.size(), 1u);
  EXPECT_FALSE(child.sites[0].frames.empty());
  EXPECT_EQ(child.run.process, static_cast<std::uint64_t>(busy));
  unlink(own.c_str());
  unlink(of_busy.c_str());
}

TEST(Recorder, KilledProcessLeavesAReadableLog) {
  const ScratchFile file;
  const pid_t child = fork();
  if (child == 0) {
    Recording recording(file.path());
    static char block[64];
    allocate(*recording.recorder, block, sizeof block);
    recording.miss(block, 100);
    recording.drained();
    std::this_thread::sleep_for(std::chrono::milliseconds(100)); // and written them
    raise(SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  const Profile profile = read_back(file.path());
  EXPECT_FALSE(profile.cut.empty());
  EXPECT_EQ(profile.objects.size(), 1u);
  EXPECT_EQ(profile.samples.size(), 100u);
}

TEST(Recorder, LogInUseIsNotOverwritten) {
  const ScratchFile file;
  Recording first(file.path());
  ASSERT_TRUE(first.started);
  Recording second(file.path());
  ASSERT_TRUE(second.started);
  const std::string other = file.path() + "." + std::to_string(getpid());
  EXPECT_STREQ(second.recorder->path(), other.c_str());
  first.finish();
  second.finish();
  EXPECT_TRUE(read_back(file.path()).cut.empty());
  EXPECT_TRUE(read_back(other).cut.empty());
  unlink(other.c_str());
}

TEST(Recorder, ThreadsRecordTogether) {
  const ScratchFile file;
  Recording recording(file.path());
  constexpr unsigned k_threads = 4, k_each = 5000;
  std::vector<std::thread> threads;
  for (std::uintptr_t t = 1; t <= k_threads; ++t)
    threads.emplace_back([&, t] {
      for (std::uintptr_t i = 0; i < k_each; ++i) {
        const auto* block = reinterpret_cast<const void*>(t << 40 | i << 17);
        allocate(*recording.recorder, block, 1 << 16);
        recording.recorder->released(block);
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  recording.finish();
  const Profile profile = read_back(file.path());
  EXPECT_EQ(profile.objects.size(), k_threads * k_each);
  EXPECT_EQ(profile.sites.size(), 1u);
  for (const ObjectRecord& object : profile.objects)
    ASSERT_NE(object.released, ObjectRecord::k_never);
}

TEST(Recorder, CostOfAnAllocation) {
  const ScratchFile file;
  Recording recording(file.path());
  static char block[64];
  constexpr unsigned k_events = 50000;
  for (unsigned i = 0; i < 1000; ++i)
    allocate(*recording.recorder, block, 64);
  const auto begin = std::chrono::steady_clock::now();
  for (unsigned i = 0; i < k_events; ++i) {
    allocate(*recording.recorder, block, 64);
    recording.recorder->released(block);
  }
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
  recording.finish();
  const Profile profile = read_back(file.path());
  std::printf("allocation + release: %.0f ns, %.1f bytes\n", spent.count() / k_events,
              double(profile.bytes) / (k_events + 1000));
  EXPECT_LT(spent.count() / k_events, 20000);
}
// A program that makes threads all the time: the helper thread looks at them early as long as that
// has cost little, then at its usual pace.
TEST(HelperThread, WorkAskedForAllTheTimeIsBounded) {
  struct Work {
    std::atomic<unsigned> times = 0;
    std::uint64_t cost = 0; // ns of CPU time
    static std::uint64_t now() {
      timespec time{};
      clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
      return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000 +
             static_cast<std::uint64_t>(time.tv_nsec);
    }
    static void run(void* self) {
      auto& work = *static_cast<Work*>(self);
      ++work.times;
      for (const std::uint64_t end = now() + work.cost; now() < end;) {
      }
    }
  } work;
  work.cost = 4'000'000;
  HelperThread helper;
  constexpr unsigned k_period = 100; // ms
  ASSERT_TRUE(helper.start(Work::run, &work, k_period));
  const std::uint64_t begin = monotonic_nanoseconds();
  while (monotonic_nanoseconds() < begin + 1'000'000'000) {
    helper.wake_soon();
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  const double seconds = static_cast<double>(monotonic_nanoseconds() - begin) * 1e-9;
  helper.stop();
  const double usual = seconds * 1000 / k_period, early = (20 + seconds * 20) / 4;
  EXPECT_LE(work.times, usual + early + 3);
  EXPECT_GE(work.times, 2u);
}

// Small blocks by site, as libomptier_preload.so serves them.
namespace {

struct MadeUpSpans {
  static inline omptier_call_words asked{};
  static inline unsigned times = 0, matching = 0; // words that lie where they are said to
  static inline std::uintptr_t begin = 0x7e0000000000, slot = 0;
  static inline std::mutex lock; // covers counts
  static inline omptier_small_counts counts{};
  static int serve(const omptier_call_words* call) {
    asked = *call;
    ++times;
    for (unsigned i = 0; i < call->count; ++i)
      matching += *reinterpret_cast<const std::uint64_t*>(slot + call->above[i]) == call->code[i];
    return 1;
  }
  static int find(std::uint64_t address, std::uint64_t, omptier_small_place* place) {
    if (address - begin >= 65536) return 0;
    *place = {asked.site, 224, static_cast<std::uint32_t>(address - begin) % 224};
    return 1;
  }
  static void visit(void (*visit)(void*, const omptier_small_counts*), void* argument) {
    omptier_small_counts now;
    {
      const std::lock_guard guard(lock);
      now = counts;
    }
    if (now.objects != 0) visit(argument, &now);
  }
};

__attribute__((noinline)) void small_block(Recorder& recorder, std::size_t bytes) {
  MadeUpSpans::slot = reinterpret_cast<std::uintptr_t>(__builtin_frame_address(0)) + sizeof(void*);
  recorder.small_allocated(reinterpret_cast<const void*>(0x600000), bytes,
                           __builtin_return_address(0), 64);
  asm volatile("");
}

// From one place, of a function whose frame is small whatever a sanitizer adds to the test's: which
// call made the spans' library be asked for the first time.
__attribute__((noinline)) unsigned small_blocks(Recorder& recorder, unsigned count) {
  unsigned first = 0;
  for (unsigned i = 1; i <= count; ++i) {
    asm volatile("" : "+r"(i)); // else a compiler may write the loop out
    small_block(recorder, 216);
    if (MadeUpSpans::times == 1 && first == 0) first = i;
  }
  return first;
}

} // namespace

TEST(Recorder, ServesSitesOfManySmallBytes) {
  const ScratchFile file;
  static constexpr omptier_small_spans k_spans = {MadeUpSpans::serve, MadeUpSpans::find,
                                                  MadeUpSpans::visit};
  Recording recording(file.path(), &k_spans);
  ASSERT_TRUE(recording.started);
  [[maybe_unused]] const unsigned first =
      small_blocks(*recording.recorder, 18); // 9 * 64 * 216 bytes are 122 KiB
#if defined(__x86_64__)
  EXPECT_EQ(first, 10u);
  EXPECT_EQ(MadeUpSpans::times, 1u); // again only from four times as much on
  ASSERT_GE(MadeUpSpans::asked.count, 2u);
  EXPECT_EQ(MadeUpSpans::matching, MadeUpSpans::asked.count);
  {
    const std::lock_guard guard(MadeUpSpans::lock); // the helper thread visits
    MadeUpSpans::counts = {MadeUpSpans::asked.site, 216, 1000, 216'000, 108'000, 162'000};
  }
  recording.miss(reinterpret_cast<const void*>(MadeUpSpans::begin + 2240 + 100), 3);
  ASSERT_TRUE(recording.drained());
  {
    const std::lock_guard guard(MadeUpSpans::lock);
    MadeUpSpans::counts.objects = 1500;
    MadeUpSpans::counts.bytes = 324'000;
    MadeUpSpans::counts.live = MadeUpSpans::counts.peak = 216'000;
  }
  recording.finish();
  const ProfileSummary summary = summary_of(*read_profile(file.path()));
  ASSERT_EQ(summary.sites.size(), 1u);
  const SiteSummary& site = summary.sites[0];
  EXPECT_EQ(site.objects, 1500u);
  EXPECT_EQ(site.bytes_total, 324'000u);
  EXPECT_EQ(site.bytes_peak, 216'000u);
  EXPECT_EQ(site.bytes_largest, 216u);
  EXPECT_EQ(site.samples, 3u);
  EXPECT_TRUE(site.by_malloc);
  EXPECT_EQ(summary.small_objects.objects, 18u * 64);
#endif
}
