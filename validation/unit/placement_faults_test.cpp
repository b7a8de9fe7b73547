// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every operating-system call of the placement layer fails at every point in turn, on a fixed
// script of allocations: no crash, no wrong byte, sound books, and what was placed is given back.
#include "placement/placer.hpp"
#include "real_calls.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

using namespace omptier;

namespace {

long countdown = -1; // calls until the one that fails; negative: none fails
long calls = 0;
bool lasting = false; // all calls after it fail too

bool fails_now() {
  const long now = calls++;
  return countdown >= 0 && (now == countdown || (lasting && now > countdown));
}
void* f_map(void* a, std::size_t b, int p, int f, int d, off_t o) {
  if (fails_now()) return errno = ENOMEM, MAP_FAILED;
  return real->map(a, b, p, f, d, o);
}
int f_protect(void* a, std::size_t b, int p) {
  if (fails_now()) return errno = ENOMEM, -1;
  return real->protect(a, b, p);
}
int f_advise(void* a, std::size_t b, int advice) {
  if (fails_now()) return errno = ENOMEM, -1;
  return real->advise(a, b, advice);
}
long f_bind(void* a, std::size_t b, int m, const unsigned long* n, unsigned long l, unsigned f) {
  if (fails_now()) return errno = EPERM, -1;
  return real->bind_memory(a, b, m, n, l, f);
}
long f_move(int p, unsigned long c, void** a, const int* n, int* s, int f) {
  if (fails_now()) return errno = EPERM, -1;
  return real->move_pages(p, c, a, n, s, f);
}
int f_open(const char* p, int f, unsigned m) {
  if (fails_now()) return errno = EMFILE, -1;
  return real->open(p, f, m);
}
ssize_t f_read(int fd, void* d, std::size_t b) {
  if (fails_now()) return errno = EIO, -1;
  return real->read(fd, d, b);
}

// Some of everything: small, large, required, preferred, freed, used again. Returns wrong bytes.
int run_script(Placer& placer) {
  struct Block {
    unsigned char* at;
    std::size_t bytes;
    unsigned char fill;
  };
  std::vector<Block> live;
  int wrong = 0;
  const auto check_and_free = [&](const Block& block) {
    for (std::size_t i = 0; i < block.bytes; i += 97)
      wrong += block.at[i] != block.fill;
    wrong += !placer.release(block.at);
  };
  for (unsigned step = 0; step < 200; ++step) {
    if (step % 5 == 4 && !live.empty()) {
      check_and_free(live[step % live.size()]);
      live.erase(live.begin() + static_cast<long>(step % live.size()));
      continue;
    }
    BlockRequest request;
    request.bytes = step % 9 == 3 ? 700000 + step * 1000 : 10 + step * 37 % 9000;
    request.required = step % 2 == 0;
    bool fresh = false;
    Refusal why = Refusal::none;
    auto* at = static_cast<unsigned char*>(placer.place(0, request, fresh, why));
    if (at == nullptr) continue;
    if (fresh && request.bytes >= k_large_block) wrong += at[request.bytes - 1] != 0;
    std::memset(at, static_cast<int>(step), request.bytes);
    live.push_back({at, request.bytes, static_cast<unsigned char>(step)});
  }
  for (const Block& block : live)
    check_and_free(block);
  return wrong;
}

// Control groups as files that do not exist: /job has 1000 bytes left less 1/32 of its limit,
// /job/step 3000.
struct FakeFile {
  const char* path;
  const char* text;
};
constexpr FakeFile k_files[] = {{"/proc/self/cgroup", "0::/job/step\n"},
                                {"/fake/job/step/memory.max", "5000\n"},
                                {"/fake/job/step/memory.current", "2500\n"},
                                {"/fake/job/step/memory.stat", "anon 2000\nfile 500\nkernel 0\n"},
                                {"/fake/job/memory.max", "8000\n"},
                                {"/fake/job/memory.current", "7000\n"},
                                {"/fake/job/memory.stat", "anon 7000\nfile 0\n"},
                                {"/fake/memory.max", "max\n"}};
int fake_open(const char* path, int, unsigned) {
  for (int i = 0; i < static_cast<int>(std::size(k_files)); ++i)
    if (std::strcmp(k_files[i].path, path) == 0) return 1000 + i;
  return errno = ENOENT, -1;
}
ssize_t fake_read(int fd, void* data, std::size_t bytes) {
  const std::size_t length = std::min(bytes, std::strlen(k_files[fd - 1000].text));
  std::memcpy(data, k_files[fd - 1000].text, length);
  return static_cast<ssize_t>(length);
}

TEST(Cgroup, TheTightestGroupCounts) {
  OsCalls fake = os();
  fake.open = fake_open;
  fake.read = fake_read;
  fake.close = [](int) { return 0; };
  replace_os_calls(&fake);
  CgroupLimits limits;
  EXPECT_EQ(limits.room(), CgroupLimits::k_no_limit);
  limits.find("/fake");
  EXPECT_EQ(limits.room(), 750u);
  limits.find("/elsewhere");
  EXPECT_EQ(limits.room(), CgroupLimits::k_no_limit);
  replace_os_calls(nullptr);
}

TEST(PlacementFaults, EveryCallFailsInTurn) {
  auto platform = discover_platform({});
  ASSERT_TRUE(platform);
  real = &os();
  OsCalls faulty = *real;
  faulty.map = f_map;
  faulty.protect = f_protect;
  faulty.advise = f_advise;
  faulty.bind_memory = f_bind;
  faulty.move_pages = f_move;
  faulty.open = f_open;
  faulty.read = f_read;
  replace_os_calls(&faulty);
  calls = 0;
  countdown = -1;
  CapacityRules rules;
  rules.job_ledger = "/dev/shm/omptier-faults-" + std::to_string(::getpid());
  {
    Placer placer(*platform, rules);
    EXPECT_EQ(run_script(placer), 0);
  }
  const long all = calls;
  long injected = 0;
  for (const bool rest_too : {false, true})
    for (long point = 0; point < all; point += rest_too ? 7 : 1) {
      calls = 0;
      countdown = point;
      lasting = rest_too;
      Placer placer(*platform, rules); // its ranges stay reserved: address space only
      ASSERT_EQ(run_script(placer), 0) << "call " << point << (rest_too ? " and all after" : "");
      countdown = -1;
      std::string why_not;
      ASSERT_TRUE(placer.is_sound(why_not)) << "call " << point << ": " << why_not;
      ++injected;
    }
  replace_os_calls(nullptr);
  std::printf("%ld calls in the script, %ld faults injected\n", all, injected);
}

} // namespace
