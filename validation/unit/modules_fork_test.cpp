// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Forks while another thread is inside the loader's list: in the child the list, identities and
// matchers work, though that thread and what it held are gone. A child that hangs is ended by
// SIGALRM.
#include "objects/frame_matcher.hpp"
#include "objects/modules.hpp"

#include <atomic>
#include <dlfcn.h>
#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace omptier {
namespace {

void guard_forks() {
  static const int once = pthread_atfork(
      close_modules_for_fork, [] { open_modules_after_fork(false); },
      [] { open_modules_after_fork(true); });
  ASSERT_EQ(once, 0);
}

// Forks so often while the work goes on in another thread; children that did not answer.
template <typename Work, typename Child> int hanging_children(int forks, Work work, Child child) {
  std::atomic<bool> stop{false};
  std::thread other([&] {
    while (!stop.load())
      work();
  });
  int hung = 0;
  for (int i = 0; i < forks && hung == 0; ++i) {
    const pid_t pid = fork();
    if (pid == 0) {
      alarm(60);
      syscall(SYS_exit_group, child() ? 0 : 1);
    }
    int status = 0;
    waitpid(pid, &status, 0);
    if (status != 0) ++hung;
  }
  stop.store(true);
  other.join();
  return hung;
}

// One thread marks what its pass has not seen while another's pass sees it: a module that stays is
// never taken for unloaded. (The thread sanitizer sees the rest: preset tsan.)
TEST(ModulesPasses, OfSeveralThreads) {
  const auto here = reinterpret_cast<std::uintptr_t>(&guard_forks);
  ASSERT_NE(module_of(here), nullptr);
  std::atomic<bool> over{false};
  std::vector<std::thread> others;
  std::atomic<int> lost{0};
  for (int i = 0; i < 2; ++i)
    others.emplace_back([&] {
      while (!over.load()) {
        refresh_modules();
        if (known_module_of(here) == nullptr) ++lost;
      }
    });
  for (int i = 0; i < 150; ++i) {
    void* library = dlopen(MODULES_FORK_LIBRARY, RTLD_NOW);
    ASSERT_NE(library, nullptr) << dlerror();
    refresh_modules();
    dlclose(library);
  }
  over = true;
  for (std::thread& other : others)
    other.join();
  EXPECT_EQ(lost, 0);
}

TEST(ModulesFork, LoadersLockIsFreeInTheChild) {
  guard_forks();
  const auto here = reinterpret_cast<std::uintptr_t>(&guard_forks);
  EXPECT_EQ(hanging_children(
                300, [&] { refresh_modules(); }, [&] { return module_of(here) != nullptr; }),
            0);
}

TEST(ModulesFork, IdentitiesAndMatchersAreMadeInTheChild) {
  guard_forks();
  // Loaded once: a child that is forked while the loader itself is at work is not ours to save.
  void* library = dlopen(MODULES_FORK_LIBRARY, RTLD_NOW);
  ASSERT_NE(library, nullptr);
  const auto inside = reinterpret_cast<std::uintptr_t>(dlsym(library, "modules_fork_library"));
  const LoadedModule* module = module_of(inside);
  ASSERT_NE(inside, 0u);
  ASSERT_NE(module, nullptr);
  const std::string identity = identity_of(*module);
  ASSERT_EQ(identity.rfind("segments:", 0), 0u);
  const FrameMatcher matcher({&identity, 1}, {});
  const auto work = [&] {
    module->identified.store(0); // hashed anew
    identity_of(*module);
  };
  const auto child = [&] {
    return identity == identity_of(*module) && module_of(inside) == module &&
           matcher.lists_without_module() == 0;
  };
  EXPECT_EQ(hanging_children(60, work, child), 0);
}

// Nothing of the list is locked: whoever comes meanwhile uses what is known.
TEST(ModulesFork, ClosedListIsUsedAsItIs) {
  const auto here = reinterpret_cast<std::uintptr_t>(&guard_forks);
  refresh_modules();
  close_modules_for_fork();
  std::thread([&] {
    EXPECT_FALSE(ModuleListUse());
    EXPECT_NE(module_of(here), nullptr);
    open_modules_after_fork(false); // not the thread that closed it: without effect
    EXPECT_FALSE(ModuleListUse());
  }).join();
  EXPECT_STRNE(identity_of(module_at(0)), "");
  open_modules_after_fork(false);
  EXPECT_TRUE(ModuleListUse());
}

} // namespace
} // namespace omptier
