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
    EXPECT_TRUE(list->append("k1", {1.5, 1.6, "", "as advised", "", ""}, {}));
    EXPECT_TRUE(
        list->append("k2", {0, 2.5, "ended with status 3", "grid in NVM", "a warning", ""}, {}));
    EXPECT_TRUE(list->append("k1", {1.25, 1.3, "", "as advised", "", ""}, {}));
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
    ASSERT_TRUE(list && list->append("k", {1, 1, "", "", "", ""}, {}));
  }
  std::ofstream(path_, std::ios::app) << "{\"key\":\"k\",\"fig";
  {
    auto list = RunList::open(path_, "app", "0123");
    ASSERT_TRUE(list) << list.error();
    EXPECT_EQ(list->known(), 1u);
    EXPECT_TRUE(list->append("k", {2, 2, "", "", "", ""}, {}));
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

// Failures, data that lay elsewhere and runs of an earlier command do not count.
TEST_F(RunLists, PlansAreFoundWithTheirFigures) {
  const auto plan = [](MemoryKind kind) {
    Plan made;
    made.program = "app";
    made.modules = {{"build-id:1", "app"}};
    PlanEntry entry;
    entry.kinds = {kind};
    entry.frames.resize(1);
    made.entries = {entry};
    return made;
  };
  {
    auto list = RunList::open(path_, "app", "0123");
    ASSERT_TRUE(list) << list.error();
    const auto append = [&](const char* key, double figure, const char* conditions, const Plan& of,
                            const char* failure = "", const char* elsewhere = "") {
      EXPECT_TRUE(list->append(key, {figure, 1, failure, "", elsewhere, conditions}, of));
    };
    append("k0", 9, "4 threads", plan(MemoryKind::hbm));
    append("k1", 1.5, "8 threads", plan(MemoryKind::dram));
    append("k2", 0, "8 threads", plan(MemoryKind::nvm), "ended with status 3");
    append("k1", 1.25, "8 threads", plan(MemoryKind::dram));
    append("k3", 1, "8 threads", plan(MemoryKind::nvm), "", "a warning");
    append("k4", 2, "8 threads", plan(MemoryKind::nvm));
  }
  const auto measured = measured_plans(path_, "0123");
  ASSERT_TRUE(measured) << measured.error();
  ASSERT_EQ(measured->size(), 2u);
  EXPECT_EQ(measured->at(0).figures, (std::vector<double>{1.5, 1.25}));
  EXPECT_EQ(measured->at(0).plan.entries.at(0).kinds.at(0), MemoryKind::dram);
  EXPECT_EQ(measured->at(1).figures, std::vector<double>{2});
  EXPECT_EQ(measured->at(1).plan.entries.at(0).kinds.at(0), MemoryKind::nvm);
  EXPECT_NE(measured_plans(path_, "4567").error().find("another profile"), std::string::npos);
  EXPECT_NE(measured_plans(path_ + "x", "0123").error().find("cannot be read"), std::string::npos);
}

TEST_F(RunLists, OneProcessAtATime) {
  const auto first = RunList::open(path_, "app", "0123");
  ASSERT_TRUE(first);
  EXPECT_NE(problem_with("app", "0123").find("another omptier tune"), std::string::npos);
}

} // namespace
} // namespace omptier
