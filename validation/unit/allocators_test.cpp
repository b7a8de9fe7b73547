// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The hooks as libomp calls them, with a stand-in for libomp that counts: what is taken, what is
// left alone, fallbacks, pools, ownership, the observer. The order of the tests matters only for
// the first.
#include "allocators/pool.hpp"
#include "allocators/runtime.hpp"
#include "borders/libomp_hooks.h"
#include "borders/observer.h"

#include <gtest/gtest.h>

#include <bit>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace omptier;

namespace {

std::map<const void*, std::size_t> stock; // live blocks of the stand-in
std::uintptr_t default_allocator = 1;
std::mutex stock_lock;

void* stock_allocate(std::size_t size, std::size_t alignment, std::uintptr_t) {
  void* block = nullptr;
  if (posix_memalign(&block, std::max<std::size_t>(alignment, 16), size) != 0) return nullptr;
  const std::lock_guard guard(stock_lock);
  stock[block] = size;
  return block;
}
void stock_free(void* block) {
  const std::lock_guard guard(stock_lock);
  EXPECT_EQ(stock.erase(block), 1u);
  std::free(block);
}
std::size_t stock_size(const void* block) {
  const std::lock_guard guard(stock_lock);
  return stock.at(block);
}
// As libomp: never 0.
std::uintptr_t scope_of(std::uintptr_t access) {
  static thread_local char thread;
  return access == value::thread ? reinterpret_cast<std::uintptr_t>(&thread) : 4096 + access;
}
const omptier_runtime k_libomp = {OMPTIER_HOOKS_VERSION,
                                  sizeof(omptier_runtime),
                                  stock_allocate,
                                  stock_free,
                                  stock_size,
                                  [] { return default_allocator; },
                                  [](const void*) { return std::uintptr_t{1}; },
                                  [](std::uintptr_t access) { return scope_of(access); },
                                  [](void (*)()) {}};

const omptier_hooks& hooks() {
  static const omptier_hooks* table = omptier_runtime_attach(OMPTIER_HOOKS_VERSION, &k_libomp);
  return *table;
}

std::uintptr_t make(std::uintptr_t space, std::vector<omptier_trait> traits) {
  std::uintptr_t handle = 77;
  EXPECT_EQ(hooks().init_allocator(space, static_cast<int>(traits.size()), traits.data(), &handle),
            1);
  return handle;
}
// Block, or null; taken false when the hook left the call to libomp.
void* get(std::size_t bytes, std::uintptr_t handle, bool* taken = nullptr) {
  void* block = nullptr;
  const int mine = hooks().allocate(bytes, 0, handle, __builtin_return_address(0), &block);
  if (taken != nullptr) *taken = mine != 0;
  return block;
}
void give(void* block) {
  if (hooks().release(block, 0) != 0) return;
  hooks().stock_released(block);
  stock_free(block);
}
bool is_stock(const void* block) {
  const std::lock_guard guard(stock_lock);
  return stock.count(block) != 0;
}

// Must be the first: nothing may be discovered before something of ours is used.
TEST(A_Start, NothingHappensBeforeTheFirstExtendedCall) {
  EXPECT_EQ(omptier_runtime_attach(OMPTIER_HOOKS_VERSION + 1, &k_libomp), nullptr);
  EXPECT_EQ(omptier_runtime_attach(OMPTIER_HOOKS_VERSION, nullptr), nullptr);
  bool taken = true;
  get(1000, 1, &taken);
  EXPECT_FALSE(taken);
  std::uintptr_t handle = 0;
  const omptier_trait standard[] = {{2, 64}};
  EXPECT_EQ(hooks().init_allocator(0, 1, standard, &handle), 0) << "the default space is libomp's";
  EXPECT_EQ(hooks().init_allocator(100, 0, nullptr, &handle), 0) << "device memory is libomp's";
  int local = 0;
  EXPECT_EQ(hooks().release(&local, 0), 0);
  EXPECT_EQ(hooks().release(nullptr, 0), 0);
  for (const std::uintptr_t foreign :
       {std::uintptr_t{1}, std::uintptr_t{9}, std::uintptr_t{102}, ~std::uintptr_t{0}})
    EXPECT_EQ(hooks().destroy_allocator(foreign), 0) << foreign;
  for (const std::uintptr_t none : {std::uintptr_t{505}, std::uintptr_t{1024}})
    EXPECT_EQ(hooks().destroy_allocator(none), 1) << none << " is no pointer of libomp's";
  EXPECT_EQ(runtime().placer_if_ready(), nullptr);
  // That call discovers the machine, behind a lock; a fork meanwhile must not copy it held.
  std::thread other([] { EXPECT_NE(get(1000, 501), nullptr); });
  bool discovered = false;
  do {
    discovered = runtime().placer_if_ready() != nullptr;
    const pid_t child = fork();
    if (child == 0) {
      alarm(60);
      // Not by _exit: the thread sanitizer takes the parent's running thread for one that the
      // child never joined, and makes the status its own.
      syscall(SYS_exit_group, get(1000, 501) != nullptr ? 0 : 1);
    }
    int status = 0;
    EXPECT_EQ(waitpid(child, &status, 0), child);
    EXPECT_EQ(status, 0);
  } while (!discovered);
  other.join();
}

TEST(Ownership, FoundByAddressWhateverTheHandle) {
  void* block = get(500000, 501);
  ASSERT_NE(block, nullptr);
  EXPECT_EQ(hooks().release(block, 1), 1);
  block = get(50, 501);
  EXPECT_EQ(hooks().release(block, 8), 1);
}

TEST(Fallback, EachKind) {
  // CXL memory is not in the machine that builds this: a full tier.
  if (runtime().placer()->platform().tier(MemoryKind::cxl) != nullptr) FAIL() << "has CXL memory";
  void* block = get(1000, make(504, {}));
  EXPECT_TRUE(is_stock(block)) << "default_mem_fb";
  give(block);
  EXPECT_EQ(get(1000, make(504, {{5, 12}})), nullptr) << "null_fb";
  block = get(1000, make(504, {{5, 14}, {6, 501}}));
  EXPECT_TRUE(runtime().placer()->holds(block)) << "allocator_fb to one of ours";
  give(block);
  block = get(1000, make(504, {{5, 14}, {6, 1}}));
  EXPECT_TRUE(is_stock(block)) << "allocator_fb to libomp's";
  give(block);
  // A chain of three, and one whose end was destroyed.
  const std::uintptr_t end = make(504, {{5, 12}});
  const std::uintptr_t chain = make(503, {{5, 14}, {6, make(504, {{5, 14}, {6, end}})}});
  EXPECT_EQ(get(1000, chain), nullptr);
  EXPECT_DEATH(get(1000, make(504, {{5, 13}})), "abort_fb");
}

// Small blocks take a short way that is learnt: what a fallback gave must not be learnt for the
// allocator that fell back.
TEST(Fallback, TheShortWayIsTheAllocatorsOwn) {
  const auto quickly = [](std::uintptr_t handle) {
    return hooks().allocate_quickly(100, 0, handle, nullptr,
                                    [](std::size_t bytes, std::size_t, std::uintptr_t h,
                                       const void*) { return get(bytes, h); });
  };
  const std::uintptr_t second = make(501, {});
  const std::uintptr_t first = make(501, {{4, 256}, {5, 14}, {6, second}});
  void* own = quickly(first);
  BlockInfo info;
  ASSERT_TRUE(runtime().placer()->find(own, true, info));
  const std::uint32_t number = info.allocator;
  void* blocks[8];
  for (void*& block : blocks)
    block = quickly(first); // the pool is soon used up
  ASSERT_TRUE(runtime().placer()->find(blocks[7], true, info));
  EXPECT_NE(info.allocator, number);
  give(own);
  for (void* block : blocks)
    give(block);
  own = quickly(first);
  ASSERT_TRUE(runtime().placer()->find(own, true, info));
  EXPECT_EQ(info.allocator, number) << "the pool has room again";
  give(own);
  hooks().destroy_allocator(first);
  hooks().destroy_allocator(second);
}

void* not_ours(std::size_t, std::size_t, std::uintptr_t, const void*) {
  return nullptr;
}

// A plan or a strategy decides call by call: what was learnt from one says nothing of the next.
TEST(ShortWay, IsNotTakenWherePlanOrStrategyDecide) {
  const std::uintptr_t handle = make(501, {});
  Allocator* const allocator = runtime().allocators.find(handle);
  int the_long_way = 0; // which notes that the allocator has had a block
  const auto quickly = [&] {
    give(hooks().allocate_quickly(100, 0, handle, nullptr, not_ours));
    the_long_way += allocator->has_allocated.exchange(false);
  };
  runtime().places_everything.store(true);
  for (int i = 0; i < 5; ++i)
    quickly();
  EXPECT_EQ(the_long_way, 5);
  runtime().places_everything.store(false);
  for (int i = 0; i < 5; ++i)
    quickly();
  EXPECT_EQ(the_long_way, 6) << "learnt";
  hooks().destroy_allocator(handle);
}

// What the short way does not serve goes on from there: libomp hears only of what is its own.
TEST(ShortWay, LeavesToTheRuntimeOnlyWhatIsDeclined) {
  static int left;
  left = 0;
  const auto quickly = [](std::size_t bytes, std::uintptr_t handle) {
    return hooks().allocate_quickly(
        bytes, 0, handle, nullptr,
        [](std::size_t, std::size_t, std::uintptr_t, const void*) -> void* {
          return ++left, nullptr;
        });
  };
  const auto give_quickly = [](void* block) {
    hooks().release_quickly(block, 0, [](void*, std::uintptr_t) { ++left; });
  };
  const std::uintptr_t handle = make(501, {});
  for (const std::size_t bytes : {std::size_t{100}, std::size_t{1} << 20}) {
    void* block = quickly(bytes, handle);
    ASSERT_NE(block, nullptr);
    give_quickly(block);
  }
  EXPECT_EQ(left, 0);
  EXPECT_EQ(quickly(100, 1), nullptr);
  EXPECT_EQ(left, 1);
  int local = 0;
  give_quickly(&local);
  EXPECT_EQ(left, 2);
  hooks().destroy_allocator(handle);
}

TEST(Pool, CountsTheProgramsBytesAndIsRefilled) {
  const std::uintptr_t pool = make(501, {{4, 1000}, {5, 12}});
  void* a = get(600, pool);
  EXPECT_NE(a, nullptr);
  EXPECT_EQ(get(401, pool), nullptr);
  void* b = get(400, pool);
  EXPECT_NE(b, nullptr);
  give(a);
  EXPECT_NE(get(600, pool), nullptr);
  // Allocators of standard names keep libomp's arithmetic: 40 bytes more a block.
  const std::uintptr_t standard = make(3, {{4, 1000}, {5, 12}});
  EXPECT_EQ(get(1000, standard), nullptr);
  EXPECT_NE(get(960, standard), nullptr);
}

TEST(Pool, ThreadsCannotTakeMoreTogether) {
  const std::uintptr_t pool = make(501, {{4, 100 * 64}, {5, 12}});
  std::atomic<int> got{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      for (int i = 0; i < 100; ++i)
        got += get(64, pool) != nullptr;
    });
  for (auto& thread : threads)
    thread.join();
  EXPECT_EQ(got, 100);
}

