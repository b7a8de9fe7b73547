// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See objects_calls.hpp. Every function does something after its call, so that none is a tail call.
#include "objects_calls.hpp"

#include "objects/stack.hpp"

#include <alloca.h>
#include <chrono>
#include <cstring>
#include <search.h>
#include <unwind.h>

#ifdef __clang__ // does not clone
#define APART __attribute__((noinline, visibility("default")))
#else
#define APART __attribute__((noinline, noclone, visibility("default")))
#endif

namespace calls {
namespace {

thread_local volatile unsigned g_effect; // some tests call from several threads

_Unwind_Reason_Code count_frame(_Unwind_Context* context, void* count) {
  g_effect = g_effect + static_cast<unsigned>(_Unwind_GetIP(context));
  return ++*static_cast<unsigned*>(count) < 11 ? _URC_NO_REASON : _URC_NORMAL_STOP;
}

Stack* g_from_callback;

} // namespace

APART Stack routine() {
  omptier::ReturnAddress frames[omptier::k_max_frames];
  const unsigned count =
      omptier::capture_stack(__builtin_return_address(0), frames, omptier::k_max_frames);
  return Stack(frames, frames + count);
}

APART Stack wrapper() {
  Stack stack = routine();
  g_effect = g_effect + 1;
  return stack;
}

APART void wrapper_twice(Stack& first, Stack& second) {
  first = wrapper();
  second = wrapper();
  g_effect = g_effect + 1;
}

APART Stack recursive(unsigned depth) {
  Stack stack = depth == 0 ? wrapper() : recursive(depth - 1);
  g_effect = g_effect + depth;
  return stack;
}

APART Stack with_dynamic_frame(unsigned bytes) {
  void* room = alloca(bytes);
  std::memset(room, 1, bytes);
  Stack stack = wrapper();
  g_effect = g_effect + *static_cast<volatile unsigned char*>(room);
  return stack;
}

APART Stack with_aligned_frame() {
  alignas(64) volatile unsigned char room[64];
  room[0] = 1;
  Stack stack = wrapper();
  g_effect = g_effect + room[0];
  return stack;
}

APART int compare_and_capture(const void*, const void*) {
  *g_from_callback = wrapper();
  return 0;
}

APART Stack through_system_library() {
  Stack stack;
  g_from_callback = &stack;
  // Not qsort: a sanitizer's own lies in the program.
  const int two[2] = {2, 1};
  std::size_t count = 2;
  const void* found = ::lfind(two, two, &count, sizeof *two, compare_and_capture);
  g_effect = g_effect + (found == two ? 1u : 2u);
  return stack;
}

APART int compare_and_capture_one(const void*, const void*) {
  omptier::ReturnAddress frame = 0; // asked by lfind itself, as a library's own allocation is
  const unsigned count = omptier::capture_stack(__builtin_return_address(0), &frame, 1);
  g_from_callback->assign(count, frame);
  return 0;
}

APART Stack one_frame_from_system_library() {
  Stack stack;
  g_from_callback = &stack;
  const int two[2] = {2, 1};
  std::size_t count = 2;
  const void* found = ::lfind(two, two, &count, sizeof *two, compare_and_capture_one);
  g_effect = g_effect + (found == two ? 1u : 2u);
  return stack;
}

APART Stack fourth() {
  Stack stack = routine();
  g_effect = g_effect + 4;
  return stack;
}
APART Stack third() {
  Stack stack = fourth();
  g_effect = g_effect + 3;
  return stack;
}
APART Stack second() {
  Stack stack = third();
  g_effect = g_effect + 2;
  return stack;
}
APART Stack nested_four() {
  Stack stack = second();
  g_effect = g_effect + 1;
  return stack;
}

APART void capture_only() {
  omptier::ReturnAddress frames[8];
  g_effect = g_effect + omptier::capture_stack(__builtin_return_address(0), frames, 8);
}

APART double capture_cost(unsigned depth, unsigned repeats) {
  double cost = 0;
  if (depth > 0) {
    cost = capture_cost(depth - 1, repeats);
  } else {
    const auto start = std::chrono::steady_clock::now();
    for (unsigned i = 0; i < repeats; ++i)
      capture_only();
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    cost = spent.count() / repeats;
  }
  g_effect = g_effect + depth;
  return cost;
}

APART double backtrace_cost(unsigned depth, unsigned repeats) {
  double cost = 0;
  if (depth > 0) {
    cost = backtrace_cost(depth - 1, repeats);
  } else {
    const auto start = std::chrono::steady_clock::now();
    for (unsigned i = 0; i < repeats; ++i) {
      unsigned count = 0;
      _Unwind_Backtrace(count_frame, &count);
    }
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - start;
    cost = spent.count() / repeats;
  }
  g_effect = g_effect + depth;
  return cost;
}

} // namespace calls
