// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is written is read back; a log cut off anywhere is read up to the cut; changed bytes are
// noticed and named; a writer that cannot write goes quiet.
#include "log/name.hpp"
#include "log_build.hpp"

#include "base/os.hpp"

#include <cerrno>
#include <chrono>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <thread>
#include <vector>

using namespace omptier;

namespace {

AccessSample some_sample(std::uint64_t time, std::uint64_t address) {
  AccessSample sample;
  sample.time = time;
  sample.address = address;
  sample.pc = 0x401000 + address % 64;
  sample.thread = 77;
  sample.kind = address % 2 == 0 ? AccessKind::load : AccessKind::store;
  sample.level = AccessLevel::memory;
  sample.streamed = address % 3 == 0;
  sample.by_kernel = address % 7 == 0;
  sample.stored_back = sample.kind == AccessKind::load && address % 5 == 0;
  sample.gathered = sample.kind == AccessKind::load && address % 11 == 0;
  sample.weight = 100;
  sample.latency = 312.5f;
  sample.loop = address % 13 == 0 ? 0 : sample.pc - address % 5;
  sample.nest = sample.loop & ~std::uint64_t{15};
  sample.node = 1;
  return sample;
}

// A run with everything in it, some blocks long.
void write_everything(LogWriter& writer, unsigned samples) {
  writer.run(some_run());
  ModuleText module;
  module.identity = "build-id:0123456789abcdef";
  module.name = "app";
  module.path = "/home/user/app";
  module.bias = 0x400000;
  writer.module(0, module);
  const Frame frames[3] = {{0, 0x1234}, {0, 0x5678}, {0, 0x9abc}};
  writer.site(0, frames, 3);
  writer.site(1, frames + 1, 2);
  writer.object(0, 0x7f0000001000, 1 << 20, 77, 8);
  writer.object(0, 0x7f0000200000, 1 << 20, 77, 8);
  writer.object(1, 0x7f0000400000, 0, 78, 500);
  writer.region_definition(0, frames, 1);
  writer.region({monotonic_nanoseconds(), 0, 4, 77, true});
  for (unsigned i = 0; i < samples; ++i) {
    writer.sample(some_sample(monotonic_nanoseconds(), 0x7f0000001000 + i));
    if (i % 100 == 99) writer.flush();
  }
  writer.region({monotonic_nanoseconds(), 0, 0, 77, false});
  writer.release(0x7f0000001000);
  writer.phase("solve");
  MoveRecord move;
  move.time = monotonic_nanoseconds();
  move.address = 0x7f0000200000;
  move.bytes = 4096;
  move.from = MemoryKind::nvm;
  move.to = MemoryKind::dram;
  move.seconds = 0.25;
  writer.move(move);
  writer.lost(5);
  writer.end();
}

std::string log_bytes(unsigned samples) {
  const ScratchFile file;
  auto writer = std::make_unique<LogWriter>();
  EXPECT_TRUE(open_log(*writer, file));
  write_everything(*writer, samples);
  writer->close();
  return file.bytes();
}

ssize_t full_disk(int, const void*, std::size_t) {
  errno = ENOSPC;
  return -1;
}

} // namespace

