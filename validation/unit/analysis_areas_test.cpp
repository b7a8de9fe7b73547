// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Memory that nobody allocates: areas through the log, and what the summary makes of them.
#include "analysis/aggregate.hpp"
#include "analysis/areas.hpp"
#include "base/os.hpp"
#include "log_build.hpp"

#include <algorithm>
#include <gtest/gtest.h>

namespace omptier {
namespace {

constexpr std::uint64_t k_app_bias = 0x10000, k_page = 4096;

// A module of code [0, 4) and data [4, 12) pages; two variables in the data, one in the code.
std::vector<StaticVariable> some_statics(const ModuleInfo& module) {
  if (module.name != "app") return {};
  return {{"work", 5 * k_page, 2 * k_page},
          {"alias_in_work", 5 * k_page, k_page},
          {"table", k_page, k_page},
          {"grid", 8 * k_page, k_page},
          {"outside", 20 * k_page, k_page}};
}

class Areas : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_TRUE(open_log(writer, file));
    run.start_time = monotonic_nanoseconds();
    writer.run(run);
    writer.module(0, {"build-id:1", "app", "/app", k_app_bias, false});
    writer.area(AreaKind::module, 0, k_app_bias, 12 * k_page, run.start_time);
    writer.area(AreaKind::statics, 0, k_app_bias + 4 * k_page, 8 * k_page, run.start_time);
    writer.area(AreaKind::stack, 7, 0x700000, 0x10000, run.start_time);
    writer.area(AreaKind::heap, 0, 0x900000, 0x1000, run.start_time);
  }

  ProfileSummary summary(const StaticsOf& statics_of = some_statics) {
    writer.close();
    const std::string path = file.path();
    const auto made = summarize_files({&path, 1}, statics_of);
    EXPECT_TRUE(made) << made.error();
    std::string why_not;
    EXPECT_TRUE(is_consistent(*made, why_not)) << why_not;
    return *made;
  }
  static const SiteSummary* find(const ProfileSummary& summary, SiteKind kind,
                                 const std::string& symbol = "") {
    const auto at = std::ranges::find_if(summary.sites, [&](const SiteSummary& site) {
      return site.kind == kind && site.symbol == symbol;
    });
    return at != summary.sites.end() ? &*at : nullptr;
  }

  ScratchFile file;
  LogWriter writer;
  RunRecord run = some_run();
};

TEST_F(Areas, GiveEachVariableARowAndTheRestToItsModule) {
  const std::uint64_t now = run.start_time + 1;
  for (const std::uint64_t page : {5, 6, 8, 4, 7, 11, 1, 0})
    writer.sample(sample_at(now, k_app_bias + page * k_page + 8));
  writer.sample(sample_at(now, 0x700008));
  writer.sample(sample_at(now, 0x900008));
  writer.sample(sample_at(now, 0x5000000));
  const ProfileSummary made = summary();
  const struct {
    SiteKind kind;
    const char* symbol;
    std::uint64_t samples, bytes;
  } wanted[] = {{SiteKind::variable, "work", 2, 2 * k_page},
                {SiteKind::variable, "grid", 1, k_page},
                {SiteKind::variable, "table", 1, k_page},
                {SiteKind::statics, "", 3, 5 * k_page},
                {SiteKind::constants, "", 1, 0},
                {SiteKind::stacks, "", 1, 0},
                {SiteKind::heap, "", 1, 0}};
  EXPECT_EQ(made.sites.size(), std::size(wanted));
  for (const auto& row : wanted) {
    const SiteSummary* site = find(made, row.kind, row.symbol);
    ASSERT_NE(site, nullptr) << name_of(row.kind) << " " << row.symbol;
    EXPECT_EQ(site->samples, row.samples) << row.symbol;
    EXPECT_EQ(site->bytes_peak, row.bytes) << row.symbol;
  }
  EXPECT_EQ(made.outside_objects, 1u);
}

TEST_F(Areas, WithoutSymbolsAreTheModules) {
  writer.sample(sample_at(run.start_time + 1, k_app_bias + 5 * k_page));
  const ProfileSummary made = summary({});
  ASSERT_EQ(made.sites.size(), 1u);
  EXPECT_EQ(made.sites[0].kind, SiteKind::statics);
  EXPECT_EQ(made.sites[0].bytes_peak, 8 * k_page);
}

TEST_F(Areas, EndWithTheirModule) {
  writer.area_end(AreaKind::module, 0, run.start_time + 10);
  writer.area_end(AreaKind::statics, 0, run.start_time + 10);
  writer.sample(sample_at(run.start_time + 5, k_app_bias + 5 * k_page));
  writer.sample(sample_at(run.start_time + 15, k_app_bias + 5 * k_page));
  const ProfileSummary made = summary();
  ASSERT_NE(find(made, SiteKind::variable, "work"), nullptr);
  EXPECT_EQ(find(made, SiteKind::variable, "work")->samples, 1u);
  EXPECT_EQ(made.outside_objects, 1u);
}

TEST_F(Areas, LieBehindTheBlocksInThem) {
  const Frame frame{0, 0x123};
  writer.site(0, &frame, 1);
  writer.object(0, 0x700000, 0x1000, 7, 0); // a block that is a thread's stack
  const std::uint64_t later = monotonic_nanoseconds();
  writer.sample(sample_at(later, 0x700008));
  writer.sample(sample_at(later, 0x708000));
  const ProfileSummary made = summary();
  ASSERT_NE(find(made, SiteKind::allocation), nullptr);
  EXPECT_EQ(find(made, SiteKind::allocation)->samples, 1u);
  ASSERT_NE(find(made, SiteKind::stacks), nullptr);
  EXPECT_EQ(find(made, SiteKind::stacks)->samples, 1u);
}

TEST_F(Areas, RestOfAMappingIsNoNewObject) {
  const Frame frame{0, 0x123};
  writer.site(0, &frame, 1);
  writer.object(0, 0x700000, 4 * k_page, 7, ObjectRecord::k_mapping);
  writer.release(0x700000);
  writer.object(0, 0x700000 + k_page, 3 * k_page, 7, ObjectRecord::k_rest);
  writer.sample(sample_at(monotonic_nanoseconds(), 0x700000 + 2 * k_page));
  const ProfileSummary made = summary();
  const SiteSummary* mapping = find(made, SiteKind::mapping);
  ASSERT_NE(mapping, nullptr);
  EXPECT_EQ(mapping->objects, 1u);
  EXPECT_EQ(mapping->bytes_total, 4 * k_page);
  EXPECT_EQ(mapping->live.back().bytes, 3 * k_page);
  EXPECT_EQ(mapping->samples, 1u);
}

} // namespace
} // namespace omptier
