// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What limits memory, in a machine that has DRAM (node 0), HBM (1) and NVM (2), as root there:
// several processes of a job racing for the HBM node, control groups with a limit that would kill,
// a cpuset without the HBM node, and a plan that splits an object. Pages are counted by the kernel.
//     capacity_cases CASE
#include "allocators/placement_text.hpp"
#include "allocators/runtime.hpp"
#include "objects/modules.hpp"
#include "placement/placer.hpp"
#include "plan/plan.hpp"

#include "../stand_in_runtime.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace omptier;

namespace {

constexpr std::size_t k_mib = 1 << 20;
int checks = 0;

#define CHECK(good, ...)                                                                           \
  do {                                                                                             \
    ++checks;                                                                                      \
    if (!(good)) {                                                                                 \
      std::fprintf(stderr, "line %d: ", __LINE__);                                                 \
      std::fprintf(stderr, __VA_ARGS__);                                                           \
      std::fprintf(stderr, "\n");                                                                  \
      _exit(1);                                                                                    \
    }                                                                                              \
  } while (false)

void write_file(const std::string& path, const std::string& text) {
  const int fd = ::open(path.c_str(), O_WRONLY);
  CHECK(fd >= 0 && ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()),
        "%s <- %s: %s", path.c_str(), text.c_str(), std::strerror(errno));
  ::close(fd);
}

std::string read_file(const std::string& path) {
  std::string text(4096, '\0');
  const int fd = ::open(path.c_str(), O_RDONLY);
  CHECK(fd >= 0, "%s: %s", path.c_str(), std::strerror(errno));
  const ssize_t got = ::read(fd, text.data(), text.size());
  ::close(fd);
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  return text;
}

std::uint64_t number_after(const std::string& text, const std::string& key) {
  const auto at = text.find(key);
  return at == std::string::npos ? 0 : std::strtoull(text.c_str() + at + key.size(), nullptr, 10);
}

Placer& new_placer(const std::string& job = "") {
  auto platform = discover_platform({});
  CHECK(static_cast<bool>(platform), "%s", platform.error().c_str());
  CapacityRules rules;
  rules.job_ledger = job;
  rules.allowed = allowed_nodes();
  return *new Placer(std::move(*platform), rules);
}

std::size_t tier_of(Placer& placer, MemoryKind kind) {
  for (std::size_t tier = 0; tier < placer.tier_count(); ++tier)
    if (placer.kind_of_tier(tier) == kind) return tier;
  CHECK(false, "no tier of %s", name_of(kind).data());
}

char* place(Placer& placer, MemoryKind kind, std::size_t bytes, bool required, Refusal& why) {
  BlockRequest request;
  request.bytes = bytes;
  request.required = required;
  bool fresh = false;
  return static_cast<char*>(placer.place(tier_of(placer, kind), request, fresh, why));
}

std::uint64_t on_node(const void* block, std::size_t bytes, unsigned node) {
  PageCensus census;
  count_pages(reinterpret_cast<std::uintptr_t>(block), bytes, census);
  return census.node[node];
}