TEST(Handles, DestroyedOnesAreForgottenAndBlocksLiveOn) {
  const std::uintptr_t handle = make(501, {});
  auto* block = static_cast<char*>(get(100, handle));
  EXPECT_EQ(hooks().destroy_allocator(handle), 1);
  // To libomp the handle would be a pointer of its own: it must never see it.
  EXPECT_EQ(hooks().destroy_allocator(handle), 1) << "a second time";
  bool taken = false;
  void* late = get(100, handle, &taken);
  EXPECT_TRUE(taken);
  EXPECT_TRUE(is_stock(late));
  give(late);
  block[99] = 1;
  EXPECT_NE(make(501, {}), handle) << "used again while a block is live";
  give(block);
  // An entry that never had a block is used again at once, as in a loop with uses_allocators; one
  // that had, when all were used; one with a live block never.
  const std::uintptr_t lasting = make(501, {});
  void* kept = get(100, lasting);
  EXPECT_EQ(hooks().destroy_allocator(lasting), 1);
  const std::uintptr_t without = make(502, {});
  hooks().destroy_allocator(without);
  EXPECT_EQ(make(502, {}), without);
  bool again = false;
  for (int i = 0; i < 70000; ++i) {
    const std::uintptr_t other = make(501, {});
    ASSERT_NE(other, 0u);
    ASSERT_NE(other, lasting);
    again = again || other == handle;
    give(get(100, other));
    hooks().destroy_allocator(other);
  }
  EXPECT_TRUE(again);
  give(kept);
}

