// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waiting that a signal to the launcher or a time limit ends. The launcher waits for everything
// through one Watch, so it neither hangs beyond its limit nor misses Ctrl-C.
#pragma once

#include "base/file.hpp"
#include "machine/failure.hpp"

#include <chrono>
#include <optional>
#include <poll.h>
#include <string>
#include <vector>

namespace omptier {

struct Deadline {
  std::chrono::steady_clock::time_point when;
  Failure failure; // thrown at that time
};

// Blocks SIGINT, SIGTERM and SIGHUP while it exists, and ignores SIGPIPE; one at a time. Members
// throw Failure(128 + signal) for a signal, and the deadline's failure.
class Watch {
public:
  Watch();
  ~Watch();
  Watch(const Watch&) = delete;

  void set_deadline(std::optional<Deadline> deadline) { deadline_ = std::move(deadline); }

  // Like poll(2), for at most `limit` milliseconds (-1: none). Negative descriptors are ignored.
  void wait(std::vector<pollfd>& files, int limit = -1);
  void pause(int milliseconds);

  // Writes all bytes to the launcher's stdout (1) or stderr (2). If the reader has gone, throws
  // Failure(128 + SIGPIPE) without text, since SIGPIPE would end the program itself.
  void deliver(int standard, const std::string& bytes);

private:
  [[noreturn]] void report_signal();

  File signals_;
  std::optional<Deadline> deadline_;
};

} // namespace omptier
