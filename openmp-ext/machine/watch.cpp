// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "machine/watch.hpp"

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstring>
#include <sys/signalfd.h>
#include <unistd.h>

namespace omptier {
namespace {

sigset_t watched_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int number : {SIGINT, SIGTERM, SIGHUP})
    sigaddset(&set, number);
  return set;
}

} // namespace

Failure system_failure(const std::string& what, int error) {
  std::string line = what + ": " + std::strerror(error);
  if (error == ENOSPC || error == EDQUOT)
    line += "; free some space, or set OMPTIER_CACHE to a folder that has some";
  return Failure(k_status_our_failure, line);
}

Watch::Watch() {
  sigset_t set = watched_signals();
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  std::signal(SIGPIPE, SIG_IGN);
  signals_ = File(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!signals_) throw system_failure("cannot watch for signals", errno);
}

Watch::~Watch() {
  sigset_t set = watched_signals();
  ::sigprocmask(SIG_UNBLOCK, &set, nullptr);
}

void Watch::report_signal() {
  signalfd_siginfo information = {};
  if (::read(signals_.get(), &information, sizeof information) != sizeof information)
    throw system_failure("cannot read a signal", errno);
  const int number = static_cast<int>(information.ssi_signo);
  const char* name = number == SIGINT ? "Ctrl-C" : number == SIGTERM ? "SIGTERM" : "SIGHUP";
  throw Failure(128 + number, std::string("stopped by ") + name + "; the virtual machine is gone");
}

void Watch::wait(std::vector<pollfd>& files, int limit) {
  using std::chrono::milliseconds;
  if (deadline_) {
    const auto left =
        std::chrono::ceil<milliseconds>(deadline_->when - std::chrono::steady_clock::now());
    if (left.count() <= 0) throw deadline_->failure;
    const int most = static_cast<int>(std::min<long long>(left.count(), INT_MAX));
    limit = limit < 0 ? most : std::min(limit, most);
  }
  files.push_back({signals_.get(), POLLIN, 0});
  const int ready = ::poll(files.data(), files.size(), limit);
  const short signalled = files.back().revents;
  files.pop_back();
  if (ready > 0 && signalled) report_signal();
  if (ready < 0)
    for (pollfd& file : files)
      file.revents = 0;
}

void Watch::pause(int milliseconds) {
  std::vector<pollfd> nothing;
  wait(nothing, milliseconds);
}

void Watch::deliver(int standard, const std::string& bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    std::vector<pollfd> file = {{standard, POLLOUT, 0}};
    wait(file);
    if (!file[0].revents) continue;
    // At most as much as a pipe that polls as writable takes without blocking.
    const std::size_t part = std::min<std::size_t>(bytes.size() - done, PIPE_BUF);
    const ssize_t n = ::write(standard, bytes.data() + done, part);
    if (n > 0)
      done += static_cast<std::size_t>(n);
    else if (errno == EPIPE)
      throw Failure(128 + SIGPIPE, "");
    else if (errno != EINTR && errno != EAGAIN)
      throw system_failure("cannot write the program's output", errno);
  }
}

} // namespace omptier
