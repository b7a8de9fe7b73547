// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Notices inside the application: libomp's form, once, whole lines from many threads, and nothing
// of the application disturbed.
#include "base/notices.hpp"

#include "stderr_of.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace omptier {
namespace {

TEST(Log, FormIsLibomps) {
  EXPECT_EQ(stderr_of([] { warn_once(Notice::bad_trait_value, "value %d of %s", 7, "x"); }),
            "OMP: Warning #5003: value 7 of x\n");
}

TEST(Log, OnceIsOnce) {
  EXPECT_EQ(stderr_of([] {
              for (int i = 0; i < 5; ++i)
                warn_once(Notice::address_space, "number %d", i);
            }),
            "OMP: Warning #5011: number 0\n");
}

TEST(Log, OnceASubject) {
  EXPECT_EQ(stderr_of([] {
              for (int i = 0; i < 3; ++i)
                for (const char* name : {"OMPTIER_SHARE", "OMPTIER_STRATEGY"})
                  warn_once_of(Notice::bad_option_value, name, "%s, round %d", name, i);
            }),
            "OMP: Warning #5001: OMPTIER_SHARE, round 0\n"
            "OMP: Warning #5001: OMPTIER_STRATEGY, round 0\n");
}

TEST(Log, SubjectsAreTheirNotices) {
  EXPECT_EQ(stderr_of([] {
              warn_once_of(Notice::unusable_node, "x", "%s", "a node");
              warn_once_of(Notice::static_not_placed, "x", "%s", "a static");
            }),
            "OMP: Warning #5018: a node\nOMP: Warning #5030: a static\n");
}

// Every warning of the table, in a process that has said nothing yet: none silences another.
TEST(Log, EveryNoticeIsSaid) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  std::string pattern = "^";
  for (const NoticeInfo& notice : all_notices())
    if (notice.severity == Severity::warning)
      pattern += "OMP: Warning #" + std::to_string(static_cast<unsigned>(notice.id)) + ": x\n";
  EXPECT_EXIT(
      {
        for (int round = 0; round < 2; ++round)
          for (const NoticeInfo& notice : all_notices())
            if (notice.severity == Severity::warning) warn_once(notice.id, "x");
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), pattern + "$");
}

// A program in a loop of mistakes must not be buried in lines.
TEST(Log, SubjectsAreBounded) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  EXPECT_EXIT(
      {
        const std::string text = stderr_of([] {
          for (int i = 0; i < 600; ++i)
            warn_once_of(Notice::static_not_placed, std::to_string(i), "%d", i);
        });
        std::fprintf(stderr, "%zu lines, %d of them the last\n",
                     static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n')),
                     text.find("#5049") != std::string::npos ? 1 : 0);
        std::_Exit(0);
      },
      testing::ExitedWithCode(0), "^513 lines, 1 of them the last\n$");
}

TEST(Log, NumbersAscend) {
  unsigned before = 0;
  for (const NoticeInfo& notice : all_notices()) {
    EXPECT_GT(static_cast<unsigned>(notice.id), before);
    before = static_cast<unsigned>(notice.id);
    EXPECT_EQ(std::string(notice.advice).empty(), notice.severity == Severity::info) << before;
  }
}

TEST(Log, LongTextsAreCutToOneLine) {
  const std::string text =
      stderr_of([] { warn_once(Notice::bad_plan, "%s", std::string(5000, 'x').c_str()); });
  EXPECT_LE(text.size(), 1024u);
  EXPECT_GT(text.size(), 900u);
  EXPECT_EQ(text.back(), '\n');
  EXPECT_EQ(text.find('\n'), text.size() - 1);
}

TEST(Log, LeavesErrnoAlone) {
  stderr_of([] {
    errno = EXDEV;
    warn_once(Notice::plan_refused, "%s", "x");
    EXPECT_EQ(errno, EXDEV);
  });
}

TEST(Log, LinesOfThreadsStayWhole) {
  const std::string text = stderr_of([] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([t] {
        for (int i = 0; i < 100; ++i)
          warn_once_of(Notice::missing_tier, std::to_string(100 * t + i), "%s", "0123456789");
      });
    for (std::thread& thread : threads)
      thread.join();
  });
  std::size_t lines = 0;
  for (std::size_t at = 0; at < text.size(); ++lines) {
    const std::size_t end = text.find('\n', at);
    ASSERT_NE(end, std::string::npos);
    ASSERT_EQ(text.substr(at, end - at), "OMP: Warning #5010: 0123456789");
    at = end + 1;
  }
  EXPECT_EQ(lines, 400u);
}

TEST(Log, InformationOnlyWhenAskedFor) {
  EXPECT_EQ(stderr_of([] { inform(Notice::bad_plan, "%s", "x"); }), "");
}

} // namespace
} // namespace omptier
