// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file of a folder: a program that closes descriptors it does not know, and one that forks.
#include "base/kernel_files.hpp"
#include "base/os.hpp"
#include "dram_and_hbm.hpp"
#include "placement/folder.hpp"
#include "placement/placer.hpp"
#include "real_calls.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <string>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

using namespace omptier;

TEST(Folder, ANumberThatIsTheProgramsNowIsLeftAlone) {
  constexpr std::size_t k_bytes = 1 << 20;
  const int number = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(number); // the next file's number
  Folder folder;
  ASSERT_EQ(folder.open("/dev/shm", true), "");
  void* at = ::mmap(nullptr, 2 * k_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(at, MAP_FAILED);
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  ASSERT_EQ(folder.bind(begin, k_bytes, {}), Backing::Bound::yes);
  EXPECT_TRUE(folder.commit(begin, k_bytes));
  EXPECT_TRUE(folder.drop(begin, k_bytes));

  char path[] = "/dev/shm/omptier-folder-test-XXXXXX";
  const int other = ::mkstemp(path);
  const std::string text(2 * k_bytes, 'x');
  ASSERT_EQ(::write(other, text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ASSERT_EQ(::dup2(other, number), number);
  EXPECT_FALSE(folder.drop(begin, k_bytes));
  EXPECT_FALSE(folder.commit(begin, k_bytes));
  EXPECT_EQ(folder.bind(begin + k_bytes, k_bytes, {}), Backing::Bound::no);
  std::string now(2 * k_bytes, '-');
  EXPECT_EQ(::pread(other, now.data(), now.size(), 0), static_cast<ssize_t>(now.size()));
  EXPECT_TRUE(now == text);
  ::unlink(path);
  ::close(other);
  ::munmap(at, 2 * k_bytes);
}

namespace {

constexpr std::size_t k_slice = std::size_t{32} << 30, k_block = 1 << 20;

void* no_copies(void* at, std::size_t bytes, int protection, int flags, int fd, off_t offset) {
  constexpr int k_copy = MAP_PRIVATE | MAP_FIXED;
  if (fd < 0 || (flags & k_copy) != k_copy)
    return real->map(at, bytes, protection, flags, fd, offset);
  return errno = ENOMEM, MAP_FAILED;
}
int never_writable(void* at, std::size_t bytes, int protection) {
  if ((protection & PROT_WRITE) == 0) return real->protect(at, bytes, protection);
  return errno = ENOMEM, -1;
}

// Private memory may grow by 256 MiB from here on.
void limit_data() {
  unsigned long pages[6] = {};
  char text[256];
  read_small_file("/proc/self/statm", text, sizeof text);
  EXPECT_EQ(std::sscanf(text, "%lu %lu %lu %lu %lu %lu", &pages[0], &pages[1], &pages[2], &pages[3],
                        &pages[4], &pages[5]),
            6);
  const rlimit limit{pages[5] * page_size() + (256u << 20), RLIM_INFINITY};
  EXPECT_EQ(::setrlimit(RLIMIT_DATA, &limit), 0);
}

// The exit status of a child that is forked as the runtime does it.
template <typename F> int status_of_child(F&& run) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    ::_exit(run() ? 0 : 1);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

} // namespace

// A slice has the size of address space, not of what is in use, and the kernel may refuse a child
// that much memory of its own, or any.
TEST(Folder, AChildNeverWritesToItsParentsBlocks) {
  Folder folder;
  ASSERT_EQ(folder.open("/dev/shm", true), "");
  constexpr int k_reserved = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  void* at = ::mmap(nullptr, k_slice, PROT_NONE, k_reserved, -1, 0);
  ASSERT_NE(at, MAP_FAILED);
  const auto begin = reinterpret_cast<std::uintptr_t>(at);
  ASSERT_EQ(folder.bind(begin, k_slice, {}), Backing::Bound::yes);
  ASSERT_TRUE(folder.commit(begin, k_block));
  volatile char* const block = static_cast<char*>(at);
  block[0] = 'p';
  block[1] = 'p';
  const auto writes = [&] {
    folder.leave_to_parent();
    folder.let_child_write(begin, k_block);
    block[0] = 'c';
    // Its own child has what it wrote.
    return block[1] == 'p' && status_of_child([&] {
             folder.leave_to_parent();
             folder.let_child_write(begin, k_block);
             return block[0] == 'c';
           }) == 0;
  };
  EXPECT_EQ(status_of_child([&] { return limit_data(), writes(); }), 0);
  EXPECT_EQ(block[0], 'p');
  real = &os();
  for (const bool at_once : {true, false}) {
    OsCalls refusing = *real;
    if (at_once)
      refusing.map = no_copies;
    else
      refusing.protect = never_writable;
    const auto writes_all_the_same = [&] { return replace_os_calls(&refusing), writes(); };
    EXPECT_NE(status_of_child(writes_all_the_same), 0) << "it wrote somewhere";
    EXPECT_EQ(block[0], 'p');
  }
  ::munmap(at, k_slice);
}

TEST(Folder, AChildHasCopiesOfBlocksAndTakesNoOthers) {
  Platform platform = dram_and_hbm(std::uint64_t{1} << 30);
  platform.nodes.resize(1);
  platform.tiers.erase(platform.tiers.begin());
  CapacityRules rules;
  rules.folder = "/dev/shm";
  rules.folder_without_dax = true;
  Placer placer(std::move(platform), rules);
  std::size_t tier = 0;
  while (tier < placer.tier_count() && placer.kind_of_tier(tier) != MemoryKind::nvm)
    ++tier;
  ASSERT_LT(tier, placer.tier_count());
  const auto take = [&](std::size_t bytes) {
    BlockRequest request;
    request.bytes = bytes;
    bool fresh = false;
    Refusal why = Refusal::none;
    return static_cast<char*>(placer.place(tier, request, fresh, why));
  };
  char* const small = take(100);
  char* const large = take(3 * k_block);
  char* const freed = take(3 * k_block);
  ASSERT_TRUE(small != nullptr && large != nullptr && freed != nullptr);
  small[0] = large[0] = large[3 * k_block - 1] = 'p';
  EXPECT_TRUE(placer.release(freed)); // into the cache
  placer.lock_all();
  const int status = status_of_child([&] {
    limit_data();
    placer.forget_other_threads();
    placer.unlock_all();
    bool good = small[0] == 'p' && large[0] == 'p' && large[3 * k_block - 1] == 'p';
    small[0] = large[0] = large[3 * k_block - 1] = 'c';
    good = good && take(3 * k_block) == nullptr && placer.release(large);
    std::string why_not;
    return good && placer.is_sound(why_not, true);
  });
  placer.unlock_all();
  EXPECT_EQ(status, 0);
  EXPECT_TRUE(small[0] == 'p' && large[0] == 'p' && large[3 * k_block - 1] == 'p');
  EXPECT_TRUE(placer.release(small) && placer.release(large));
}
