// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What OMPTier and the OpenMP runtime have for themselves is one site, whoever of them allocated it
// and however it was recorded; what the program allocates through them is the program's.
#include "analysis_summary.hpp"
#include "log_build.hpp"

#include "advisor/advice.hpp"
#include "advisor/evidence.hpp"
#include "analysis/areas.hpp"
#include "base/os.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace omptier {
namespace {

constexpr std::uint64_t k_size = 1 << 20; // bytes a block
constexpr std::uint64_t k_first_bias = 0x7f0000000000, k_apart = 0x100000000;

enum Module : std::uint32_t { k_app, k_omp, k_omptier, k_hwloc, k_numa, k_crypto, k_c, k_magick };

std::uint64_t bias_of(Module module) {
  return k_first_bias + module * k_apart;
}

// Modules with 16 pages of code, then 16 of data; sites and samples come from a test.
class Runtimes : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(open_log(*writer, file));
    run.start_time = monotonic_nanoseconds();
    writer->run(run);
    constexpr struct {
      const char* name;
      bool system;
    } modules[] = {{"libomp.so", false}, // a program may have any name
                   {"libomp.so.5", true},
                   {"libomptier_ompt.so", false},
                   {"libhwloc.so.15", true},
                   {"libnuma.so.1", true},
                   {"libcrypto.so.3", true},
                   {"libc.so.6", true},
                   {"libMagickCore.so", true}};
    for (const auto& module : modules) {
      const auto number = static_cast<Module>(&module - modules);
      const std::string identity = "build-id:" + std::to_string(number);
      writer->module(number, {identity.c_str(), module.name, "", bias_of(number), module.system});
      writer->area(AreaKind::module, number, bias_of(number), 0x20000, run.start_time);
      writer->area(AreaKind::statics, number, bias_of(number) + 0x10000, 0x10000, run.start_time);
    }
  }

  // A site with one block; returns the block's address.
  std::uint64_t block(std::vector<Frame> frames, std::uint64_t allocator = 0) {
    const std::uint32_t site = sites++;
    writer->site(site, frames.data(), static_cast<unsigned>(frames.size()));
    const std::uint64_t address = 0x10000000 + site * 2 * k_size;
    writer->object(site, address, k_size, 1, allocator);
    return address;
  }
  void sample(std::uint64_t address, std::uint64_t pc = 0) {
    AccessSample sample = sample_at(monotonic_nanoseconds(), address);
    sample.pc = pc;
    writer->sample(sample);
  }
  ProfileSummary summary() {
    writer->end();
    writer->close();
    Profile profile = read_back(file.path());
    add_areas(profile, {});
    return summary_of(profile);
  }
  static const SiteSummary* runtime(const ProfileSummary& summary) {
    const auto at = std::ranges::find(summary.sites, SiteKind::runtime, &SiteSummary::kind);
    return at != summary.sites.end() ? &*at : nullptr;
  }

  ScratchFile file;
  std::unique_ptr<LogWriter> writer = std::make_unique<LogWriter>();
  RunRecord run = some_run();
  std::uint32_t sites = 0;
};

TEST_F(Runtimes, BlocksAreOneSite) {
  sample(block({{k_hwloc, 0x100}}));
  sample(block({{k_numa, 0x100}}));
  sample(block({{k_hwloc, 0x200}, {k_omptier, 0x300}}));
  sample(block({{k_crypto, 0x100}, {k_omp, 0x300}}));
  sample(block({{k_c, 0x100}, {k_omp, 0x400}}, ObjectRecord::k_mapping));
  const ProfileSummary made = summary();
  const SiteSummary* own = runtime(made);
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(made.sites.size(), 1u);
  EXPECT_EQ(own->objects, 5u);
  EXPECT_EQ(own->samples, 5u);
  EXPECT_EQ(own->bytes_largest, k_size);
  // Statics, which are there all the time, of libomp, OMPTier, hwloc and libnuma.
  EXPECT_EQ(own->bytes_peak, 5 * k_size + 4 * 0x10000);
}

