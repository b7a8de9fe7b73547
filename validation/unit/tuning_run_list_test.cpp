// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file of measured runs: what was written is found again, once; another program's is refused.
#include "tuning/run_list.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace omptier {
namespace {

class RunLists : public testing::Test {
protected:
  void SetUp() override {
    std::string name = testing::TempDir() + "tuning-XXXXXX";
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    path_ = name + "/a.tune";
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string problem_with(const std::string& program, const std::string& profile) const {
    const auto list = RunList::open(path_, program, profile);
    return list ? "" : list.error();
  }

  std::string folder_, path_;
};

TEST_F(RunLists, EachRunIsFoundOnce) {
  {
    auto list = RunList::open(path_, "app", "0123");
    ASSERT_TRUE(list) << list.error();
    EXPECT_EQ(list->known(), 0u);
    EXPECT_TRUE(list->append("k1", {1.5, 1.6, "", "as advised", ""}));
    EXPECT_TRUE(list->append("k2", {0, 2.5, "ended with status 3", "grid in NVM", "a warning"}));
    EXPECT_TRUE(list->append("k1", {1.25, 1.3, "", "as advised", ""}));
    EXPECT_FALSE(list->take("k1")) << "a run of this search was taken for an earlier one";
  }
  auto list = RunList::open(path_, "app", "0123");
  ASSERT_TRUE(list) << list.error();
  EXPECT_EQ(list->known(), 3u);
  EXPECT_EQ(list->take("k1")->figure, 1.5);
  EXPECT_EQ(list->take("k1")->figure, 1.25);
  EXPECT_FALSE(list->take("k1"));
  const auto failed = list->take("k2");
  ASSERT_TRUE(failed);
  EXPECT_EQ(failed->failure, "ended with status 3");
  EXPECT_EQ(failed->not_placed, "a warning");
  EXPECT_FALSE(list->take("k3"));
}

TEST_F(RunLists, ALineThatWasCutOffIsDropped) {
  {
    auto list = RunList::open(path_, "app", "0123");
    ASSERT_TRUE(list && list->append("k", {1, 1, "", "", ""}));
  }
  std::ofstream(path_, std::ios::app) << "{\"key\":\"k\",\"fig";
  {
    auto list = RunList::open(path_, "app", "0123");
    ASSERT_TRUE(list) << list.error();
    EXPECT_EQ(list->known(), 1u);
    EXPECT_TRUE(list->append("k", {2, 2, "", "", ""}));
  }
  auto list = RunList::open(path_, "app", "0123");
  ASSERT_TRUE(list) << list.error();
  EXPECT_EQ(list->known(), 2u);
}

TEST_F(RunLists, OthersAreRefusedAndStayAsTheyAre) {
  ASSERT_TRUE(RunList::open(path_, "app", "0123"));
  EXPECT_NE(problem_with("other", "0123").find("its runs are of app, not of other"),
            std::string::npos);
  EXPECT_NE(problem_with("app", "4567").find("another profile"), std::string::npos);
  EXPECT_EQ(problem_with("app", "0123"), "");
  std::ofstream(path_) << "some text of mine\n";
  EXPECT_NE(problem_with("app", "0123").find("holds no runs"), std::string::npos);
  EXPECT_EQ(std::filesystem::file_size(path_), 18u);
  std::ofstream(path_) << "{\"omptier_tune\":1,\"program\":\"app\",\"profile\":\"0123\"}\n[1]\n";
  EXPECT_NE(problem_with("app", "0123").find("no JSON object"), std::string::npos);
  std::ofstream(path_)
      << "{\"omptier_tune\":1,\"program\":\"app\",\"profile\":\"0123\"}\n{\"key\":1}\n";
  EXPECT_NE(problem_with("app", "0123").find("no figure"), std::string::npos);
}

// Of the last search, and only of the same objects.
TEST_F(RunLists, WhatWasLearnedIsFound) {
  const std::vector<std::string> labels = {"a", "b"}, others = {"a", "c"};
  Learned learned;
  learned.accesses = {{1, 3}};
  learned.placements = 2;
  learned.runs = 5;
  {
    auto list = RunList::open(path_, "app", "0123");
    ASSERT_TRUE(list && list->append("k", {1, 1, "", "", ""}));
    EXPECT_NE(learned_in(path_, "0123", labels).error().find("come to its end"), std::string::npos);
    EXPECT_TRUE(list->append(learned, labels));
    learned.accesses[1] = 2;
    learned.work = 0.5;
    EXPECT_TRUE(list->append(learned, labels));
  }
  const auto found = learned_in(path_, "0123", labels);
  ASSERT_TRUE(found) << found.error();
  EXPECT_EQ(found->accesses, learned.accesses);
  EXPECT_EQ(found->work, 0.5);
  EXPECT_EQ(found->others, 1);
  EXPECT_EQ(found->runs, 5u);
  EXPECT_NE(learned_in(path_, "4567", labels).error().find("another profile"), std::string::npos);
  EXPECT_NE(learned_in(path_, "0123", others).error().find("not of this"), std::string::npos);
  EXPECT_NE(learned_in(path_ + "x", "0123", labels).error().find("cannot be read"),
            std::string::npos);
  EXPECT_NE(learned_in(folder_, "0123", labels).error().find("cannot be read"), std::string::npos);
  auto list = RunList::open(path_, "app", "0123");
  ASSERT_TRUE(list) << list.error();
  EXPECT_EQ(list->known(), 1u) << "what was learned is no run";
}

TEST_F(RunLists, WhatIsNoFactorIsRefused) {
  const std::vector<std::string> labels = {"a"};
  const std::string head = "{\"omptier_tune\":1,\"program\":\"app\",\"profile\":\"0123\"}\n";
  for (const char* learned :
       {"null", "{}", "{\"objects\":[[[]]]}", "{\"objects\":[],\"work\":-1,\"others\":1}",
        "{\"objects\":[],\"work\":1e300,\"others\":1}",
        "{\"objects\":[{\"site\":1e30,\"label\":\"a\",\"accesses\":1}],\"work\":1,\"others\":1}",
        "{\"objects\":[{\"site\":0,\"label\":\"a\"}],\"work\":1,\"others\":1}"}) {
    std::ofstream(path_) << head << "{\"learned\":" << learned << "}\n";
    EXPECT_NE(learned_in(path_, "0123", labels).error().find("not of this"), std::string::npos)
        << learned;
  }
}

TEST_F(RunLists, OneProcessAtATime) {
  const auto first = RunList::open(path_, "app", "0123");
  ASSERT_TRUE(first);
  EXPECT_NE(problem_with("app", "0123").find("another omptier tune"), std::string::npos);
}

} // namespace
} // namespace omptier
