// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Notices inside the application: libomp's form, once, whole lines from many threads, and nothing
// of the application disturbed.
#include "base/log.hpp"

#include "said.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <unistd.h>
#include <vector>

namespace omptier {
namespace {

TEST(Log, FormIsLibomps) {
  EXPECT_EQ(said_by([] { warn(Notice::bad_trait_value, "value %d of %s", 7, "x"); }),
            "OMP: Warning #5003: value 7 of x\n");
}

TEST(Log, OnceIsOnce) {
  EXPECT_EQ(said_by([] {
              for (int i = 0; i < 5; ++i)
                warn_once(Notice::missing_tier, "number %d", i);
            }),
            "OMP: Warning #5010: number 0\n");
}

TEST(Log, LongTextsAreCutToOneLine) {
  const std::string text =
      said_by([] { warn(Notice::bad_plan, "%s", std::string(5000, 'x').c_str()); });
  EXPECT_LE(text.size(), 1024u);
  EXPECT_GT(text.size(), 900u);
  EXPECT_EQ(text.back(), '\n');
  EXPECT_EQ(text.find('\n'), text.size() - 1);
}

TEST(Log, LeavesErrnoAlone) {
  said_by([] {
    errno = EXDEV;
    warn(Notice::bad_plan, "%s", "x");
    EXPECT_EQ(errno, EXDEV);
  });
}

TEST(Log, LinesOfThreadsStayWhole) {
  const std::string text = said_by([] {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
      threads.emplace_back([] {
        for (int i = 0; i < 100; ++i)
          warn(Notice::interrupted_move, "%s", "0123456789");
      });
    for (std::thread& thread : threads)
      thread.join();
  });
  std::size_t lines = 0;
  for (std::size_t at = 0; at < text.size(); ++lines) {
    const std::size_t end = text.find('\n', at);
    ASSERT_NE(end, std::string::npos);
    ASSERT_EQ(text.substr(at, end - at), "OMP: Warning #5015: 0123456789");
    at = end + 1;
  }
  EXPECT_EQ(lines, 400u);
}

TEST(Log, InformationOnlyWhenAskedFor) {
  EXPECT_EQ(said_by([] { inform(Notice::bad_plan, "%s", "x"); }), "");
}

} // namespace
} // namespace omptier
