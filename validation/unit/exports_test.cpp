// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Trace events and collapsed stacks of a made-up run.
#include "cli/flame_text.hpp"
#include "cli/trace_text.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <map>
#include <string>
#include <vector>

namespace omptier {
namespace {

constexpr std::uint64_t k_us = 1000;

struct MadeUpRun {
  ProfileSummary summary;
  ProfileNames names;

  MadeUpRun() {
    RunRecord& run = summary.runs.emplace_back();
    run.program = "pro\"gram";
    run.process = 77;
    summary.regions.resize(2);
    names.regions = {"outside of regions", "work (a.c:3)"};
    add_site("grid; \n1 (a.c:1)", 10);
    add_site("mesh (a.c:2)", 5);
  }
  void add_site(const std::string& name, double weight) {
    SiteSummary& site = summary.sites.emplace_back();
    site.kind = SiteKind::variable;
    site.accesses.scattered_load = weight;
    summary.regions[1].accesses.scattered_load += weight;
    SitePart& part = site.by_region.emplace_back();
    part.of = 1;
    part.accesses = site.accesses;
    names.sites.push_back(name);
  }
  nlohmann::json trace() const { return nlohmann::json::parse(trace_text(summary, names)); }
};

// Events of a kind by the name of their track, as "name begin-end".
std::map<std::string, std::vector<std::string>> slices(const nlohmann::json& trace) {
  std::map<int, std::string> tracks;
  for (const auto& event : trace["traceEvents"])
    if (event["name"] == "thread_name")
      tracks[event["tid"].get<int>()] =
          event["args"]["name"].get<std::string>() + " " + std::to_string(event["tid"].get<int>());
  std::map<std::string, std::vector<std::string>> found;
  for (const auto& event : trace["traceEvents"])
    if (event["ph"] == "X") {
      const double begin = event["ts"], length = event["dur"];
      found[tracks.at(event["tid"].get<int>())].push_back(
          event["name"].get<std::string>() + " " + std::to_string(std::llround(begin)) + "-" +
          std::to_string(std::llround(begin + length)));
    }
  return found;
}

TEST(Exports, WhatOverlapsLiesOnTracksOfItsOwn) {
  MadeUpRun run;
  run.summary.phases.resize(2);
  run.summary.phases[1].kind = PhaseSummary::Kind::to_end;
  run.names.phases = {"steps", "up to the region's end"};
  run.summary.phase_visits = {
      {1, 0, 9 * k_us}, {0, 2 * k_us, 8 * k_us}, {1, 5 * k_us, 7 * k_us}, {1, 9 * k_us, 10 * k_us}};
  run.summary.visits = {{1, 0, 9 * k_us}};
  const auto found = slices(run.trace());
  EXPECT_EQ(found.at("phases 1"), std::vector<std::string>{"steps 2-8"});
  EXPECT_EQ(found.at("regions 1000"), std::vector<std::string>{"work (a.c:3) 0-9"});
  EXPECT_EQ(found.at("stretches 2000"), (std::vector<std::string>{"up to the region's end 0-9",
                                                                  "up to the region's end 9-10"}));
  EXPECT_EQ(found.at("stretches 2001"), std::vector<std::string>{"up to the region's end 5-7"});
}

TEST(Exports, MovesHaveBytesAndKinds) {
  MadeUpRun run;
  run.summary.moves = {
      {1, 1, false, 5 * k_us, 4096, MemoryKind::dram, MemoryKind::hbm, 2e-6},
      {MoveSummary::k_no_site, 0, false, 6 * k_us, 64, MemoryKind::hbm, MemoryKind::dram, 0}};
  const nlohmann::json trace = run.trace();
  const auto found = slices(trace);
  EXPECT_EQ(found.at("moves 1000000"), std::vector<std::string>{"mesh (a.c:2): DRAM > HBM 5-7"});
  EXPECT_EQ(found.at("moves 1000001"),
            std::vector<std::string>{"memory of no recorded object: HBM > DRAM 6-6"});
  const nlohmann::json wanted = {
      {"bytes", 4096}, {"from", "dram"}, {"to", "hbm"}, {"for", "work (a.c:3)"}};
  for (const auto& event : trace["traceEvents"])
    if (event["ph"] == "X" && event["tid"] == 1000000) {
      EXPECT_EQ(event["args"], wanted);
    }
}

// 0, 100, …, down to 0: steps of less than a thousandth of the peak are left out, the last is not.
TEST(Exports, CountersKeepTheirPeakAndTheirEnd) {
  MadeUpRun run;
  run.summary.sites[0].live = {{1 * k_us, 100'000},
                               {2 * k_us, 100'050},
                               {3 * k_us, 200'000},
                               {4 * k_us, 199'999},
                               {5 * k_us, 199'998}};
  run.summary.sites[0].bytes_peak = 200'000;
  run.summary.sites[1].live = {{2 * k_us, 70}, {4 * k_us, 0}};
  run.summary.sites[1].bytes_peak = 70;
  std::map<std::string, std::vector<std::pair<double, int>>> values;
  const nlohmann::json trace = run.trace();
  for (const auto& event : trace["traceEvents"])
    if (event["ph"] == "C")
      values[event["name"]].emplace_back(event["ts"], event["args"]["bytes"].get<int>());
  using Values = std::vector<std::pair<double, int>>;
  EXPECT_EQ(values.at("live bytes of grid; \n1 (a.c:1)"),
            (Values{{1, 100'000}, {3, 200'000}, {5, 199'998}}));
  EXPECT_EQ(values.at("live bytes of mesh (a.c:2)"), (Values{{2, 70}, {4, 0}}));
  EXPECT_EQ(values.at("live bytes of all objects"),
            (Values{{1, 100'000}, {3, 200'070}, {5, 199'998}}));
}

TEST(Exports, FramesAreOneLineWithoutSemicolons) {
  MadeUpRun run;
  run.summary.other.accesses.unknown = 2.6;
  run.summary.regions[0].accesses.unknown = 2.6;
  Symbols symbols;
  EXPECT_EQ(flame_text(run.summary, run.names, symbols, FlameBy::objects),
            "everything else 3\nstatics;grid,  1 (a.c:1) 10\nstatics;mesh (a.c:2) 5\n");
  EXPECT_EQ(flame_text(run.summary, run.names, symbols, FlameBy::regions),
            "outside of regions;no object (small blocks, code, unknown addresses) 3\n"
            "work (a.c:3);grid,  1 (a.c:1) 10\nwork (a.c:3);mesh (a.c:2) 5\n");
  EXPECT_EQ(flame_text(run.summary, run.names, symbols, FlameBy::code), "unknown code 18\n");
  EXPECT_FALSE(flame_by("lines"));
}

} // namespace
} // namespace omptier