TEST(Default, TheThreadsAllocatorIsAsked) {
  default_allocator = 501;
  bool taken = false;
  void* block = get(3000, 0, &taken);
  EXPECT_TRUE(taken);
  default_allocator = 1;
  get(3000, 0, &taken);
  EXPECT_FALSE(taken);
  give(block);
}

TEST(Zeroed, OverflowAndReuse) {
  void* block = &default_allocator;
  EXPECT_EQ(hooks().allocate_zeroed(~std::size_t{0} / 2, 3, 0, 501, nullptr, &block), 1);
  EXPECT_EQ(block, nullptr);
  block = &default_allocator; // libomp would read the number of the allocator as a pointer
  EXPECT_EQ(hooks().allocate_zeroed(~std::size_t{0} / 2, 3, 0, 1, nullptr, &block), 1);
  EXPECT_EQ(block, nullptr);
}

TEST(Sizes, BeyondTheAddressSpaceAreRefusedAndNotWrapped) {
  // Neither the pool's nor libomp's arithmetic may see them: both would wrap.
  const std::size_t absurd = ~std::size_t{0} - 20;
  EXPECT_EQ(get(absurd, 501), nullptr);
  EXPECT_EQ(get(absurd, make(504, {})), nullptr) << "default_mem_fb";
  EXPECT_EQ(get(absurd, make(3, {{4, 1000}, {5, 12}})), nullptr) << "pool of 1000 bytes";
  void* block = &default_allocator;
  EXPECT_EQ(hooks().allocate_zeroed(1, absurd, 0, 501, nullptr, &block), 1);
  EXPECT_EQ(block, nullptr);
}