TEST(Log, RoundTrip) {
  const std::string bytes = log_bytes(10000);
  const Parsed<Profile> read = parse_profile(bytes, "log");
  ASSERT_TRUE(read) << read.error();
  const Profile& profile = *read;
  EXPECT_TRUE(profile.cut.empty()) << profile.cut;
  EXPECT_EQ(profile.run.host, "node1");
  EXPECT_EQ(profile.run.command_line, "./app --size 3");
  EXPECT_EQ(profile.run.rank, 2u);
  EXPECT_EQ(profile.run.measure, Measure::misses);
  EXPECT_DOUBLE_EQ(profile.run.worst_error, 0.03);
  ASSERT_EQ(profile.modules.size(), 1u);
  EXPECT_EQ(profile.modules[0].path, "/home/user/app");
  EXPECT_EQ(profile.modules[0].bias, 0x400000u);
  ASSERT_EQ(profile.sites.size(), 2u);
  ASSERT_EQ(profile.sites[1].frames.size(), 2u);
  EXPECT_EQ(profile.sites[1].frames[0].offset, 0x5678u);
  ASSERT_EQ(profile.objects.size(), 3u);
  EXPECT_EQ(profile.objects[1].instance, 1u);
  EXPECT_EQ(profile.objects[2].instance, 0u);
  EXPECT_EQ(profile.objects[2].allocator, 500u);
  EXPECT_NE(profile.objects[0].released, ObjectRecord::k_never);
  EXPECT_EQ(profile.objects[1].released, ObjectRecord::k_never);
  ASSERT_EQ(profile.regions.size(), 2u);
  EXPECT_TRUE(profile.regions[0].begin);
  EXPECT_EQ(profile.regions[0].threads, 4u);
  EXPECT_FALSE(profile.regions[1].begin);
  ASSERT_EQ(profile.phases.size(), 1u);
  EXPECT_EQ(profile.phases[0].name, "solve");
  ASSERT_EQ(profile.moves.size(), 1u);
  EXPECT_EQ(profile.moves[0].from, MemoryKind::nvm);
  EXPECT_DOUBLE_EQ(profile.moves[0].seconds, 0.25);
  EXPECT_EQ(profile.samples_lost, 5u);
  ASSERT_TRUE(profile.end);
  EXPECT_EQ(profile.end->samples, 10000u);
  EXPECT_EQ(profile.end->samples_lost, 5u);
  ASSERT_EQ(profile.samples.size(), 10000u);
  for (unsigned i = 0; i < 10000; ++i) {
    const AccessSample &got = profile.samples[i], want = some_sample(0, 0x7f0000001000 + i);
    ASSERT_EQ(got.address, want.address) << i;
    ASSERT_EQ(got.pc, want.pc);
    ASSERT_EQ(got.kind, want.kind);
    ASSERT_EQ(got.level, want.level);
    ASSERT_EQ(got.streamed, want.streamed);
    ASSERT_EQ(got.by_kernel, want.by_kernel);
    ASSERT_EQ(got.stored_back, want.stored_back);
    ASSERT_EQ(got.gathered, want.gathered);
    ASSERT_EQ(got.loop, want.loop);
    ASSERT_EQ(got.nest, want.nest);
    ASSERT_EQ(got.node, want.node);
    ASSERT_EQ(got.thread, want.thread);
    ASSERT_FLOAT_EQ(got.weight, want.weight);
    ASSERT_NEAR(got.latency, want.latency, 0.06);
    ASSERT_GE(got.time, profile.objects[2].time);
  }
}

TEST(Log, ExtremeValuesSurvive) {
  const ScratchFile file;
  auto writer = std::make_unique<LogWriter>();
  ASSERT_TRUE(open_log(*writer, file));
  RunRecord run = some_run();
  run.command_line = std::string(100000, 'x');
  writer->run(run);
  const Frame frame{0, ~std::uint64_t{0}};
  writer->site(0, &frame, 1);
  writer->object(0, ~std::uint64_t{0} - 1, ~std::uint64_t{0}, ~0u, ~std::uint64_t{0});
  writer->object(0, 1, 1, 0, 0);
  AccessSample sample;
  sample.time = ~std::uint64_t{0} >> 2;
  sample.address = sample.pc = ~std::uint64_t{0};
  writer->sample(sample);
  writer->sample({});
  writer->close();
  const Parsed<Profile> read = read_profile(file.path());
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->run.command_line.size(), 1000u); // cut, not dropped
  EXPECT_EQ(read->objects[0].bytes, ~std::uint64_t{0});
  EXPECT_EQ(read->objects[1].address, 1u);
  ASSERT_EQ(read->samples.size(), 2u);
  EXPECT_EQ(read->samples[1].address, ~std::uint64_t{0});
  EXPECT_EQ(read->sites[0].frames[0].offset, ~std::uint64_t{0});
}

