// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A loop in this program's code, emulated from registers that the test makes up.
#pragma once

#include "code_places.hpp"
#include "emulation/loop_accesses.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

struct EmulatedLoop : testing::Test {
  omptier::FunctionCache functions;
  omptier::LoopAccesses loops{functions};
  omptier::RegisterSample sample;
  std::vector<omptier::AccessPattern> found;

  EmulatedLoop() { functions.refresh(); }
  void emulate(const void* pc, double weight = 1) {
    sample.pc = at(pc);
    const auto all = loops.of(sample, weight);
    found.assign(all.begin(), all.end());
  }
  // Of loops over an index in rsi, from the 100th on, with objects in rdi and r10 and a value in
  // r8.
  void set_registers(const void* rsi, std::size_t count, const void* rdi, const void* r10) {
    using namespace omptier;
    sample.general[k_rsi] = at(rsi);
    sample.general[k_rdi] = at(rdi);
    sample.general[10] = at(r10);
    sample.general[k_rcx] = 100;
    sample.general[k_rdx] = count;
    sample.general[8] = 5;
    sample.general[k_rsp] = at(&sample); // readable
  }
  // The first of this kind in the object; null = none.
  template <typename T>
  const omptier::AccessPattern* of(const std::vector<T>& object, omptier::AccessKind kind) {
    const auto one = std::ranges::find_if(found, [&](const omptier::AccessPattern& pattern) {
      return pattern.kind == kind &&
             pattern.address - at(object.data()) < object.size() * sizeof(T);
    });
    return one != found.end() ? &*one : nullptr;
  }
};