TEST_F(Runtimes, TheProgramsBlocksAreTheProgramsWhoeverAllocates) {
  block({{k_app, 0x100}}, 1000);                    // omp_alloc
  block({{k_hwloc, 0x100}, {k_app, 0x200}});        // the program asks hwloc
  block({{k_numa, 0x100}, {k_app, 0x300}});         // numa_alloc_onnode
  block({{k_magick, 0x100}});                       // a region of a library of the system's
  block({{k_crypto, 0x100}});                       // loaded by whomever
  block({{k_app, 0x400}}, ObjectRecord::k_mapping);
  const ProfileSummary made = summary();
  EXPECT_EQ(runtime(made), nullptr);
  EXPECT_EQ(made.sites.size(), 6u);
}

TEST_F(Runtimes, CodeAndDataAreTheSameSite) {
  sample(bias_of(k_omp) + 0x10010);            // statics
  sample(bias_of(k_omptier) + 0x10);           // constants
  sample(0, bias_of(k_hwloc) + 0x20);          // code that accessed nobody knows what
  sample(0x666000, bias_of(k_numa) + 0x20);    // or what nobody recorded
  sample(0, bias_of(k_app) + 0x20);            // the program's
  sample(0x777000, bias_of(k_magick) + 0x20);
  const ProfileSummary made = summary();
  const SiteSummary* own = runtime(made);
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(own->samples, 4u);
  EXPECT_EQ(own->objects, 0u);
  EXPECT_EQ(own->bytes_peak, 4 * 0x10000u);
  EXPECT_EQ(made.unknown_address, 1u);
  EXPECT_EQ(made.outside_objects, 1u);
}

TEST_F(Runtimes, SmallObjectsAreCountedThere) {
  block({{k_hwloc, 0x100}});
  block({{k_app, 0x100}});
  writer->small_objects(0, 640, 64'000);
  writer->small_objects(1, 64, 6400);
  const ProfileSummary made = summary();
  EXPECT_EQ(made.small_objects.objects, 64u);
  EXPECT_EQ(made.small_sites, 1u);
  const SiteSummary* own = runtime(made);
  ASSERT_NE(own, nullptr);
  EXPECT_EQ(own->objects, 641u);
  EXPECT_EQ(own->bytes_total, k_size + 64'000 + 4 * 0x10000);
}

TEST_F(Runtimes, NoPlanPlacesThem) {
  sample(block({{k_hwloc, 0x100}}));
  sample(block({{k_app, 0x100}}));
  const ProfileSummary made = summary();
  EvidenceNames names;
  names.sites.resize(made.sites.size());
  names.regions.resize(made.regions.size());
  ASSERT_EQ(made.sites.size(), 2u);
  const Workload workload = workload_from(made, names, {});
  for (const SiteDemand& demand : workload.sites) {
    const bool own = made.sites[demand.site].kind == SiteKind::runtime;
    EXPECT_EQ(demand.placeable, !own);
    EXPECT_EQ(demand.bytes, own ? k_size + 4 * 0x10000 : 0u);
  }
  TierChoice fast, slow;
  fast.kind = MemoryKind::hbm;
  slow.kind = MemoryKind::dram;
  fast.figures = {50, 50, 200e9, 200e9};
  slow.figures = {100, 100, 100e9, 100e9};
  fast.capacity = slow.capacity = std::uint64_t{1} << 40;
  const Advice advice = advise(workload, {fast, slow});
  const Plan plan = plan_from(advice, made, [](const Frame&) { return PortableFrame(); });
  ASSERT_EQ(plan.entries.size(), 1u);
  EXPECT_EQ(plan.modules.at(plan.entries[0].frames.at(0).module).identity, "build-id:0");
}

} // namespace
} // namespace omptier