TEST(Log, CutAnywhereIsReadUpToTheCut) {
  const std::string bytes = log_bytes(1500); // many blocks
  const Parsed<Profile> whole = parse_profile(bytes, "log");
  ASSERT_TRUE(whole);
  std::size_t readable = 0, last_samples = 0;
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    const Parsed<Profile> read = parse_profile(std::string_view(bytes).substr(0, length), "log");
    if (!read) {
      EXPECT_EQ(read.error().rfind("log: byte ", 0), 0u) << read.error();
      EXPECT_EQ(readable, 0u) << "readable before, not at " << length;
      continue;
    }
    ++readable;
    ASSERT_FALSE(read->cut.empty()) << length;
    ASSERT_GE(read->samples.size(), last_samples);
    last_samples = read->samples.size();
  }
  EXPECT_GT(readable, 1000u);
  EXPECT_GT(last_samples, 1300u);
  EXPECT_LE(last_samples, whole->samples.size());
}

TEST(Log, EveryChangedByteIsNoticed) {
  std::string bytes = log_bytes(300);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    for (const int change : {0x01, 0x80, 0xff}) {
      bytes[i] = static_cast<char>(bytes[i] ^ change);
      const Parsed<Profile> read = parse_profile(bytes, "log");
      if (read) // only what shortens the log: a block length beyond the end reads like a cut
        EXPECT_FALSE(read->cut.empty()) << "byte " << i;
      else
        EXPECT_EQ(read.error().rfind("log: byte ", 0), 0u) << read.error();
      bytes[i] = static_cast<char>(bytes[i] ^ change);
    }
  }
}

TEST(Log, OtherFilesAreRefused) {
  const std::string elf("\x7f"
                        "ELF and more than sixteen bytes");
  const Parsed<Profile> read = parse_profile(elf, "a.out");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error(),
            "a.out: byte 0: this is not a profile; give a file that omptier record wrote");
  EXPECT_FALSE(parse_profile("", "empty"));
  const Parsed<Profile> missing = read_profile("/nonexistent/p.profile");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error(), "/nonexistent/p.profile: No such file or directory");
  EXPECT_FALSE(read_profile("/"));
}

TEST(Log, LaterVersionIsNamed) {
  std::string bytes = log_bytes(1);
  bytes[8] = 9;
  const Parsed<Profile> read = parse_profile(bytes, "log");
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().find("version 9"), std::string::npos) << read.error();
}

TEST(Log, ThreadsWriteTogether) {
  StartedLog writer;
  const Frame frame{0, 1};
  writer->site(0, &frame, 1);
  constexpr unsigned k_threads = 4, k_each = 20000;
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < k_threads; ++t)
    threads.emplace_back([&, t] {
      for (unsigned i = 0; i < k_each; ++i) {
        const std::uint64_t address = (t + 1) * 0x100000000u + i * 64;
        writer->object(0, address, 64, t, 0);
        writer->release(address);
      }
    });
  for (std::thread& thread : threads)
    thread.join();
  writer->end();
  writer->close();
  const Parsed<Profile> read = read_profile(writer.file.path());
  ASSERT_TRUE(read) << read.error();
  EXPECT_TRUE(read->cut.empty());
  ASSERT_EQ(read->objects.size(), k_threads * k_each);
  for (const ObjectRecord& object : read->objects) {
    ASSERT_NE(object.released, ObjectRecord::k_never);
    ASSERT_LE(object.time, object.released);
  }
}

TEST(Log, FullDiskEndsTheLogQuietly) {
  StartedLog writer;
  writer->flush();
  OsCalls broken = os();
  broken.write = full_disk;
  const OsCalls* before = replace_os_calls(&broken);
  testing::internal::CaptureStderr();
  writer->phase("lost");
  writer->flush();
  for (int i = 0; i < 100000; ++i)
    writer->release(1);
  writer->close();
  const std::string said = testing::internal::GetCapturedStderr();
  replace_os_calls(before);
  EXPECT_FALSE(writer->is_open());
  EXPECT_NE(said.find("No space left"), std::string::npos) << said;
  EXPECT_EQ(std::count(said.begin(), said.end(), '\n'), 1);
  const Parsed<Profile> read = read_profile(writer.file.path());
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->run.host, "node1");
  EXPECT_TRUE(read->phases.empty());
}

