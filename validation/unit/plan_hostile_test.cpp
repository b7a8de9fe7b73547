// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Plans made to break the reader, which runs inside other people's programs: every prefix of a good
// plan, every byte of it changed, endless nesting, a million entries, a failing disk.
#include "base/os.hpp"
#include "plan/plan.hpp"

#include <cerrno>
#include <gtest/gtest.h>

namespace omptier {
namespace {

std::string good_plan(unsigned entries) {
  Plan plan;
  plan.made_by = "omptier";
  plan.modules = {{"build-id:00", "a"}};
  PlanEntry entry;
  entry.label = "x";
  entry.kinds = {MemoryKind::hbm};
  entry.instances = {{1, 2}};
  entry.benefit = 1.25e3;
  entry.parts = {{4096, 8192, MemoryKind::hbm}, {0, 4096, MemoryKind::dram}};
  entry.frames = {{0, 4660, {"f", "g", 2, 3, "v", "f.c", 41}}};
  plan.entries.assign(entries, entry);
  return write_plan(plan);
}

void expect_one_line(const Parsed<Plan>& plan, const std::string& context) {
  if (plan) return;
  const std::string& error = plan.error();
  EXPECT_TRUE(error.starts_with("p:")) << error << " for " << context;
  EXPECT_EQ(error.find('\n'), std::string::npos) << error;
  EXPECT_GT(std::strtoul(error.c_str() + 2, nullptr, 10), 0u) << error;
  EXPECT_LT(error.size(), 600u) << error;
}

TEST(PlanHostile, EveryTruncationIsRefused) {
  const std::string whole = good_plan(2);
  for (std::size_t length = 0; length + 1 < whole.size(); ++length) {
    const std::string cut = whole.substr(0, length);
    const auto plan = parse_plan(cut, "p");
    ASSERT_FALSE(plan) << "cut after " << length << " bytes";
    expect_one_line(plan, cut);
  }
}

TEST(PlanHostile, EveryChangedByteEndsInAPlanOrOneLine) {
  const std::string whole = good_plan(2);
  unsigned refused = 0;
  for (std::size_t at = 0; at < whole.size(); ++at)
    for (const char c : {'\0', '"', '{', '}', '[', ',', '9', '-', '\\', '\n', '\xff'}) {
      std::string changed = whole;
      changed[at] = c;
      const auto plan = parse_plan(changed, "p");
      refused += !plan;
      expect_one_line(plan, changed);
    }
  EXPECT_GT(refused, whole.size()); // most changes are seen
}

TEST(PlanHostile, EndlessNestingIsRefusedAtOnce) {
  for (const std::string& unit : {std::string("["), std::string("{\"entries\":[")}) {
    std::string deep;
    while (deep.size() < 10'000'000)
      deep += unit;
    const auto plan = parse_plan(deep, "p");
    ASSERT_FALSE(plan);
    expect_one_line(plan, "nesting");
  }
}

TEST(PlanHostile, TooManyFramesAreRefused) {
  std::string json = R"({"entries": [{"frames": [)";
  for (int i = 0; i < 33; ++i)
    json += std::string(i ? "," : "") + R"({"module": 0, "offset": 1})";
  EXPECT_EQ(parse_plan(json, "p").error(), "p:1: more than 32 frames in one call stack");
}

TEST(PlanHostile, TooManyPartsAreRefused) {
  std::string json = R"({"entries": [{"parts": [)";
  for (int i = 0; i < 65; ++i)
    json += std::string(i ? "," : "") + R"({"kind": "hbm", "bytes": 1, "begin": )" +
            std::to_string(i) + "}";
  EXPECT_EQ(parse_plan(json, "p").error(), "p:1: more than 64 parts in one entry");
}

TEST(PlanHostile, LongTextsAreShortenedInMessages) {
  const std::string json = "{\"" + std::string(1'000'000, 'x') + "\": 1}";
  const auto plan = parse_plan(json, "p");
  ASSERT_FALSE(plan);
  expect_one_line(plan, "long name");
}

TEST(PlanHostile, LineBreaksInTextsStayOutOfMessages) {
  const auto plan = parse_plan("{\"a\\nb\": 1}", "p");
  ASSERT_FALSE(plan);
  expect_one_line(plan, "line break");
}

// Sanitizers make it fifty times slower, and look at every access: a tenth is enough for them.
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define OMPTIER_SLOW
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define OMPTIER_SLOW
#endif
#ifdef OMPTIER_SLOW
constexpr std::size_t k_many = 100'000;
#else
constexpr std::size_t k_many = 1'000'000;
#endif

TEST(PlanHostile, AMillionEntriesAreRead) {
  const std::string two = good_plan(2);
  const auto second = two.find("    {\n", two.find("},\n    {\n") + 3);
  const auto end = two.find("\n  ]", second);
  ASSERT_NE(end, std::string::npos);
  std::string json = two.substr(0, end);
  const std::string entry = ",\n" + two.substr(second, end - second);
  for (std::size_t i = 2; i < k_many; ++i)
    json += entry;
  json += two.substr(end);
  const auto plan = parse_plan(json, "p");
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_EQ(plan->entries.size(), k_many);
  EXPECT_EQ(plan->entries.back().frames[0].portable.line, 41u);
}

ssize_t failing_read(int, void*, std::size_t) {
  errno = EIO;
  return -1;
}

TEST(PlanHostile, FailingDiskIsOneLine) {
  OsCalls broken = os();
  broken.read = failing_read;
  const OsCalls* before = replace_os_calls(&broken);
  const auto plan = read_plan("/proc/self/cmdline");
  replace_os_calls(before);
  ASSERT_FALSE(plan);
  EXPECT_EQ(plan.error(), "/proc/self/cmdline:1: cannot be read: Input/output error");
}

} // namespace
} // namespace omptier
