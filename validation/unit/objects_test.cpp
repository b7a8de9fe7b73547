// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Call stacks against known ones, module identity, and recognition of captured stacks.
#include "objects_calls.hpp"

#include "objects/frame_matcher.hpp"
#include "objects/modules.hpp"
#include "objects/stack.hpp"
#include "objects/stack_table.hpp"
#include "objects/unwind_rule.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <gnu/libc-version.h>
#include <gtest/gtest.h>
#include <thread>
#include <unwind.h>

using namespace omptier;
using calls::Stack;

namespace {

// Function (nearest exported symbol) that holds the address.
std::string function_at(ReturnAddress address) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(address - 1), &info) == 0 || info.dli_sname == nullptr)
    return "";
  return info.dli_sname;
}

unsigned frames_in(const Stack& stack, const char* function) {
  return static_cast<unsigned>(std::count_if(stack.begin(), stack.end(), [&](ReturnAddress a) {
    return function_at(a).find(function) != std::string::npos;
  }));
}

std::vector<Frame> as_frames(const Stack& stack) {
  std::vector<Frame> frames;
  for (const ReturnAddress address : stack) {
    const LoadedModule* module = nullptr;
    std::uint64_t offset = 0;
    if (identify(address, module, offset))
      frames.push_back({module->number, offset});
    else
      ADD_FAILURE() << "a frame in no module: " << std::hex << address;
  }
  return frames;
}

std::vector<std::string> identities() {
  std::vector<std::string> all;
  for (unsigned i = 0; i < module_count(); ++i)
    all.emplace_back(identity_of(module_at(i)));
  return all;
}

} // namespace

TEST(Stack, StartsInTheProgramAndKeepsOrder) {
  const Stack stack = calls::nested_four();
  ASSERT_GE(stack.size(), 4u);
  EXPECT_EQ(frames_in(stack, "routine"), 0u);
  EXPECT_NE(function_at(stack[0]).find("fourth"), std::string::npos) << function_at(stack[0]);
  EXPECT_NE(function_at(stack[1]).find("third"), std::string::npos);
  EXPECT_NE(function_at(stack[2]).find("second"), std::string::npos);
  EXPECT_NE(function_at(stack[3]).find("nested_four"), std::string::npos);
}

TEST(Stack, TwoCallsOfOneWrapperAreTwoStacks) {
  for (int round = 0; round < 3; ++round) { // cold, then with all rules known
    Stack first, second;
    calls::wrapper_twice(first, second);
    ASSERT_GE(first.size(), 2u);
    EXPECT_EQ(first[0], second[0]); // in the wrapper
    EXPECT_NE(first[1], second[1]); // in its caller
    EXPECT_TRUE(std::equal(first.begin() + 2, first.end(), second.begin() + 2, second.end()));
  }
}

TEST(Stack, RecursionIsSeenFrameByFrame) {
  for (unsigned depth : {0u, 1u, 5u, 20u})
    EXPECT_EQ(frames_in(calls::recursive(depth), "recursive"), depth + 1) << depth;
}

TEST(Stack, DynamicFramesOfDifferentSizesAreOneSite) {
  Stack small, large;
  unsigned most = 5000;
  asm volatile("" : "+r"(most)); // a loop, not two calls
  for (unsigned bytes = 16; bytes <= most; bytes += 4984)
    (bytes == 16 ? small : large) = calls::with_dynamic_frame(bytes);
  EXPECT_EQ(small, large);
  EXPECT_EQ(frames_in(small, "with_dynamic_frame"), 1u);
  EXPECT_EQ(frames_in(small, "StartsIn"), 0u);
  EXPECT_GE(small.size(), 4u);
}

TEST(Stack, RealignedFramesAreLeft) {
  const Stack stack = calls::with_aligned_frame();
  EXPECT_EQ(frames_in(stack, "with_aligned_frame"), 1u);
  EXPECT_EQ(frames_in(stack, "main"), 1u) << "the walk did not reach main";
}

TEST(Stack, SystemFramesAreDropped) {
  const Stack stack = calls::through_system_library();
  EXPECT_EQ(frames_in(stack, "lfind"), 0u);
  EXPECT_EQ(frames_in(stack, "compare_and_capture"), 1u);
  EXPECT_EQ(frames_in(stack, "through_system_library"), 1u);
  for (const Frame& frame : as_frames(stack))
    EXPECT_FALSE(module_at(frame.module).system);
}

TEST(Stack, OneFrameOfACallFromASystemLibraryIsTheProgramsOwn) {
  const Stack stack = calls::one_frame_from_system_library();
  ASSERT_EQ(stack.size(), 1u);
  EXPECT_EQ(frames_in(stack, "one_frame_from_system_library"), 1u) << function_at(stack[0]);
}