TEST(Log, FileSizeLimitSendsNoSignal) {
  const ScratchFile file;
  rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  const rlimit small{100 * 1024, before.rlim_max};
  auto writer = std::make_unique<LogWriter>();
  ASSERT_TRUE(open_log(*writer, file));
  writer->run(some_run());
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  for (int i = 0; i < 50000; ++i)
    writer->release(static_cast<std::uint64_t>(i) * 1000003);
  writer->close();
  setrlimit(RLIMIT_FSIZE, &before);
  const Parsed<Profile> read = read_profile(file.path());
  ASSERT_TRUE(read) << read.error();
  EXPECT_FALSE(read->cut.empty());
  EXPECT_LE(read->bytes, 100u * 1024);
}

TEST(Log, ProgramThatClosesOurDescriptorIsNotWrittenInto) {
  const ScratchFile strangers;
  StartedLog writer;
  // What closefrom(3) and a later open could do: every high descriptor becomes the stranger's.
  const int other = open(strangers.path().c_str(), O_RDWR | O_CLOEXEC);
  for (int fd = 240; fd < 260; ++fd)
    dup2(other, fd);
  writer->close();
  EXPECT_TRUE(strangers.bytes().empty());
  for (int fd = 240; fd < 260; ++fd)
    close(fd);
  close(other);
}

TEST(Log, RegionsAreInOrderOfTime) {
  StartedLog writer;
  writer->region_definition(0, nullptr, 0);
  writer->region({5000, 0, 4, 7, true});
  writer->region({4999, 0, 0, 7, false});
  writer->close();
  const Parsed<Profile> profile = read_profile(writer.file.path());
  ASSERT_FALSE(profile);
  EXPECT_NE(profile.error().find("impossible record"), std::string::npos) << profile.error();
  // The first writers of version 2 took the time before the log's lock.
  std::string old = writer.file.bytes();
  old[offsetof(ProfileHeader, version)] = 2;
  std::ofstream(writer.file.path(), std::ios::binary) << old;
  const Profile sorted = read_back(writer.file.path());
  ASSERT_EQ(sorted.regions.size(), 2u);
  EXPECT_FALSE(sorted.regions[0].begin);
}

TEST(Log, PatternsBelongToTheSampleBeforeThem) {
  StartedLog writer;
  AccessPattern pattern;
  pattern.accesses = pattern.bytes = 10;
  for (int sample = 0; sample < 2; ++sample) { // of one thread, at one time
    writer->sample(sample_at(some_run().start_time, 0));
    writer->pattern(pattern);
  }
  writer->close();
  const Profile profile = read_back(writer.file.path());
  ASSERT_EQ(profile.samples.size(), 2u);
  for (std::uint32_t sample = 0; sample < 2; ++sample) {
    EXPECT_EQ(profile.samples[sample].first_pattern, sample);
    EXPECT_EQ(profile.samples[sample].patterns, 1u);
  }
}

TEST(Log, WhereIndicesLeadIsKept) {
  StartedLog writer;
  writer->sample(sample_at(some_run().start_time, 0));
  AccessPattern pattern;
  pattern.accesses = pattern.bytes = 10;
  pattern.strides[0] = {8, 1};
  pattern.fresh = 0.25F; // of what has no index
  writer->pattern(pattern);
  pattern.through = 0x1000;
  writer->pattern(pattern);
  writer->close();
  const Profile profile = read_back(writer.file.path());
  ASSERT_EQ(profile.patterns.size(), 2u);
  EXPECT_EQ(profile.patterns[0].fresh, 0);
  EXPECT_EQ(profile.patterns[1].fresh, 0.25F);
  for (const LoggedPattern& one : profile.patterns)
    EXPECT_EQ(one.strides[0].bytes, 8);
}