TEST(Sizes, AlignmentsThatAreNoPowersOfTwoAreRoundedUp) {
  for (const std::size_t alignment : {48ul, 3000ul, 3ul << 20, (1ul << 40) - 1}) {
    void* block = nullptr;
    ASSERT_EQ(hooks().allocate(5 << 20, alignment, 501, nullptr, &block), 1);
    if (block == nullptr) continue;
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) & (std::bit_ceil(alignment) - 1), 0u);
    give(block);
  }
  std::string why_not;
  EXPECT_TRUE(runtime().placer()->is_sound(why_not)) << why_not;
}

TEST(Fork, TheChildCanFreeWhatAnotherThreadWasMoving) {
  void* block = get(1 << 20, 501);
  ASSERT_NE(block, nullptr);
  ExtentSpace& space = *runtime().placer()->ranges().space_of(block);
  Extent* extent = space.begin_move(block);
  ASSERT_NE(extent, nullptr);
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(hooks().release(block, 0) == 1 && get(1000, 501) != nullptr ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(space.begin_move(block), nullptr) << "the parent's move goes on";
  space.end_move(*extent);
  give(block);
}

TEST(Realloc, KeepsBytesBothWays) {
  auto* block = static_cast<unsigned char*>(get(1000, 501));
  std::memset(block, 9, 1000);
  void* moved = nullptr;
  ASSERT_EQ(hooks().reallocate(block, 2000, 1, 501, nullptr, &moved), 1); // to libomp's
  EXPECT_TRUE(is_stock(moved));
  EXPECT_EQ(static_cast<unsigned char*>(moved)[999], 9);
  void* back = nullptr;
  ASSERT_EQ(hooks().reallocate(moved, 400000, 501, 1, nullptr, &back), 1); // and back
  EXPECT_FALSE(is_stock(moved));
  EXPECT_TRUE(runtime().placer()->holds(back));
  EXPECT_EQ(static_cast<unsigned char*>(back)[999], 9);
  void* none = back;
  ASSERT_EQ(hooks().reallocate(back, 0, 501, 501, nullptr, &none), 1);
  EXPECT_EQ(none, nullptr);
  // libomp's to libomp's is libomp's business.
  void* theirs = stock_allocate(10, 16, 1);
  EXPECT_EQ(hooks().reallocate(theirs, 20, 1, 1, nullptr, &moved), 0);
  stock_free(theirs);
}

TEST(Environment, TextOfOurAllocators) {
  std::uintptr_t handle = 0;
  EXPECT_EQ(hooks().parse_allocator("omp_default_mem_alloc", &handle), 0u);
  EXPECT_EQ(hooks().parse_allocator("ompx_hbm_mem_alloc", &handle), 18u);
  EXPECT_EQ(handle, 502u);
  EXPECT_GT(hooks().parse_allocator("ompx_dram_mem_space:alignment=4096", &handle), 20u);
  EXPECT_GT(handle, 1024u);
  auto* block = get(100, handle);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % 4096, 0u);
  EXPECT_GT(hooks().parse_allocator("ompx_dram_mem_space:alignment=48", &handle), 0u);
  EXPECT_EQ(handle, 0u);
}

std::map<const void*, std::size_t> observed;
const omptier_observer k_observer = {
    OMPTIER_OBSERVER_VERSION,
    sizeof(omptier_observer),
    [](const void* b, std::size_t n, std::uintptr_t, const void*) { observed[b] = n; },
    [](const void* b) { EXPECT_EQ(observed.erase(b), 1u); },
    nullptr,
    nullptr};

