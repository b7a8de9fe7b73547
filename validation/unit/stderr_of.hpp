// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a piece of code writes to stderr; at most what a pipe holds (64 KiB).
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <unistd.h>

template <typename Say> std::string stderr_of(Say say) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const int before = ::dup(STDERR_FILENO);
  ::dup2(ends[1], STDERR_FILENO);
  say();
  ::dup2(before, STDERR_FILENO);
  ::close(before);
  ::close(ends[1]);
  std::string text;
  char piece[4096];
  for (ssize_t got; (got = ::read(ends[0], piece, sizeof piece)) > 0;)
    text.append(piece, static_cast<std::size_t>(got));
  ::close(ends[0]);
  return text;
}
