// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One running virtual machine: the QEMU process and the three sockets to it. Everything between the
// launcher and QEMU goes over inherited sockets and anonymous files, so there is nothing on disk to
// clean up, and several machines never meet. QEMU dies with the launcher, whatever ends it.
//
// Single-threaded: every member waits in one poll loop, which also watches for signals to the
// launcher, the end of QEMU, and the time limit; each of these leaves it as a Failure.
#pragma once

#include "machine/failure.hpp"
#include "machine/guest/protocol.h"

#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace omptier {

// Owns a file descriptor.
class File {
public:
  explicit File(int descriptor = -1) : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(other.release()) {}
  File& operator=(File&& other) noexcept;
  ~File() { reset(); }
  int get() const { return descriptor_; }
  int release();
  void reset();
  explicit operator bool() const { return descriptor_ >= 0; }

private:
  int descriptor_;
};

// A connected pair of sockets; the far end is given to QEMU and closed here after the fork.
struct Channel {
  File near, far;
  static Channel make();
};

// Catches SIGINT, SIGTERM and SIGHUP of the launcher for its life. Made before any machine.
class SignalWatch {
public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  int descriptor() const { return file_.get(); }

private:
  File file_;
};

struct Channels {
  Channel control = Channel::make();
  Channel console = Channel::make();
  Channel monitor = Channel::make();
};

struct Frame {
  omptier_frame type;
  std::string payload;
};

struct RunResult {
  int status = 0;
  int signal = 0;
  std::vector<std::string> notes; // "key=value" of the guest, see explain() in sandbox.cpp
};

class Guest {
public:
  using Clock = std::chrono::steady_clock;

  // Starts QEMU. inherited: file descriptors it gets besides the channels'. echo_console: the
  // kernel's messages also go to stderr.
  Guest(const std::vector<std::string>& command, Channels channels,
        const std::vector<int>& inherited, const SignalWatch& signals, bool echo_console);
  // Ends QEMU and waits for it.
  ~Guest();
  Guest(const Guest&) = delete;

  // Members below throw the deadline's Failure when it passes; none: they wait for ever.
  struct Deadline {
    Clock::time_point when;
    Failure failure;
  };
  void set_deadline(std::optional<Deadline> deadline) { deadline_ = std::move(deadline); }

  // Waits until the guest has booted.
  void wait_until_ready();

  // One command of QEMU's monitor and its answer. Throws Failure(125) on an error.
  nlohmann::json monitor(const std::string& command, const nlohmann::json& arguments = nullptr);
  // Gives QEMU an open file under a name.
  void pass_file(const std::string& name, int descriptor);

  // Where the program's output goes as it comes: 1 is its stdout, 2 its stderr.
  using Output = std::function<void(int standard, const std::string& bytes)>;

  // Runs the program described by the strings of a RUN frame. With forward_input, our stdin is the
  // program's; otherwise it has none.
  RunResult run(const std::string& request, bool forward_input, const Output& output = deliver);

  // Output to stdout and stderr of the launcher. A reader that has gone away ends the run, as it
  // would end the program itself: Failure(128 + SIGPIPE) with no text.
  static void deliver(int standard, const std::string& bytes);

  // Lets QEMU end by itself, so that the time model writes what it has to. Kills it otherwise.
  void quit();

  const std::string& qemu_messages() const { return messages_; }

private:
  void start(const std::vector<std::string>& command, const Channels& channels,
             const std::vector<int>& inherited, int messages);
  void pump(); // waits for something to happen and takes it in
  void pump_input();
  bool take(int descriptor, std::string& into);
  void take_signal();
  std::optional<Frame> next_frame();
  std::optional<nlohmann::json> next_answer();
  void send_frame(omptier_frame type, const std::string& payload);
  void send(int descriptor, const std::string& bytes);
  [[noreturn]] void report_end();
  void stop();

  const SignalWatch& signals_;
  bool echo_console_;
  pid_t process_ = -1;
  File control_, console_, monitor_, messages_file_;
  std::string control_bytes_, console_bytes_, monitor_bytes_, messages_;
  bool monitor_greeted_ = false;
  bool gone_ = false;
  std::optional<Deadline> deadline_;
  bool forward_input_ = false;
  std::size_t input_window_ = OMPTIER_INPUT_WINDOW;
};

} // namespace omptier