TEST(Observer, HearsOfEveryBlockThatIsLiveAndToCome) {
  void* small = get(77, 501);
  void* large = get(777777, 501);
  void* fallback = get(777, make(504, {}));
  ASSERT_EQ(omptier_observe(&k_observer), 0);
  EXPECT_EQ(omptier_observe(&k_observer), -1) << "one at a time";
  EXPECT_EQ(observed[small], 77u);
  EXPECT_EQ(observed[large], 777777u);
  EXPECT_EQ(observed[fallback], 777u);
  void* later = get(88, 501);
  EXPECT_EQ(observed[later], 88u);
  void* theirs = stock_allocate(99, 16, 1);
  hooks().stock_allocated(theirs, 99, 1, nullptr);
  EXPECT_EQ(observed[theirs], 99u);
  for (void* block : {small, large, fallback, later, theirs})
    give(block);
  for (void* block : {small, large, fallback, later, theirs})
    EXPECT_EQ(observed.count(block), 0u);
  EXPECT_EQ(omptier_observe(nullptr), 0);
  omptier_observer other = k_observer;
  other.version = 9;
  EXPECT_EQ(omptier_observe(&other), -1);
}

TEST(Pool, CountsEachScopeByItself) {
  Pool pool;
  EXPECT_FALSE(pool.charge(0, 11, 10));
  EXPECT_TRUE(pool.charge(0, 10, 10));
  EXPECT_TRUE(pool.charge(64, 10, 10));
  EXPECT_FALSE(pool.charge(64, 1, 10));
  EXPECT_TRUE(pool.charge(128, 4, 10));
  EXPECT_EQ(pool.used(0), 10u);
  EXPECT_EQ(pool.used(64), 10u);
  pool.give_back(128, 4);
  pool.give_back(128, 3); // freed by another than allocated it
  EXPECT_EQ(pool.used(0) + pool.used(64), 17u);
  for (std::uintptr_t scope = 1; scope <= 1000; ++scope) // more than there are counters
    pool.charge(scope * 64, 1, 1000);
  pool.reuse_page(pool.take_page());
  EXPECT_EQ(pool.used(64), 0u);
}

// Locking refused: the fallback, and nothing stays locked or charged.
TEST(Pinned, RefusedLocksFollowTheFallback) {
  const std::uintptr_t pinned = make(501, {{7, 1}, {5, 12}});
  const auto dram = MemoryKind::dram;
  void* block = get(500000, pinned);
  ASSERT_NE(block, nullptr);
  give(block);
  const OsCalls* real = &os();
  static int locks = 0, unlocks = 0;
  OsCalls faulty = *real;
  faulty.lock = [](void*, std::size_t) { return ++locks, errno = ENOMEM, -1; };
  faulty.unlock = [](void*, std::size_t) { return ++unlocks, 0; };
  const std::uint64_t used = runtime().placer()->ledger().used(dram);
  const std::uint64_t cached = runtime().placer()->cached_bytes(dram);
  replace_os_calls(&faulty);
  EXPECT_EQ(get(500000, pinned), nullptr);
  EXPECT_EQ(get(100, pinned), nullptr);
  void* fallback = get(100, make(501, {{7, 1}}));
  replace_os_calls(real);
  EXPECT_GT(locks, 2);
  EXPECT_EQ(locks, unlocks) << "a part may have been locked";
  EXPECT_TRUE(is_stock(fallback));
  EXPECT_LE(runtime().placer()->ledger().used(dram), used);
  EXPECT_LE(runtime().placer()->cached_bytes(dram), cached);
  give(fallback);
  ASSERT_NE(block = get(500000, pinned), nullptr) << "and again when it is allowed";
  give(block);
}

// Before main one thread may be at the plan's statics while another's first allocation makes the
// placer. In a process of its own: variables are read once.
TEST(PlanDeathTest, StaysWhereItWasRead) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  ::setenv("OMPTIER_PLAN", OMPTIER_FIXTURES "/plans/version-1.json", 1);
  EXPECT_EXIT(
      {
        const Plan* plan = runtime().plan_text();
        if (plan == nullptr || plan->entries.size() != 1) ::_exit(2);
        if (runtime().placer() == nullptr || runtime().plan() == nullptr) ::_exit(3);
        ::_exit(plan->entries.size() == 1 && runtime().plan_text() == plan ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
  ::unsetenv("OMPTIER_PLAN");
}

TEST(Z_End, FreesAfterTheRuntimesEnd) {
  void* block = get(1 << 20, 501);
  hooks().runtime_end();
  EXPECT_EQ(hooks().release(block, 0), 1);
  std::string why_not;
  EXPECT_TRUE(runtime().placer()->is_sound(why_not)) << why_not;
}

} // namespace
