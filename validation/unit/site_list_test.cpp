// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OMPTIER_SITES when a program has more call stacks than the list holds.
#include "allocators/site_list.hpp"

#include "stderr_of.hpp"

#include <gtest/gtest.h>

using namespace omptier;

namespace {

TEST(SiteList, WhatDoesNotFitIsSaidOnce) {
  static SiteList list;
  const auto add = [](std::uint32_t number) { // return addresses on no stack: one frame each
    const std::uintptr_t block = 4096 + 64 * std::uintptr_t{number};
    list.add(reinterpret_cast<const void*>(block), 100,
             reinterpret_cast<const void*>(std::uintptr_t{number} + 1));
  };
  EXPECT_EQ(stderr_of([&] {
              for (std::uint32_t i = 0; i < SiteList::k_most_sites; ++i)
                add(i);
            }),
            "");
  EXPECT_EQ(stderr_of([&] {
              for (std::uint32_t i = 0; i < 5; ++i)
                add(SiteList::k_most_sites + i);
              add(0); // known: still counted
            }),
            "OMP: Warning #5019: OMPTIER_SITES: only the first 65536 call stacks are listed; a "
            "smaller OMPTIER_DEPTH makes fewer of them.\n");
}

} // namespace
