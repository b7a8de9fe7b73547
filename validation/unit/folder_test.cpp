// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file of a folder, and a program that closes descriptors it does not know.
#include "placement/folder.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

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
