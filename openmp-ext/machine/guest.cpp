// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See guest.hpp. QEMU runs in a session of its own, so that Ctrl-C reaches only the launcher, which
// then decides. PR_SET_PDEATHSIG ends QEMU if the launcher is killed.
#include "machine/guest.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace omptier {
namespace {

constexpr std::size_t k_console_kept = 256 << 10; // bytes of the kernel's messages that are kept

// From the last line of the kernel's messages that gives one; or "".
std::string panic_reason(const std::string& console) {
  constexpr const char* k_words = "Kernel panic - not syncing: ";
  std::size_t at = console.rfind(k_words);
  if (at == std::string::npos) return "";
  at += std::strlen(k_words);
  return console.substr(at, console.find_first_of("\r\n", at) - at);
}

std::string last_line(std::string text) {
  while (!text.empty() && (text.back() == '\n' || text.back() == '\r'))
    text.pop_back();
  std::size_t at = text.rfind('\n');
  return at == std::string::npos ? text : text.substr(at + 1);
}

} // namespace

Channel Channel::make() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0)
    throw system_failure("cannot make a pair of sockets", errno);
  return {File(ends[0]), File(ends[1])};
}

Guest::Guest(const std::vector<std::string>& command, Channels channels,
             const std::vector<int>& inherited, Watch& watch, bool echo_console)
    : watch_(watch), echo_console_(echo_console) {
  int messages[2];
  if (::pipe2(messages, O_CLOEXEC) != 0) throw system_failure("cannot make a pipe", errno);
  messages_file_ = File(messages[0]);
  File messages_end(messages[1]);
  start(command, channels, inherited, messages_end.get());
  control_ = std::move(channels.control.near);
  console_ = std::move(channels.console.near);
  monitor_ = std::move(channels.monitor.near);
}

Guest::~Guest() {
  stop();
}

void Guest::start(const std::vector<std::string>& command, const Channels& channels,
                  const std::vector<int>& inherited, int messages) {
  std::vector<char*> arguments;
  for (const std::string& word : command)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  const pid_t launcher = ::getpid();
  process_ = ::fork();
  if (process_ < 0) throw system_failure("cannot start QEMU", errno);
  if (process_ > 0) return;

  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != launcher) _exit(0); // it died before prctl took effect
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  std::signal(SIGPIPE, SIG_DFL);
  int nothing = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(nothing, 0);
  ::dup2(messages, 1);
  ::dup2(messages, 2);
  for (const Channel* channel : {&channels.control, &channels.console, &channels.monitor})
    ::fcntl(channel->far.get(), F_SETFD, 0);
  for (int descriptor : inherited)
    ::fcntl(descriptor, F_SETFD, 0);
  ::execv(arguments[0], arguments.data());
  ::dprintf(2, "cannot run %s: %s\n", arguments[0], std::strerror(errno));
  _exit(127);
}