TEST(Log, NoMoreThanAllIsFresh) {
  StartedLog writer;
  writer->sample(sample_at(some_run().start_time, 0));
  AccessPattern pattern;
  pattern.accesses = pattern.bytes = 10;
  pattern.through = 0x1000;
  pattern.fresh = 2;
  writer->pattern(pattern);
  writer->close();
  const Parsed<Profile> profile = read_profile(writer.file.path());
  EXPECT_TRUE(!profile || profile->patterns.empty());
}

// Its size is no number of 64 bits: whoever takes it would overflow.
TEST(Log, TheLeastStrideIsNone) {
  StartedLog writer;
  writer->sample(sample_at(some_run().start_time, 0));
  AccessPattern pattern;
  pattern.accesses = pattern.bytes = 10;
  pattern.strides[0] = {INT64_MIN, 1};
  writer->pattern(pattern);
  pattern.strides[0] = {-64, 1};
  writer->pattern(pattern);
  writer->close();
  const Parsed<Profile> profile = read_profile(writer.file.path());
  ASSERT_TRUE(profile) << profile.error();
  ASSERT_EQ(profile->patterns.size(), 2u);
  EXPECT_EQ(profile->patterns[0].strides[0].share, 0);
  EXPECT_EQ(profile->patterns[1].strides[0].bytes, -64);
}

TEST(Log, PatternIsExpanded) {
  char out[300];
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  setenv("PMI_RANK", "17", 1);
  ASSERT_TRUE(expand_pattern("a-%h-%p-%r-%%-%z.profile", out, sizeof out));
  EXPECT_EQ(std::string(out),
            "a-" + std::string(host) + "-" + std::to_string(getpid()) + "-17-%-%z.profile");
  EXPECT_FALSE(expand_pattern("%p%p%p%p", out, 4));
  const auto expanded = [&](const char* pattern) {
    return std::string(expand_pattern(pattern, out, sizeof out) ? out : "none");
  };
  EXPECT_EQ(expanded("a.b/run.profile"), "a.b/run.profile") << "one rank";
  setenv("PMI_SIZE", "18", 1);
  EXPECT_EQ(expanded("a.b/run.profile"), "a.b/run-17.profile");
  EXPECT_EQ(expanded("a.b/run"), "a.b/run-17");
  EXPECT_EQ(expanded("%%run.%r"), "%run.17");
  const char behind_the_end[] = "run%\0%p"; // is no part of the pattern
  EXPECT_EQ(expanded(behind_the_end), "run%-17");
  unsetenv("PMI_SIZE");
  unsetenv("PMI_RANK");
}

TEST(Log, CostOfAnEvent) {
  StartedLog writer;
  const Frame frame{0, 1};
  writer->site(0, &frame, 1);
  constexpr unsigned k_events = 200000;
  const auto begin = std::chrono::steady_clock::now();
  const std::uint64_t before = writer->bytes_written();
  for (unsigned i = 0; i < k_events; ++i)
    writer->object(0, 0x7f0000000000 + std::uint64_t{i % 1000} * 4096, 4096, 1234, 1);
  const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
  writer->flush();
  const double bytes = double(writer->bytes_written() - before) / k_events;
  const std::uint64_t between = writer->bytes_written();
  for (unsigned i = 0; i < k_events; ++i) {
    AccessSample sample =
        some_sample(monotonic_nanoseconds(), 0x7f0000000000 + i * 5003u % 10000000);
    writer->sample(sample);
  }
  writer->flush();
  const double sample_bytes = double(writer->bytes_written() - between) / k_events;
  writer->close();
  std::printf("object event: %.0f ns, %.1f bytes; sample: %.1f bytes\n", spent.count() / k_events,
              bytes, sample_bytes);
  EXPECT_LT(bytes, 32);
  EXPECT_LT(sample_bytes, 32);
}