TEST(Stack, AgreesWithTheRuntimesUnwinder) {
  struct Walk {
    Stack frames;
    static _Unwind_Reason_Code visit(_Unwind_Context* context, void* walk) {
      const auto address = static_cast<ReturnAddress>(_Unwind_GetIP(context));
      const LoadedModule* module = module_of(address);
      if (module != nullptr && !module->system) static_cast<Walk*>(walk)->frames.push_back(address);
      return _URC_NO_REASON;
    }
  } walk;
  const auto both = [&](Stack& ours) __attribute__((noinline)) {
    ours = calls::nested_four();
    _Unwind_Backtrace(Walk::visit, &walk);
  };
  Stack ours;
  both(ours);
  // Everything from the common caller's caller outwards is the same.
  ASSERT_GE(ours.size(), 6u);
  const auto at = std::find(walk.frames.begin(), walk.frames.end(), ours[5]);
  ASSERT_NE(at, walk.frames.end());
  EXPECT_TRUE(std::equal(ours.begin() + 5, ours.end(), at, walk.frames.end()));
}

TEST(Stack, LimitIsKeptAndUnknownCallerIsKeptAlone) {
  ReturnAddress frames[4] = {};
  int here = 0;
  EXPECT_EQ(capture_stack(&here, frames, 4), 1u);
  EXPECT_EQ(frames[0], reinterpret_cast<ReturnAddress>(&here));
  EXPECT_EQ(capture_stack(__builtin_return_address(0), frames, 2), 2u);
  EXPECT_EQ(frames[2], 0u);
}

TEST(Stack, ThreadsSeeTheirOwnStacks) {
  std::vector<Stack> stacks(4);
  std::vector<std::thread> threads;
  for (Stack& stack : stacks)
    threads.emplace_back([&stack] {
      for (int i = 0; i < 2000; ++i)
        stack = calls::recursive(3);
    });
  for (std::thread& thread : threads)
    thread.join();
  for (const Stack& stack : stacks)
    EXPECT_EQ(stack, stacks[0]);
}

TEST(UnwindRule, DamagedTablesNeverLeaveTheModule) {
  const LoadedModule& program = module_at(0);
  ASSERT_NE(program.unwind_table, nullptr);
  const auto header = reinterpret_cast<std::uintptr_t>(program.unwind_table);
  // A copy of the tables with every byte of its first part damaged in turn.
  const std::size_t bytes = std::min<std::size_t>(program.end - header, 16384);
  std::vector<unsigned char> copy(program.unwind_table, program.unwind_table + bytes);
  const auto base = reinterpret_cast<std::uintptr_t>(copy.data());
  for (std::size_t i = 0; i < bytes; ++i) {
    const unsigned char kept = copy[i];
    for (const unsigned char damage : {0x00, 0xff, 0x80, kept ^ 0x11}) {
      copy[i] = damage;
      for (std::uintptr_t pc = base; pc < base + bytes; pc += bytes / 3)
        find_unwind_rule(base, {base, base + bytes}, pc);
    }
    copy[i] = kept;
  }
}

TEST(Modules, ProgramHasItsBuildIdAndLibrariesAreKnown) {
  refresh_modules();
  ASSERT_GE(module_count(), 2u);
  EXPECT_STREQ(module_at(0).name, "unit_objects");
  EXPECT_FALSE(module_at(0).system);
  const LoadedModule* libc = module_of(reinterpret_cast<std::uintptr_t>(&gnu_get_libc_version));
  ASSERT_NE(libc, nullptr);
  EXPECT_STREQ(libc->name, "libc.so.6");
  EXPECT_TRUE(libc->system);
  EXPECT_EQ(std::string(identity_of(*libc)).rfind("build-id:", 0), 0u);
  int on_stack = 0;
  EXPECT_EQ(module_of(reinterpret_cast<std::uintptr_t>(&on_stack)), nullptr);
}