bool Guest::take(int descriptor, std::string& into) {
  char bytes[65536];
  ssize_t n = ::read(descriptor, bytes, sizeof bytes);
  if (n > 0) into.append(bytes, static_cast<std::size_t>(n));
  return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

void Guest::pump() {
  const bool input = forward_input_ && input_window_ > 0;
  std::vector<pollfd> files = {{control_.get(), POLLIN, 0},
                               {console_.get(), POLLIN, 0},
                               {monitor_.get(), POLLIN, 0},
                               {messages_file_.get(), POLLIN, 0},
                               {input ? 0 : -1, POLLIN, 0}};
  watch_.wait(files);
  const std::size_t console_before = console_bytes_.size();
  if (files[1].revents && !take(console_.get(), console_bytes_)) console_.reset();
  if (echo_console_) watch_.deliver(2, console_bytes_.substr(console_before));
  if (console_bytes_.size() > k_console_kept)
    console_bytes_.erase(0, console_bytes_.size() - k_console_kept);
  if (files[3].revents && !take(messages_file_.get(), messages_)) messages_file_.reset();
  if (files[0].revents && !take(control_.get(), control_bytes_)) control_.reset();
  if (files[2].revents && !take(monitor_.get(), monitor_bytes_)) {
    monitor_.reset();
    gone_ = true; // frames that it sent before are still read
  }
  if (files[4].revents) pump_input();
}

void Guest::pump_input() {
  std::string bytes(std::min<std::size_t>(input_window_, OMPTIER_FRAME_MAX), '\0');
  ssize_t n = ::read(0, bytes.data(), bytes.size());
  if (n < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (n <= 0) {
    forward_input_ = false;
    send_frame(OMPTIER_FRAME_INPUT_END, "");
    return;
  }
  bytes.resize(static_cast<std::size_t>(n));
  input_window_ -= bytes.size();
  send_frame(OMPTIER_FRAME_INPUT, bytes);
}

void Guest::report_end() {
  // Reads what is still in flight; QEMU has closed its ends, so this terminates.
  while (console_ && take(console_.get(), console_bytes_)) {
  }
  while (messages_file_ && take(messages_file_.get(), messages_)) {
  }
  if (std::string reason = panic_reason(console_bytes_); !reason.empty())
    throw Failure(k_status_our_failure,
                  "the guest's kernel panicked: " + reason + "; --console shows its messages");
  if (!messages_.empty())
    throw Failure(k_status_our_failure, "QEMU failed: " + last_line(messages_));
  throw Failure(k_status_our_failure,
                "the virtual machine ended without a result; --console shows its messages");
}

std::optional<Frame> Guest::next_frame() {
  omptier_frame_head head;
  if (control_bytes_.size() < sizeof head) return std::nullopt;
  std::memcpy(&head, control_bytes_.data(), sizeof head);
  if (head.length > OMPTIER_FRAME_MAX)
    throw Failure(k_status_our_failure, "the guest sent a frame of impossible size");
  if (control_bytes_.size() < sizeof head + head.length) return std::nullopt;
  Frame frame = {static_cast<omptier_frame>(head.type),
                 control_bytes_.substr(sizeof head, head.length)};
  control_bytes_.erase(0, sizeof head + head.length);
  if (frame.type == OMPTIER_FRAME_FAILED)
    throw Failure(k_status_our_failure, "inside the guest: " + frame.payload);
  return frame;
}

void Guest::send(int descriptor, const std::string& bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    ssize_t n = ::send(descriptor, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL);
    if (n > 0)
      done += static_cast<std::size_t>(n);
    else if (errno != EINTR)
      report_end();
  }
}

void Guest::send_frame(omptier_frame type, const std::string& payload) {
  omptier_frame_head head = {type, static_cast<std::uint32_t>(payload.size())};
  std::string bytes(reinterpret_cast<const char*>(&head), sizeof head);
  send(control_.get(), bytes + payload);
}

void Guest::wait_until_ready() {
  for (;;) {
    if (std::optional<Frame> frame = next_frame()) {
      if (frame->type == OMPTIER_FRAME_READY) return;
      throw Failure(k_status_our_failure, "the guest spoke before it was ready");
    }
    if (gone_) report_end();
    pump();
  }
}

std::optional<nlohmann::json> Guest::next_answer() {
  for (std::size_t end; (end = monitor_bytes_.find('\n')) != std::string::npos;) {
    nlohmann::json answer = nlohmann::json::parse(monitor_bytes_.substr(0, end), nullptr, false);
    monitor_bytes_.erase(0, end + 1);
    if (answer.contains("return") || answer.contains("error")) return answer;
  }
  return std::nullopt; // greetings and events are ignored
}

nlohmann::json Guest::monitor(const std::string& command, const nlohmann::json& arguments) {
  if (!monitor_greeted_) {
    monitor_greeted_ = true;
    monitor("qmp_capabilities");
  }
  nlohmann::json request = {{"execute", command}};
  if (!arguments.is_null()) request["arguments"] = arguments;
  if (!monitor_) report_end();
  send(monitor_.get(), request.dump() + "\n");
  for (;;) {
    if (std::optional<nlohmann::json> answer = next_answer()) {
      if (answer->contains("return")) return (*answer)["return"];
      throw Failure(k_status_our_failure,
                    "QEMU refused " + command + ": " + answer->at("error").value("desc", ""));
    }
    if (gone_) report_end();
    pump();
  }
}

void Guest::pass_file(const std::string& name, int descriptor) {
  if (!monitor_greeted_) monitor("query-status");
  const std::string text =
      nlohmann::json({{"execute", "getfd"}, {"arguments", {{"fdname", name}}}}).dump() + "\n";
  iovec bytes = {const_cast<char*>(text.data()), text.size()};
  alignas(cmsghdr) char space[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = space;
  message.msg_controllen = sizeof space;
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(head), &descriptor, sizeof(int));
  if (::sendmsg(monitor_.get(), &message, MSG_NOSIGNAL) < 0) report_end();
  for (;;) {
    if (std::optional<nlohmann::json> answer = next_answer()) {
      if (answer->contains("return")) return;
      throw Failure(k_status_our_failure, "QEMU refused a file");
    }
    if (gone_) report_end();
    pump();
  }
}

RunResult Guest::run(const std::string& request, bool forward_input, const Output& output) {
  send_frame(OMPTIER_FRAME_RUN, request);
  forward_input_ = forward_input;
  input_window_ = OMPTIER_INPUT_WINDOW;
  auto pass_on = [&](int standard, const std::string& bytes) {
    output ? output(standard, bytes) : watch_.deliver(standard, bytes);
  };
  if (!forward_input) send_frame(OMPTIER_FRAME_INPUT_END, "");
  RunResult result;
  for (;;) {
    std::optional<Frame> frame = next_frame();
    if (!frame) {
      if (gone_) report_end();
      pump();
      continue;
    }
    switch (frame->type) {
    case OMPTIER_FRAME_OUTPUT:
      pass_on(1, frame->payload);
      break;
    case OMPTIER_FRAME_ERROR:
      pass_on(2, frame->payload);
      break;
    case OMPTIER_FRAME_NOTE:
      result.notes.push_back(frame->payload);
      break;
    case OMPTIER_FRAME_TAKEN: {
      std::uint32_t taken = 0;
      std::memcpy(&taken, frame->payload.data(), std::min(sizeof taken, frame->payload.size()));
      input_window_ += taken;
      break;
    }
    case OMPTIER_FRAME_DONE: {
      omptier_done done = {};
      std::memcpy(&done, frame->payload.data(), std::min(sizeof done, frame->payload.size()));
      result.status = done.status;
      result.signal = done.signal;
      forward_input_ = false;
      return result;
    }
    default:
      throw Failure(k_status_our_failure, "the guest sent an unknown frame");
    }
  }
}

std::string Guest::take_messages() {
  std::vector<pollfd> files = {{messages_file_.get(), POLLIN, 0}};
  while (messages_file_ && ::poll(files.data(), 1, 0) > 0)
    if (!take(messages_file_.get(), messages_)) messages_file_.reset();
  return std::exchange(messages_, {});
}

void Guest::quit() {
  monitor("quit");
  while (!gone_)
    pump();
  while (messages_file_ && take(messages_file_.get(), messages_)) {
  }
  int status = 0;
  while (::waitpid(process_, &status, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
}

void Guest::stop() {
  if (process_ <= 0) return;
  ::kill(-process_, SIGKILL); // its process group
  ::kill(process_, SIGKILL);  // in case setsid has not run yet
  while (::waitpid(process_, nullptr, 0) < 0 && errno == EINTR) {
  }
  process_ = -1;
}

} // namespace omptier
