// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The OMPTIER_* variables as a process reads them. They are read once a process, so each case asks
// in a child of its own (threadsafe death tests run the program anew), which prints what it got on
// stderr and ends.
#include "base/options.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <gtest/gtest.h>
#include <string>

namespace omptier {
namespace {

// Ends the child after saying the values of a few options.
[[noreturn]] void tell_and_end() {
  std::fprintf(stderr, "rate=%llu depth=%llu strict=%d plan='%s' set=%d nodes='%s'\n",
               static_cast<unsigned long long>(option_number(Option::rate)),
               static_cast<unsigned long long>(option_number(Option::depth)),
               option_flag(Option::strict), option_text(Option::plan), option_is_set(Option::plan),
               option_text(Option::nodes));
  std::_Exit(0);
}

class Options : public testing::Test {
protected:
  void SetUp() override { testing::FLAGS_gtest_death_test_style = "threadsafe"; }
};

#define EXPECT_TOLD(settings, pattern)                                                             \
  EXPECT_EXIT(                                                                                     \
      {                                                                                            \
        settings;                                                                                  \
        tell_and_end();                                                                            \
      },                                                                                           \
      testing::ExitedWithCode(0), pattern)

void set(const char* name, const char* value) {
  ::setenv(name, value, 1);
}

TEST_F(Options, DefaultsWhenNothingIsSet) {
  EXPECT_TOLD((void)0, "^rate=100 depth=8 strict=0 plan='' set=0 nodes=''\n$");
}

TEST_F(Options, ValuesAreRead) {
  EXPECT_TOLD((set("OMPTIER_RATE", "1K"), set("OMPTIER_STRICT", "on"),
               set("OMPTIER_PLAN", "p.json"), set("OMPTIER_NODES", "hbm:1")),
              "^rate=1024 depth=8 strict=1 plan='p.json' set=1 nodes='hbm:1'\n$");
}

TEST_F(Options, EmptyIsUnset) {
  EXPECT_TOLD((set("OMPTIER_RATE", ""), set("OMPTIER_PLAN", "")),
              "^rate=100 depth=8 strict=0 plan='' set=0");
}

TEST_F(Options, BadValuesWarnAndGiveTheDefault) {
  EXPECT_TOLD(set("OMPTIER_RATE", "fast"),
              "^OMP: Warning #5001: OMPTIER_RATE: \"fast\" is not a size .* the default is "
              "used.\nrate=100 ");
  EXPECT_TOLD(set("OMPTIER_STRICT", "maybe"),
              "^OMP: Warning #5001: OMPTIER_STRICT: \"maybe\" is neither 0 nor 1; the default is "
              "used.\nrate=100 depth=8 strict=0 ");
  EXPECT_TOLD(set("OMPTIER_NODES", "hbm:1,nvm:1"),
              "^OMP: Warning #5001: OMPTIER_NODES: node 1 is named under two kinds; the default "
              "is used.\n.*nodes=''\n$");
}

TEST_F(Options, EveryBadValueIsNamed) {
  EXPECT_TOLD((set("OMPTIER_RATE", "x"), set("OMPTIER_STRICT", "y")),
              "OMPTIER_RATE.*\n.*OMPTIER_STRICT");
}

TEST_F(Options, TooLongValueIsRefusedNotCut) {
  EXPECT_TOLD(set("OMPTIER_PLAN", std::string(20000, 'p').c_str()),
              "^OMP: Warning #5001: OMPTIER_PLAN: it is too long; the default is used.\n"
              "rate=100 depth=8 strict=0 plan='' set=0");
}

TEST_F(Options, UnknownVariablesAreNamedInOneWarningOnce) {
  EXPECT_TOLD((set("OMPTIER_PLAM", "1"), set("OMPTIER_X", "2"), set("OMPTIER_RATE", "7"),
               warn_about_unknown_variables(), warn_about_unknown_variables()),
              "^OMP: Warning #5000: (OMPTIER_PLAM, OMPTIER_X|OMPTIER_X, OMPTIER_PLAM): no such "
              "variable, ignored \\('omptier check --variables' lists the known "
              "ones\\).\nrate=7 ");
}

TEST_F(Options, NothingUnknownNothingSaid) {
  EXPECT_TOLD((set("OMPTIER_RATE", "7"), warn_about_unknown_variables()), "^rate=7 ");
}

TEST_F(Options, WarningsFollowKmpWarnings) {
  EXPECT_TOLD((set("KMP_WARNINGS", "0"), set("OMPTIER_RATE", "x"), set("OMPTIER_NO", "1"),
               warn_about_unknown_variables()),
              "^rate=100 ");
}

TEST(OptionTable, IsInOrderAndComplete) {
  const auto options = all_options();
  ASSERT_FALSE(options.empty());
  EXPECT_TRUE(std::ranges::is_sorted(options, [](const OptionInfo& a, const OptionInfo& b) {
    return std::string(a.name) < b.name;
  }));
  for (const OptionInfo& option : options) {
    EXPECT_TRUE(std::string(option.name).starts_with("OMPTIER_"));
    EXPECT_EQ(&info_of(option.id), &option);
    EXPECT_TRUE(std::string(option.help).ends_with(".")) << option.name;
    EXPECT_TRUE(*option.fallback == '\0' || problem_with(option.type, option.fallback).empty())
        << option.name << ": the default is no value of its type";
    const std::string reader = option.reader;
    EXPECT_TRUE(reader == "runtime" || reader == "profiler" || reader == "command") << reader;
  }
}

} // namespace
} // namespace omptier
