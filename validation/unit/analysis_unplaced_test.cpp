// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What no plan can place gets no kind of memory, whatever it is and however hot; advice names it,
// with its bytes where they are known.
#include "advisor/advice.hpp"
#include "advisor/evidence.hpp"
#include "analysis/aggregate.hpp"
#include "cli/advice_text.hpp"
#include "units.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace omptier {
namespace {

// One site of every kind, all alike; a site's name is its kind's.
struct EveryKind {
  explicit EveryKind(double share) {
    summary.modules.push_back({"build-id:1", "app", "/app"});
    summary.regions.resize(1);
    summary.nanoseconds = k_second;
    summary.threads = 1;
    names.regions = {"outside"};
    for (unsigned i = 0; i <= static_cast<unsigned>(SiteKind::runtime); ++i) {
      SiteSummary& site = summary.sites.emplace_back();
      site.kind = static_cast<SiteKind>(i);
      site.frames = {{0, 0x100 + i}};
      site.symbol = "symbol";
      site.objects = site.samples = 1;
      site.by_malloc = true;
      site.bytes_total = site.bytes_peak = site.bytes_largest = has_bytes(site.kind) ? k_mib : 0;
      if (has_bytes(site.kind)) site.live = {{0, k_mib}};
      site.accesses.scattered_load = 1000 * share;
      site.share = {share, share, share};
      names.sites.emplace_back(name_of(site.kind));
    }
    summary.small_objects = {1000, 100'000};
    summary.small_bytes = 100'000;
    summary.small.share = {share, share, share};
  }
  Advice advice() const {
    TierChoice fast, slow;
    fast.kind = MemoryKind::hbm;
    slow.kind = MemoryKind::dram;
    fast.capacity = slow.capacity = std::uint64_t{1} << 40;
    fast.figures = {50, 50, 200e9, 200e9};
    slow.figures = {100, 100, 100e9, 100e9};
    return advise(workload_from(summary, names, {}), {fast, slow});
  }
  ProfileSummary summary;
  EvidenceNames names;
};

std::string row_of(std::string memory, std::string bytes, const std::string& name) {
  memory.resize(7, ' ');
  bytes.insert(0, 10 - std::min<std::size_t>(bytes.size(), 10), ' ');
  return "  " + memory + " " + bytes + "  " + name + "\n";
}

bool can_be_placed(SiteKind kind) {
  return kind == SiteKind::allocation || kind == SiteKind::variable;
}

TEST(Unplaced, NoKindThatAPlanCannotReachGetsAMemory) {
  const EveryKind all(0.1);
  const Advice advice = all.advice();
  const Plan plan = plan_from(advice, all.summary, [](const Frame&) { return PortableFrame(); });
  EXPECT_EQ(plan.entries.size(), 2u); // the allocation, the variable
  const auto json = nlohmann::json::parse(advice_json(advice, {}, {}));
  const std::string text = placement_text(advice);
  std::uint64_t stays = 100'000;
  for (const SiteSummary& site : all.summary.sites) {
    const std::string name = name_of(site.kind);
    for (const auto& row : json["sites"]) {
      if (row["label"] != name) continue;
      EXPECT_EQ(row["kind"].is_null(), !can_be_placed(site.kind)) << name;
      EXPECT_EQ(row["bytes"], site.bytes_peak) << name;
      EXPECT_EQ(row["by_plan"], can_be_placed(site.kind)) << name;
    }
    const std::string row = row_of(can_be_placed(site.kind) ? "HBM" : "stays",
                                   has_bytes(site.kind) ? "1.00 MiB" : "-", name);
    EXPECT_NE(text.find(row), std::string::npos) << row << text;
    if (!can_be_placed(site.kind)) stays += site.bytes_peak;
  }
  EXPECT_EQ(json["no_plan_reaches"]["bytes"], stays);
  EXPECT_EQ(json["small_objects"]["bytes"], 100'000);
}

// Bytes count as samples do: whoever reads how much is placed must know of the rest.
TEST(Unplaced, LargeMemoryIsNamedThoughHardlyAccessed) {
  EveryKind all(0.001);
  SiteSummary& mapping = all.summary.sites[static_cast<std::size_t>(SiteKind::mapping)];
  mapping.bytes_peak = mapping.bytes_total = 1000 * k_mib;
  const std::string text = placement_text(all.advice());
  EXPECT_NE(text.find(row_of("stays", "1000 MiB", "mapping")), std::string::npos) << text;
  EXPECT_NE(text.find("No plan reaches "), std::string::npos) << text;
  EXPECT_EQ(text.find("stacks\n"), std::string::npos) << "neither samples nor bytes: " << text;
}

} // namespace
} // namespace omptier