TEST(Modules, UnloadedModulesAreForgottenAndGenerationGrows) {
  refresh_modules();
  const std::uint32_t before = module_generation();
  void* library = dlopen("libanl.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
  ASSERT_NE(library, nullptr);
  refresh_modules();
  const std::uint32_t loaded = module_generation();
  EXPECT_NE(before, loaded);
  const LoadedModule* last = &module_at(module_count() - 1);
  const std::uintptr_t inside = last->begin + 16;
  dlclose(library);
  EXPECT_EQ(module_of(inside), nullptr);
  EXPECT_NE(module_generation(), loaded);
}

// A stack keeps its number while libraries come and go, its own ones too.
TEST(StackTable, NumbersOutliveModules) {
  StackTable table;
  const auto here = reinterpret_cast<ReturnAddress>(&as_frames);
  bool fresh = false;
  std::uint32_t own = StackTable::k_full;
  for (unsigned i = 0; i < 20; ++i) {
    void* library = dlopen("libanl.so.1", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) library = dlopen("libdw.so.1", RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library, nullptr);
    refresh_modules();
    const LoadedModule& last = module_at(module_count() - 1);
    identity_of(last);
    const ReturnAddress stacks[2][2] = {{here, here + 1}, {last.begin + 16, here}};
    own = table.number_of(stacks[0], 2, fresh);
    EXPECT_EQ(own, 0u);
    EXPECT_EQ(fresh, i == 0);
    table.number_of(stacks[1], 2, fresh);
    EXPECT_EQ(table.known(stacks[0], 2), 0u);
    dlclose(library);
    refresh_modules();
    EXPECT_EQ(table.known(stacks[1], 2), StackTable::k_full);
  }
  EXPECT_LE(table.count(), 4u); // where the library lay in the same place it is the same stack
}

TEST(Modules, HashOfSegmentsTellsContentAndIsStepwise) {
  std::vector<unsigned char> bytes(1000, 7);
  const std::uint64_t first = hash_bytes(0, bytes.data(), bytes.size());
  bytes[999] ^= 1;
  EXPECT_NE(hash_bytes(0, bytes.data(), bytes.size()), first);
  bytes[999] ^= 1;
  EXPECT_EQ(hash_bytes(0, bytes.data(), bytes.size()), first);
}

TEST(Modules, NamesOfRuntimesAndSystemPaths) {
  for (const char* name : {"libomp.so.5", "libomp.so", "libiomp5.so", "libgomp.so.1",
                           "libomptier.so", "libomptier_ompt.so"})
    EXPECT_TRUE(is_runtime_name(name)) << name;
  for (const char* name : {"libompapp.so", "libc.so.6", "app"})
    EXPECT_FALSE(is_runtime_name(name)) << name;
  EXPECT_TRUE(is_system_path("/usr/lib/x86_64-linux-gnu/libm.so.6"));
  EXPECT_FALSE(is_system_path("/home/user/lib/libmine.so"));
}

TEST(FrameMatcher, FindsTheRightListAndTheLongest) {
  Stack first, second;
  calls::wrapper_twice(first, second);
  const Stack other = calls::nested_four();
  const std::vector<Frame> a = as_frames(first), b = as_frames(second), c = as_frames(other);
  std::vector<std::vector<Frame>> lists = {a, b, c, {c.begin(), c.begin() + 2}, a};
  const std::vector<std::string> known = identities();
  const FrameMatcher matcher(known, lists);
  EXPECT_EQ(matcher.distinct_lists(), 4u);
  EXPECT_EQ(matcher.list_of(4), matcher.list_of(0));
  EXPECT_EQ(matcher.lists_without_module(), 0u);
  const auto match = [&](const Stack& stack) {
    return matcher.match(stack.data(), static_cast<unsigned>(stack.size()));
  };
  EXPECT_EQ(match(first), matcher.list_of(0));
  EXPECT_EQ(match(second), matcher.list_of(1));
  EXPECT_EQ(match(other), matcher.list_of(2)); // not its two-frame beginning
  Stack changed = other;
  changed.back() += 1;
  EXPECT_EQ(match(changed), matcher.list_of(3)); // the beginning still matches
  changed[0] += 1;
  EXPECT_EQ(match(changed), FrameMatcher::k_none);
  EXPECT_EQ(matcher.match(nullptr, 0), FrameMatcher::k_none);
}

TEST(FrameMatcher, ListsOfOtherBuildsAreCountedAndLeftAlone) {
  const Stack stack = calls::wrapper();
  std::vector<std::string> strange(module_count(), "build-id:00");
  const FrameMatcher matcher(strange, std::vector<std::vector<Frame>>{as_frames(stack)});
  EXPECT_EQ(matcher.lists_without_module(), 1u);
  EXPECT_EQ(matcher.match(stack.data(), static_cast<unsigned>(stack.size())), FrameMatcher::k_none);
}

TEST(FrameMatcher, ManyListsAreAllFound) {
  const Stack stack = calls::wrapper();
  const std::vector<Frame> base = as_frames(stack);
  std::vector<std::vector<Frame>> lists;
  for (std::uint64_t i = 0; i < 5000; ++i) {
    std::vector<Frame> list = base;
    list[0].offset += i;
    lists.push_back(list);
  }
  const FrameMatcher matcher(identities(), lists);
  for (std::uint32_t i = 0; i < 5000; ++i) {
    Stack wanted = stack;
    wanted[0] += i;
    ASSERT_EQ(matcher.match(wanted.data(), static_cast<unsigned>(wanted.size())), i);
  }
}

TEST(Cost, CaptureIsCheaperThanTheRuntimesUnwinder) {
  calls::capture_cost(10, 1000);
  const double ours = calls::capture_cost(10, 20000);
  const double theirs = calls::backtrace_cost(10, 2000);
  RecordProperty("capture_ns", std::to_string(ours));
  std::printf("capture of 8 frames %.0f ns, _Unwind_Backtrace of 11 frames %.0f ns\n", ours,
              theirs);
  EXPECT_LT(ours, theirs);
}
