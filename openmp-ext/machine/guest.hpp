// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One running virtual machine: the QEMU process and three sockets to it. Launcher and QEMU exchange
// everything over inherited sockets and anonymous files, so no files need cleaning up, and several
// machines do not interfere. QEMU ends whenever the launcher does.
//
// Single-threaded. Every member waits in one loop, which also detects the end of QEMU and the
// events of the Watch (signals, time limit); each of these is thrown as a Failure.
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

// A connected pair of sockets; QEMU gets the far end, which is closed here after the fork.
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
  std::vector<std::string> notes; // "key=value"; explain() in guest_run.cpp reads them
};

class Guest {
public:
  // inherited: further descriptors for QEMU. echo_console: copies the kernel's messages to stderr.
  Guest(const std::vector<std::string>& command, Channels channels,
        const std::vector<int>& inherited, Watch& watch, bool echo_console);
  // Kills QEMU and waits for it.
  ~Guest();
  Guest(const Guest&) = delete;

  void wait_until_ready();

  // Runs a QMP command. Throws Failure(125) on an error.
  nlohmann::json monitor(const std::string& command, const nlohmann::json& arguments = nullptr);
  void pass_file(const std::string& name, int descriptor);

  // Called with output as it arrives: 1 is the program's stdout, 2 its stderr.
  using Output = std::function<void(int standard, const std::string& bytes)>;

  // Runs the program that the strings of a RUN frame describe. forward_input: the program reads our
  // stdin; otherwise it has none. Without `output`, its output goes to our stdout and stderr.
  RunResult run(const std::string& request, bool forward_input, const Output& output = nullptr);

  // Lets QEMU end by itself, so that the time model writes its files; kills it if it does not.
  void quit();

  // What QEMU has written to its stderr since the last call.
  std::string take_messages();

private:
  void start(const std::vector<std::string>& command, const Channels& channels,
             const std::vector<int>& inherited, int messages);
  void pump(); // waits for an event and handles it
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
