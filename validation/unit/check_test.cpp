// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The findings of `omptier check`: against kernels that refuse (injected below base/os), programs
// that cannot work, variables that are wrong. And docs/environment.md against the option table.
#include "base/options.hpp"
#include "base/os.hpp"
#include "cli/check.hpp"
#include "sampling/source.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>
#include <sys/mman.h>
#include <sys/stat.h>

namespace omptier {
namespace {

namespace fs = std::filesystem;

// The finding of that name; its state is shown when it is not what was expected.
testing::AssertionResult has(const Findings& findings, FindingState state, const char* feature,
                             const std::string& words) {
  for (const Finding& finding : findings.list())
    if (finding.feature == feature && finding.state == state &&
        finding.what.find(words) != std::string::npos &&
        finding.advice.empty() == (state == FindingState::works))
      return testing::AssertionSuccess();
  return testing::AssertionFailure() << "not among\n" << findings.text();
}

using enum FindingState;

Node node(unsigned number, MemoryKind kind, Figures figures) {
  return {number, kind, "for the test", std::uint64_t{1} << 30, {number}, {{{number}, figures, 0}}};
}

Platform two_nodes(Figures second = {100, 100, 1e11, 1e11}) {
  Platform platform;
  platform.nodes = {node(0, MemoryKind::dram, {100, 100, 1e11, 1e11}),
                    node(1, MemoryKind::hbm, second)};
  platform.tiers = {{MemoryKind::hbm, {1}, 1u << 30, {}}, {MemoryKind::dram, {0}, 1u << 30, {}}};
  return platform;
}

// Kernel calls as the test wants them, put back at its end.
class Kernel : public testing::Test {
protected:
  void SetUp() override {
    calls_ = os();
    before_ = replace_os_calls(&calls_);
  }
  void TearDown() override { replace_os_calls(before_); }
  Findings kernel(const Platform& platform) {
    Findings findings;
    check_kernel(platform, findings);
    return findings;
  }
  OsCalls calls_;
  const OsCalls* before_ = nullptr;
};

TEST_F(Kernel, RefusedMbindIsSaid) {
  calls_.bind_memory = [](void*, std::size_t, int, const unsigned long*, unsigned long,
                          unsigned) -> long {
    errno = EPERM;
    return -1;
  };
  EXPECT_TRUE(has(kernel(two_nodes()), fails, "mbind", "refused: Operation not permitted"));
}

TEST_F(Kernel, RefusedMovePagesIsSaid) {
  calls_.move_pages = [](int, unsigned long, void**, const int*, int*, int) -> long {
    errno = ENOSYS;
    return -1;
  };
  EXPECT_TRUE(has(kernel(two_nodes()), fails, "move_pages", "Function not implemented"));
}

long at_node = 0; // where the pretended page is

TEST_F(Kernel, PageThatMovesWorks) {
  at_node = 0;
  calls_.move_pages = [](int, unsigned long, void**, const int* to, int* status, int) -> long {
    if (to != nullptr) at_node = *to;
    *status = static_cast<int>(at_node);
    return 0;
  };
  EXPECT_TRUE(has(kernel(two_nodes()), works, "move_pages", "from node 0 to 1"));
}

TEST_F(Kernel, PageThatStaysIsSaid) {
  calls_.move_pages = [](int, unsigned long, void**, const int* to, int* status, int) -> long {
    *status = to != nullptr ? -ENOMEM : 0;
    return 0;
  };
  const Findings findings = kernel(two_nodes());
  EXPECT_TRUE(has(findings, fails, "move_pages", "did not move from node 0 to 1"));
  EXPECT_NE(findings.text().find("-> the node is full"), std::string::npos);
}

TEST_F(Kernel, NotEvenAPage) {
  calls_.map = [](void*, std::size_t, int, int, int, off_t) -> void* {
    errno = ENOMEM;
    return MAP_FAILED;
  };
  EXPECT_TRUE(has(kernel(two_nodes()), fails, "placing", "Cannot allocate memory"));
}

TEST_F(Kernel, RefusedPerfFallsBack) {
  calls_.perf_event_open = [](perf_event_attr*, pid_t, int, int, unsigned long) {
    errno = EACCES;
    return -1;
  };
  Findings findings;
  check_sampling(findings);
  EXPECT_TRUE(has(findings, limited, "perf events", "CPU_CLOCK refused: Permission denied"));
  if (k_decodes_instructions)
    EXPECT_TRUE(has(findings, works, "access samples", "timer"));
  else
    EXPECT_TRUE(has(findings, limited, "access samples", "timer: instructions are not decoded"));
}

TEST(CheckMemory, KindsAndFigures) {
  Findings both;
  check_memory(two_nodes(), both);
  EXPECT_TRUE(has(both, works, "memory kinds", "HBM 1.00 GiB (node 1), DRAM 1.00 GiB (node 0)"));
  EXPECT_TRUE(has(both, works, "memory figures", "every node"));
  Findings dark;
  check_memory(two_nodes({}), dark);
  EXPECT_TRUE(has(dark, limited, "memory figures", "for node 1"));
  Platform one = two_nodes();
  one.nodes.pop_back();
  one.tiers.erase(one.tiers.begin());
  one.nodes[0].views.clear();
  Findings single;
  check_memory(one, single);
  EXPECT_TRUE(has(single, limited, "memory kinds", "one kind"));
  EXPECT_TRUE(has(single, works, "memory figures", "one node needs none"));
}

// One OMPTIER_* variable set, all others taken away, until the end.
class Variables : public testing::Test {
protected:
  void SetUp() override {
    for (const OptionInfo& option : all_options())
      ::unsetenv(option.name);
  }
  void TearDown() override {
    SetUp();
    ::unsetenv("OMPTIER_PLAM");
  }
  Findings with(const char* name, const char* value) {
    SetUp();
    if (name != nullptr) ::setenv(name, value, 1);
    Findings findings;
    check_variables(findings);
    return findings;
  }
};

TEST(CheckMemory, NodesAndMachineDisagree) {
  const std::uint64_t machine = std::uint64_t{24} << 30;
  Findings same, half, unknown;
  check_totals(machine - (machine >> 6), machine, same); // what the kernel keeps to itself
  EXPECT_TRUE(same.list().empty()) << same.text();
  check_totals(machine / 2, machine, half);
  EXPECT_TRUE(has(half, limited, "memory totals", "12.0 GiB together, its machine 24.0 GiB"));
  EXPECT_NE(half.text().find("OMPTIER_CAPACITY=dram:12288M"), std::string::npos) << half.text();
  check_totals(0, machine, unknown);
  EXPECT_TRUE(unknown.list().empty()) << unknown.text();
}

TEST_F(Variables, NoneIsFine) {
  EXPECT_TRUE(has(with(nullptr, nullptr), works, "variables", "no OMPTIER_* variable is set"));
}

TEST_F(Variables, GoodAndBadValues) {
  EXPECT_TRUE(has(with("OMPTIER_RATE", "1000"), works, "variables", "OMPTIER_RATE=1000"));
  EXPECT_TRUE(has(with("OMPTIER_RATE", "fast"), fails, "variables", "\"fast\" is not a size"));
  EXPECT_TRUE(has(with("OMPTIER_CAPACITY", "ram:1"), fails, "variables", "does not begin with"));
  EXPECT_TRUE(has(with("OMPTIER_NODES", "hbm:1000"), fails, "variables", "does not exist here"));
  EXPECT_TRUE(has(with("OMPTIER_EVENTS", "pebs"), fails, "variables", "no source of samples"));
  EXPECT_TRUE(has(with("OMPTIER_STRATEGY", "first-come"), works, "variables", "first-come"));
  EXPECT_TRUE(has(with("OMPTIER_STRATEGY", "best"), fails, "variables", "no strategy"));
  EXPECT_TRUE(has(with("OMPTIER_PLAN", "/nonexistent"), fails, "variables", "No such file"));
  EXPECT_TRUE(has(with("OMPTIER_PLAN", OMPTIER_FIXTURES "/plans/version-1.json"), works,
                  "variables", "version-1.json"));
}

TEST_F(Variables, UnknownOneGetsTheNearestName) {
  const Findings findings = with("OMPTIER_PLAM", "x");
  EXPECT_TRUE(has(findings, fails, "variables", "OMPTIER_PLAM is no variable"));
  EXPECT_NE(findings.text().find("perhaps OMPTIER_PLAN"), std::string::npos);
}

TEST(VariablesPage, IsUpToDate) {
  std::stringstream page;
  page << std::ifstream(OMPTIER_DOCS "/environment.md").rdbuf();
  EXPECT_EQ(page.str(), variables_markdown())
      << "docs/environment.md is made by: omptier check --markdown > docs/environment.md";
}

TEST(NoticesPage, IsUpToDate) {
  std::stringstream page;
  page << std::ifstream(OMPTIER_DOCS "/notices.md").rdbuf();
  EXPECT_EQ(page.str(), notices_markdown())
      << "docs/notices.md is made by: omptier check --notices --markdown > docs/notices.md";
}

Findings findings_of(const std::string& name, const std::string& runtime = "old") {
  Findings findings;
  check_program(CHECK_PROGRAMS "/" + name, CHECK_PROGRAMS "/" + runtime, findings);
  return findings;
}

TEST(CheckProgram, GoodOnesAreFine) {
  const Findings findings = findings_of("old-runtime");
  EXPECT_TRUE(has(findings, works, "OpenMP runtime", "libgomp.so.1"));
  EXPECT_TRUE(has(findings, works, "symbol versions", "everything"));
  EXPECT_TRUE(has(findings, works, "search path", "no DT_RPATH"));
  EXPECT_TRUE(has(findings, limited, "debug information", "none"));
  EXPECT_FALSE(findings.any_fails());
  EXPECT_TRUE(has(findings_of("debug"), works, "debug information", "file and line"));
  EXPECT_TRUE(has(findings_of("plain"), limited, "OpenMP runtime", "needs none"));
  EXPECT_TRUE(has(findings_of("no-id"), limited, "build-id", "none"));
  EXPECT_FALSE(findings_of("runpath").any_fails());
}

TEST(CheckProgram, StaticLinking) {
  EXPECT_TRUE(has(findings_of("static"), fails, "linking", "statically linked"));
  EXPECT_TRUE(has(findings_of("inside"), fails, "OpenMP runtime", "linked into the program"));
}

TEST(CheckProgram, RpathThatLoadsAnotherRuntime) {
  EXPECT_TRUE(has(findings_of("rpath"), fails, "search path",
                  "DT_RPATH loads libgomp.so.1 from " CHECK_PROGRAMS "/old"));
}

TEST(CheckProgram, MissingVersionsAndRoutines) {
  EXPECT_TRUE(has(findings_of("new-runtime", "old"), fails, "symbol versions",
                  "lacks OMP_9.9, omp_brand_new"));
  EXPECT_TRUE(has(findings_of("new-runtime", "new"), works, "symbol versions", "everything"));
  EXPECT_TRUE(has(findings_of("old-runtime", "nowhere"), fails, "symbol versions", "No such file"));
}

TEST(CheckProgram, PrivilegedProgram) {
  const std::string copy = testing::TempDir() + "check-setuid";
  fs::copy_file(CHECK_PROGRAMS "/plain", copy, fs::copy_options::overwrite_existing);
  ASSERT_EQ(::chmod(copy.c_str(), 04755), 0);
  Findings setuid;
  check_program(copy, "", setuid);
  EXPECT_TRUE(has(setuid, fails, "privileges", "setuid"));
  ASSERT_EQ(::chmod(copy.c_str(), 0644), 0);
  Findings not_executable;
  check_program(copy, "", not_executable);
  EXPECT_TRUE(has(not_executable, fails, "privileges", "not executable"));
  fs::remove(copy);
}

TEST(CheckProgram, OtherProcessor) {
  std::ifstream file(CHECK_PROGRAMS "/plain", std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  bytes[18] = 0x15; // e_machine: PowerPC64
  bytes[19] = 0;
  const std::string copy = testing::TempDir() + "check-other";
  std::ofstream(copy, std::ios::binary) << bytes;
  Findings findings;
  check_program(copy, "", findings);
  EXPECT_TRUE(has(findings, fails, "program", "another processor"));
  fs::remove(copy);
}

TEST(CheckText, IsAlignedAndComplete) {
  Findings findings;
  findings.works("a", "fine");
  findings.fails("longer", "broken", "mend it");
  EXPECT_EQ(findings.text(), "works    a       fine\n"
                             "FAILS    longer  broken\n"
                             "                 -> mend it\n");
}

} // namespace
} // namespace omptier
