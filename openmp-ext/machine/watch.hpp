// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Waiting that ends early for a reason: a signal to the launcher, or a time limit. Everything the
// launcher waits for goes through one Watch, so nothing it does can hang beyond its limit or be
// deaf to Ctrl-C.
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
  Failure failure; // thrown when it passes
};

// Holds SIGINT, SIGTERM and SIGHUP back for its life and ignores SIGPIPE; one at a time. Members
// throw Failure(128 + signal) for a signal, and the deadline's failure.
class Watch {
public:
  Watch();
  ~Watch();
  Watch(const Watch&) = delete;

  void set_deadline(std::optional<Deadline> deadline) { deadline_ = std::move(deadline); }

  // As poll(2), for at most limit milliseconds (-1: none). Negative descriptors are left out.
  void wait(std::vector<pollfd>& files, int limit = -1);
  void pause(int milliseconds);

  // Writes all of it to stdout (1) or stderr (2) of the launcher. A reader that has gone away is
  // Failure(128 + SIGPIPE) with no text, as it would end the program itself.
  void deliver(int standard, const std::string& bytes);

private:
  [[noreturn]] void report_signal();

  File signals_;
  std::optional<Deadline> deadline_;
};

} // namespace omptier