// What the children tell one another and the parent.
struct Shared {
  std::atomic<unsigned> ready, full;
  std::atomic<std::uint64_t> bytes;
};
Shared& shared_page() {
  void* page = ::mmap(nullptr, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  CHECK(page != MAP_FAILED, "a shared page");
  return *static_cast<Shared*>(page);
}
void wait_for(std::atomic<unsigned>& count, unsigned number) {
  while (count.load() < number)
    ::usleep(1000);
}

// Every process takes HBM until it is refused; all hold what they have, and only then is counted.
void race() {
  constexpr unsigned k_processes = 5;
  constexpr std::size_t k_piece = 3 * k_mib;
  Shared& shared = shared_page();
  const std::string job = "/dev/shm/omptier-race";
  std::vector<pid_t> children;
  for (unsigned i = 0; i < k_processes; ++i) {
    children.push_back(::fork());
    if (children.back() != 0) continue;
    ::alarm(30); // one that fails must not leave the others waiting
    Placer& placer = new_placer(job);
    ++shared.ready;
    wait_for(shared.ready, k_processes);
    std::vector<char*> blocks;
    Refusal why = Refusal::none;
    while (char* block = place(placer, MemoryKind::hbm, k_piece, true, why)) {
      std::memset(block, static_cast<int>(i + 1), k_piece);
      blocks.push_back(block);
    }
    CHECK(why == Refusal::capacity || why == Refusal::node_full || why == Refusal::elsewhere,
          "refused: %s", describe(why));
    ++shared.full;
    wait_for(shared.full, k_processes);
    for (const char* block : blocks) {
      CHECK(on_node(block, k_piece, 1) == k_piece, "a block not wholly in HBM");
      for (std::size_t at = 0; at < k_piece; at += 4096)
        CHECK(block[at] == static_cast<char>(i + 1), "a wrong byte");
    }
    shared.bytes += blocks.size() * k_piece;
    placer.job().leave();
    _exit(0);
  }
  for (const pid_t child : children) {
    int status = -1;
    ::waitpid(child, &status, 0);
    CHECK(status == 0, "a process ended with status %d", status);
  }
  Placer& placer = new_placer();
  const std::uint64_t capacity = placer.platform().tiers[tier_of(placer, MemoryKind::hbm)].capacity;
  std::printf("%llu of %llu MiB of HBM taken by %u processes together\n",
              static_cast<unsigned long long>(shared.bytes >> 20),
              static_cast<unsigned long long>(capacity >> 20), k_processes);
  CHECK(shared.bytes <= capacity, "more than there is");
  CHECK(shared.bytes >= capacity / 2, "hardly used");
  CHECK(::access(job.c_str(), F_OK) != 0, "the ledger is left behind");
}

const std::string k_groups = "/sys/fs/cgroup";
const std::string k_group = k_groups + "/limited/inner";

void make_group(const char* controllers) {
  write_file(k_groups + "/cgroup.subtree_control", controllers);
  ::mkdir((k_groups + "/limited").c_str(), 0755);
  write_file(k_groups + "/limited/cgroup.subtree_control", controllers);
  CHECK(::mkdir(k_group.c_str(), 0755) == 0, "%s", std::strerror(errno));
}
// A process in the inner group that does what is told; its wait status.
template <typename F> pid_t in_group(F&& run) {
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::alarm(30);
  write_file(k_group + "/cgroup.procs", std::to_string(::getpid()));
  run();
  _exit(0);
}
int status_of(pid_t child) {
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

// The outer group's limit is what counts. Three processes of a job take memory of all kinds,
// present at once or touched later; nobody is killed. Then one that does not ask is.
void group() {
  constexpr unsigned k_processes = 3;
  make_group("+memory");
  write_file(k_groups + "/limited/memory.max", std::to_string(96 * k_mib));
  Shared& shared = shared_page();
  std::vector<pid_t> children;
  for (unsigned i = 0; i < k_processes; ++i)
    children.push_back(in_group([&] {
      Placer& placer = new_placer("/dev/shm/omptier-group");
      CHECK(placer.cgroup().least_limit() == 96 * k_mib, "the limit is not seen");
      ++shared.ready;
      wait_for(shared.ready, k_processes);
      std::vector<char*> later;
      Refusal why = Refusal::none;
      unsigned refused = 0;
      for (unsigned round = 0; refused < 6; ++round) {
        const MemoryKind kind = round % 2 == 0 ? MemoryKind::dram : MemoryKind::nvm;
        const bool required = (round + i) % 3 != 0;
        char* block = place(placer, kind, 2 * k_mib, required, why);
        if (block == nullptr) {
          CHECK(why == Refusal::group_limit, "refused: %s", describe(why));
          ++refused;
          continue;
        }
        shared.bytes += 2 * k_mib;
        if (!required) later.push_back(block);
      }
      Refusal small = Refusal::none; // small blocks end there too
      while (place(placer, MemoryKind::dram, 4000, true, small) != nullptr) {
      }
      ++shared.full;
      wait_for(shared.full, k_processes);
      for (char* block : later) // what was promised can be had
        std::memset(block, 1, 2 * k_mib);
    }));
  for (const pid_t child : children)
    CHECK(status_of(child) == 0, "a process was killed, or failed");
  std::string events = read_file(k_groups + "/limited/memory.events");
  CHECK(number_after(events, "oom_kill ") == 0, "the kernel killed: %s", events.c_str());
  std::printf("%llu MiB granted below a limit of 96 MiB\n",
              static_cast<unsigned long long>(shared.bytes >> 20));
  CHECK(shared.bytes >= 48 * k_mib, "hardly used");

  const int status = status_of(in_group([] {
    char* block = static_cast<char*>(std::malloc(160 * k_mib));
    for (std::size_t at = 0; at < 160 * k_mib; at += 4096)
      static_cast<volatile char*>(block)[at] = 1;
  }));
  CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL, "over the limit nothing happens");
}

// A cpuset of DRAM and NVM: HBM is there, and not for us.
void cpuset() {
  make_group("+cpuset");
  write_file(k_group + "/cpuset.mems", "0,2");
  const int status = status_of(in_group([] {
    auto platform = discover_platform({});
    CHECK(static_cast<bool>(platform), "%s", platform.error().c_str());
    CHECK(allowed_nodes().bits == 5, "allowed: %llx",
          static_cast<unsigned long long>(allowed_nodes().bits));
    // As it was before the cpuset, or as OMPTIER_NODES names it.
    Platform whole = *platform;
    if (whole.node(1) == nullptr) {
      Node hbm;
      hbm.number = 1;
      hbm.kind = MemoryKind::hbm;
      hbm.capacity = 1024 * k_mib;
      whole.nodes.insert(whole.nodes.begin() + 1, hbm);
      Tier tier;
      tier.kind = MemoryKind::hbm;
      tier.nodes = {1};
      tier.capacity = hbm.capacity;
      whole.tiers.insert(whole.tiers.begin(), tier);
    }
    CapacityRules rules;
    rules.allowed = allowed_nodes();
    Placer placer(whole, rules);
    Refusal why = Refusal::none;
    CHECK(place(placer, MemoryKind::hbm, k_mib, true, why) == nullptr, "HBM was given");
    CHECK(why == Refusal::not_allowed, "refused: %s", describe(why));
    CHECK(place(placer, MemoryKind::hbm, 100, true, why) == nullptr, "HBM was given");
    const char* block = place(placer, MemoryKind::nvm, 4 * k_mib, true, why);
    CHECK(block != nullptr && on_node(block, 4 * k_mib, 2) == 4 * k_mib, "NVM is allowed");
  }));
  CHECK(status == 0, "status %d", status);
}

const omptier_hooks* hooks = nullptr;

// A quarter of HBM and of DRAM, as Open MPI's variables say; ompx_dump tells it.
void share() {
  ::setenv("OMPI_COMM_WORLD_LOCAL_SIZE", "4", 1);
  ::setenv("OMPI_COMM_WORLD_LOCAL_RANK", "2", 1);
  ::setenv("SLURM_JOB_ID", "4711", 1);
  hooks = attach_stand_in_runtime();
  CHECK(hooks != nullptr, "attach");
  constexpr std::uintptr_t k_hbm_alloc = 502;
  std::size_t in_hbm = 0;
  for (unsigned i = 0; i < 100; ++i) {
    void* block = nullptr;
    CHECK(hooks->allocate(4 * k_mib, 0, k_hbm_alloc, nullptr, &block) && block != nullptr, "none");
    in_hbm += on_node(block, 4 * k_mib, 1);
  }
  Placer& placer = *runtime().placer();
  const std::uint64_t total = placer.platform().tiers[tier_of(placer, MemoryKind::hbm)].capacity;
  std::printf("%zu of %llu MiB of HBM taken by a rank of four\n", in_hbm >> 20,
              static_cast<unsigned long long>(total >> 20));
  CHECK(in_hbm <= total / 4 && in_hbm >= total / 5, "not a quarter");
  CHECK(placer.job().own(1) == placer.ledger().used(MemoryKind::hbm), "counted otherwise");
  CHECK(placer.ledger().limit(MemoryKind::nvm) == Ledger::k_no_limit,
        "the largest kind is limited");
  int ends[2];
  CHECK(::pipe(ends) == 0 && write_dump(ends[1]), "dump");
  std::string text(60'000, '\0');
  const ssize_t got = ::read(ends[0], text.data(), text.size());
  text.resize(got > 0 ? static_cast<std::size_t>(got) : 0);
  for (const char* line :
       {"share 1/4 of scarce kinds by OMPI_COMM_WORLD_LOCAL_SIZE", "(share) refusals",
        "job \"/dev/shm/omptier-0-slurm-4711\" processes 1", "job node 1 granted "})
    CHECK(text.find(line) != std::string::npos, "no \"%s\" in the dump", line);
}

const void* last_caller = nullptr;
__attribute__((noinline)) char* omp_alloc_like(std::size_t bytes) {
  last_caller = __builtin_return_address(0);
  void* block = nullptr;
  if (!hooks->allocate(bytes, 0, 1, last_caller, &block)) return nullptr;
  return static_cast<char*>(block);
}
__attribute__((noinline)) char* make_table() {
  char* block = omp_alloc_like(40 * k_mib);
  asm volatile("# make_table" ::: "memory");
  return block;
}

// make_table() under a plan with this entry, with 16 MiB of HBM allowed; starts itself anew for it.
char* planned_table(const char* name, std::vector<MemoryKind> kinds, std::vector<PlanPart> parts) {
  const std::string path = "/tmp/parts.json";
  hooks = attach_stand_in_runtime();
  CHECK(hooks != nullptr, "attach");
  char* table = make_table();
  if (::getenv("OMPTIER_PLAN") != nullptr) return table;
  Plan plan;
  PlanEntry entry;
  const LoadedModule* module = nullptr;
  PlanFrame frame;
  CHECK(identify(reinterpret_cast<ReturnAddress>(last_caller), module, frame.offset), "module");
  plan.modules = {{identity_of(*module), module->name}};
  entry.label = "table";
  entry.frames = {frame};
  entry.kinds = std::move(kinds);
  entry.parts = std::move(parts);
  plan.entries = {entry};
  std::FILE* file = std::fopen(path.c_str(), "w");
  const std::string text = write_plan(plan);
  CHECK(file != nullptr && std::fwrite(text.data(), 1, text.size(), file) == text.size() &&
            std::fclose(file) == 0,
        "plan file");
  ::setenv("OMPTIER_PLAN", path.c_str(), 1);
  ::setenv("OMPTIER_CAPACITY", "hbm:16M", 1);
  ::execl("/proc/self/exe", "capacity_cases", name, nullptr);
  CHECK(false, "exec");
  return nullptr;
}

// A table of 40 MiB in NVM whose hottest part is [24, 32) MiB, then [4, 20) MiB; [38, 39) MiB
// belongs in DRAM.
void parts() {
  char* table = planned_table("parts", {MemoryKind::nvm},
                              {{24 * k_mib, 32 * k_mib, MemoryKind::hbm},
                               {4 * k_mib, 20 * k_mib, MemoryKind::hbm},
                               {38 * k_mib, 39 * k_mib, MemoryKind::dram}});
  CHECK(table != nullptr, "no table");
  std::memset(table, 3, 40 * k_mib);
  CHECK(on_node(table + 24 * k_mib, 8 * k_mib, 1) == 8 * k_mib, "the hottest part is not in HBM");
  CHECK(on_node(table + 4 * k_mib, 8 * k_mib, 1) == 8 * k_mib, "nor the begin of the next");
  CHECK(on_node(table, 40 * k_mib, 1) == 16 * k_mib, "more HBM than allowed");
  CHECK(on_node(table + 38 * k_mib, k_mib, 0) == k_mib, "a small part is not in DRAM");
  CHECK(on_node(table, 40 * k_mib, 0) == k_mib, "DRAM where none was asked for");
  PlacementReport report;
  CHECK(describe_placement(table, 0, report), "no placement");
  CHECK(report.bytes[static_cast<std::size_t>(MemoryKind::hbm)] == 16 * k_mib &&
            report.bytes[static_cast<std::size_t>(MemoryKind::nvm)] == 23 * k_mib,
        "told otherwise");
  std::printf("%s\n", report.reason);
  CHECK(std::strstr(report.reason, "NVM: by the plan") == report.reason, "%s", report.reason);
  hooks->release(table, 0);
}

// 12 MiB of a table are to be in HBM, which has no room for all 40, and 4 MiB in DRAM.
void rest() {
  char* table = planned_table("rest", {MemoryKind::hbm, MemoryKind::nvm},
                              {{20 * k_mib, 36 * k_mib, MemoryKind::nvm},
                               {0, 4 * k_mib, MemoryKind::dram},
                               {8 * k_mib, 16 * k_mib, MemoryKind::nvm}});
  CHECK(table != nullptr, "no table");
  std::memset(table, 3, 40 * k_mib);
  for (const std::size_t begin : {4, 16, 36})
    CHECK(on_node(table + begin * k_mib, 4 * k_mib, 1) == 4 * k_mib, "%zu MiB: not in HBM", begin);
  CHECK(on_node(table, 40 * k_mib, 1) == 12 * k_mib, "parts in HBM that belong elsewhere");
  CHECK(on_node(table, 4 * k_mib, 0) == 4 * k_mib, "a part is not in DRAM");
  hooks->release(table, 0);
}

} // namespace

int main(int count, char** arguments) {
  const std::string name = count > 1 ? arguments[1] : "";
  if (name == "share")
    share();
  else if (name == "race")
    race();
  else if (name == "group")
    group();
  else if (name == "cpuset")
    cpuset();
  else if (name == "parts")
    parts();
  else if (name == "rest")
    rest();
  else
    return std::fprintf(stderr, "no case \"%s\"\n", name.c_str()), 2;
  std::printf("%s: %d checks\n", name.c_str(), checks);
}
