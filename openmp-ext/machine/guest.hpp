// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One running virtual machine: the QEMU process and the three sockets to it. Everything between the
// launcher and QEMU goes over inherited sockets and anonymous files, so there is nothing on disk to
// clean up, and several machines never meet. QEMU dies with the launcher, whatever ends it.
//
// Single-threaded: every member waits in one loop, which also notices the end of QEMU and whatever
// the Watch notices; each of these leaves it as a Failure.
#pragma once

#include "machine/guest/protocol.h"
#include "machine/watch.hpp"

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace omptier {

// A connected pair of sockets; the far end is given to QEMU and closed here after the fork.
struct Channel {
  File near, far;
  static Channel make();
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
  std::vector<std::string> notes; // "key=value" of the guest, see explain() in guest_run.cpp
};

class Guest {
public:
  // Starts QEMU. inherited: file descriptors it gets besides the channels'. echo_console: the
  // kernel's messages also go to stderr.
  Guest(const std::vector<std::string>& command, Channels channels,
        const std::vector<int>& inherited, Watch& watch, bool echo_console);
  // Ends QEMU and waits for it.
  ~Guest();
  Guest(const Guest&) = delete;

  // Waits until the guest has booted.
  void wait_until_ready();

  // One command of QEMU's monitor and its answer. Throws Failure(125) on an error.
  nlohmann::json monitor(const std::string& command, const nlohmann::json& arguments = nullptr);
  // Gives QEMU an open file under a name.
  void pass_file(const std::string& name, int descriptor);

  // Where the program's output goes as it comes: 1 is its stdout, 2 its stderr.
  using Output = std::function<void(int standard, const std::string& bytes)>;

  // Runs the program described by the strings of a RUN frame. With forward_input, our stdin is the
  // program's; otherwise it has none. Without output, its output is ours.
  RunResult run(const std::string& request, bool forward_input, const Output& output = nullptr);

  // Lets QEMU end by itself, so that the time model writes what it has to. Kills it otherwise.
  void quit();

  const std::string& qemu_messages() const { return messages_; }

private:
  void start(const std::vector<std::string>& command, const Channels& channels,
             const std::vector<int>& inherited, int messages);
  void pump(); // waits for something to happen and takes it in
  void pump_input();
  bool take(int descriptor, std::string& into);
  std::optional<Frame> next_frame();
  std::optional<nlohmann::json> next_answer();
  void send_frame(omptier_frame type, const std::string& payload);
  void send(int descriptor, const std::string& bytes);
  [[noreturn]] void report_end();
  void stop();

  Watch& watch_;
  bool echo_console_;
  pid_t process_ = -1;
  File control_, console_, monitor_, messages_file_;
  std::string control_bytes_, console_bytes_, monitor_bytes_, messages_;
  bool monitor_greeted_ = false;
  bool gone_ = false;
  bool forward_input_ = false;
  std::size_t input_window_ = OMPTIER_INPUT_WINDOW;
};

} // namespace omptier
