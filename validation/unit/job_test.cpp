// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a process may take besides OMPTIER_CAPACITY: the launcher's environment, the rank's share,
// control groups of both versions, the nodes of the cpuset.
#include "base/os.hpp"
#include "placement/cgroup.hpp"
#include "placement/job.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <unistd.h>

using namespace omptier;

namespace {

std::map<std::string, std::string> variables;
const char* variable(const char* name) {
  const auto found = variables.find(name);
  return found != variables.end() ? found->second.c_str() : nullptr;
}
RankShare share_of(std::map<std::string, std::string> environment) {
  variables = std::move(environment);
  return launcher_share(variable);
}

TEST(RankShareTest, LaunchersAreUnderstood) {
  const auto open_mpi =
      share_of({{"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "3"}});
  EXPECT_EQ(open_mpi.ranks, 4u);
  EXPECT_EQ(open_mpi.rank, 3u);
  EXPECT_STREQ(open_mpi.source, "OMPI_COMM_WORLD_LOCAL_SIZE");
  EXPECT_EQ(share_of({{"MPI_LOCALNRANKS", "2"}, {"MPI_LOCALRANKID", "0"}}).ranks, 2u);
  EXPECT_EQ(share_of({{"PMI_LOCAL_SIZE", "8"}, {"PMI_LOCAL_RANK", "7"}}).ranks, 8u);
  EXPECT_EQ(
      share_of({{"MV2_COMM_WORLD_LOCAL_SIZE", "3"}, {"MV2_COMM_WORLD_LOCAL_RANK", "1"}}).ranks, 3u);
  EXPECT_EQ(share_of({}).ranks, 1u);
  EXPECT_STREQ(share_of({}).source, "");
}

TEST(RankShareTest, WhatCannotBeIsNotBelieved) {
  EXPECT_EQ(share_of({{"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}}).ranks, 1u) << "no rank beside it";
  for (const char* size : {"", "0", "-2", "four", "4 ", "99999", "4294967296", "2"})
    EXPECT_EQ(
        share_of({{"OMPI_COMM_WORLD_LOCAL_SIZE", size}, {"OMPI_COMM_WORLD_LOCAL_RANK", "2"}}).ranks,
        1u)
        << size;
}

TEST(RankShareTest, SlurmCountsInStepsOnly) {
  std::map<std::string, std::string> step = {{"SLURM_STEP_ID", "0"},
                                             {"SLURM_LOCALID", "1"},
                                             {"SLURM_NODEID", "3"},
                                             {"SLURM_STEP_TASKS_PER_NODE", "2(x3),5,1(x2)"},
                                             {"SLURM_NTASKS_PER_NODE", "7"}};
  EXPECT_EQ(share_of(step).ranks, 5u);
  step["SLURM_NODEID"] = "2";
  EXPECT_EQ(share_of(step).ranks, 2u);
  step.erase("SLURM_STEP_TASKS_PER_NODE");
  EXPECT_EQ(share_of(step).ranks, 7u);
  step.erase("SLURM_STEP_ID"); // the batch script
  EXPECT_EQ(share_of(step).ranks, 1u);
}

TEST(RankShareTest, ListsOfTasks) {
  EXPECT_EQ(tasks_of_node("16", 0), 16u);
  EXPECT_EQ(tasks_of_node("16", 1), 0u);
  EXPECT_EQ(tasks_of_node("2(x3),1", 3), 1u);
  EXPECT_EQ(tasks_of_node("2(x3),1", 4), 0u);
  for (const char* wrong : {"", ",", "2(x", "2(x)", "(x3)", "2(x3", "a", "2(xq)", "2(x3)4"})
    EXPECT_EQ(tasks_of_node(wrong, 0), 0u) << wrong;
}

TEST(RankShareTest, TheOptionOverrulesTheLauncher) {
  variables = {{"OMPI_COMM_WORLD_LOCAL_SIZE", "4"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "3"}};
  EXPECT_EQ(parse_share("auto", variable)->ranks, 4u);
  EXPECT_EQ(parse_share("off", variable)->ranks, 1u);
  EXPECT_EQ(parse_share("1/3", variable)->ranks, 3u);
  for (const char* wrong : {"1/0", "1/", "2/3", "yes", "1/3x"})
    EXPECT_FALSE(parse_share(wrong, variable)) << wrong;
}

TEST(RankShareTest, EveryKindButTheLargestIsDivided) {
  Platform platform;
  Node dram, hbm, nvm;
  dram.kind = MemoryKind::dram;
  hbm.kind = MemoryKind::hbm;
  nvm.kind = MemoryKind::nvm;
  dram.capacity = 1000, hbm.capacity = 400, nvm.capacity = 4000;
  platform.nodes = {dram, hbm, hbm, nvm};
  RankShare share;
  share.ranks = 4;
  CapacityByKind capacity;
  auto limits = limits_of(platform, capacity, share, 100);
  EXPECT_EQ(limits.limit[0], 225u);
  EXPECT_EQ(limits.limit[1], 150u) << "the reserve is each node's";
  EXPECT_FALSE(limits.limit[2]);
  EXPECT_TRUE(limits.shared[1]);
  capacity[1] = 777;
  limits = limits_of(platform, capacity, share, 100);
  EXPECT_EQ(limits.limit[1], 777u) << "OMPTIER_CAPACITY is the last word";
  EXPECT_FALSE(limits.shared[1]);
  EXPECT_FALSE(limits_of(platform, {}, RankShare{}, 100).limit[1])
      << "one rank takes what there is";
}

TEST(JobNameTest, SchedulersThenTheSession) {
  variables = {{"SLURM_JOB_ID", "4711"}, {"PBS_JOBID", "9"}};
  EXPECT_EQ(job_name(variable), "slurm-4711");
  variables = {{"PBS_JOBID", "12[3].server/x"}};
  const std::string path = job_ledger_path(job_name(variable));
  EXPECT_EQ(path, "/dev/shm/omptier-" + std::to_string(::geteuid()) + "-pbs-12_3_.server_x");
  variables = {{"SLURM_JOB_ID", ""}};
  EXPECT_EQ(job_name(variable).find("session-" + std::to_string(::getsid(0)) + "-"), 0u);
  EXPECT_LT(job_ledger_path(std::string(10'000, 'x')).size(), 200u);
}

// Files that do not exist.
std::map<std::string, std::string> files;
int fake_open(const char* path, int, unsigned) {
  int number = 1000;
  for (const auto& [name, text] : files) {
    if (name == path) return number;
    ++number;
  }
  return errno = ENOENT, -1;
}
ssize_t fake_read(int fd, void* data, std::size_t bytes) {
  const std::string& text = std::next(files.begin(), fd - 1000)->second;
  std::memcpy(data, text.data(), std::min(bytes, text.size()));
  return static_cast<ssize_t>(std::min(bytes, text.size()));
}

class KernelLimits : public ::testing::Test {
protected:
  void SetUp() override {
    fake_ = os();
    fake_.open = fake_open;
    fake_.read = fake_read;
    fake_.close = [](int) { return 0; };
    replace_os_calls(&fake_);
  }
  void TearDown() override { replace_os_calls(nullptr); }
  OsCalls fake_{};
};

// Hydra's rank 700 is alone in its session; its parent, the proxy 600, is in the shell's session
// 500. The profiler's command may stand between, and have begun another session.
TEST_F(KernelLimits, RanksWithSessionsOfTheirOwnShareTheLaunchers) {
  const std::string self = std::to_string(::getpid()), own = std::to_string(::getsid(0));
  const auto process = [](const std::string& number, const std::string& parent,
                          const std::string& session, const std::string& environment) {
    files["/proc/" + number + "/stat"] =
        number + " (a) name) S " + parent + " 1 " + session + " 34816 1 4194304\n";
    files["/proc/" + number + "/environ"] = environment;
  };
  const std::string rank("HOME=/\0MPI_LOCALRANKID=1\0A=b\0", 27), shell("MPI_LOCALRANKIDS=1\0", 19);
  const auto session = [] {
    return job_name(variable).substr(8, job_name(variable).rfind('-') - 8);
  };
  files.clear();
  process(own, "600", own, rank);
  if (self != own) process(self, own, own, rank);
  process("600", "550", "500", shell);
  process("550", "500", "500", shell);
  process("500", "1", "500", shell);
  variables = {{"MPI_LOCALRANKID", "1"}};
  EXPECT_EQ(session(), "500");
  variables = {};
  EXPECT_EQ(session(), own) << "no launcher";
  variables = {{"OMPI_COMM_WORLD_LOCAL_RANK", "1"}};
  files["/proc/" + own + "/environ"] = shell;
  EXPECT_EQ(session(), own) << "the shell's session, as Open MPI leaves it";
  files["/proc/" + own + "/environ"] = rank;
  files["/proc/500/environ"] = rank;
  EXPECT_EQ(session(), "500") << "nothing above it is known";
  process("500", "400", "500", rank);
  process("400", "1", "390", shell);
  EXPECT_EQ(session(), "390") << "a launcher inside of a rank";
  files.erase("/proc/600/stat");
  EXPECT_EQ(session(), own) << "a parent that cannot be read";
}

TEST_F(KernelLimits, VersionOneGroupsAndThoseAboveThem) {
  files = {
      {"/proc/self/cgroup", "11:cpu,cpuacct:/a\n4:hugetlb,memory:/job/step\n1:name=x:/y\n0::/z\n"},
      {"/fake/memory/job/step/memory.limit_in_bytes", "9223372036854771712\n"},
      {"/fake/memory/job/memory.limit_in_bytes", "320000\n"},
      {"/fake/memory/job/memory.usage_in_bytes", "200000\n"},
      {"/fake/memory/job/memory.stat", "cache 1\nrss 5\ntotal_cache 30000\ntotal_rss 9\n"},
      {"/fake/memory/memory.limit_in_bytes", "9223372036854771712\n"}};
  CgroupLimits limits;
  limits.find("/fake");
  EXPECT_EQ(limits.room(), 320'000u - 170'000 - 10'000);
  EXPECT_EQ(limits.least_limit(), 320'000u);
}

TEST_F(KernelLimits, AContainersOwnGroupIsTheMountItself) {
  files = {{"/proc/self/cgroup", "4:memory:/docker/0123\n"},
           {"/fake/memory/memory.limit_in_bytes", "32000\n"},
           {"/fake/memory/memory.usage_in_bytes", "1000\n"}};
  CgroupLimits limits;
  limits.find("/fake");
  EXPECT_EQ(limits.room(), 30'000u);
}

TEST_F(KernelLimits, BothVersionsAtOnce) {
  files = {{"/proc/self/cgroup", "4:memory:/\n0::/unit\n"},
           {"/fake/memory/memory.limit_in_bytes", "64000\n"},
           {"/fake/memory/memory.usage_in_bytes", "1000\n"},
           {"/fake/unified/unit/memory.max", "32000\n"},
           {"/fake/unified/unit/memory.current", "1000\n"}};
  CgroupLimits limits;
  limits.find("/fake");
  EXPECT_EQ(limits.room(), 30'000u);
}

TEST_F(KernelLimits, NodesThatTheCpusetAllows) {
  const auto allowed = [](const std::string& line) {
    files = {
        {"/proc/self/status", "Name:\tx\nCpus_allowed:\t3\n" + line + "\nMems_allowed_list:\t0\n"}};
    return allowed_nodes().bits;
  };
  EXPECT_EQ(allowed("Mems_allowed:\t00000000,00000005"), 5u);
  EXPECT_EQ(allowed("Mems_allowed:\t3"), 3u);
  EXPECT_EQ(allowed("Mems_allowed:\tffffffff,00000001,00000000"), 1ull << 32)
      << "beyond 64 dropped";
  EXPECT_EQ(allowed("Nothing:\t0"), ~0ull);
  files.clear();
  EXPECT_EQ(allowed_nodes().bits, ~0ull);
}

} // namespace
