// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fork, exec, wait. The child reports a failed exec through a pipe that a successful exec closes,
// so that "no such program" is never mistaken for the program's own status 127.
#include "cli/launch.hpp"

#include "base/text.hpp"
#include "cli/check_elf.hpp"
#include "placement/strategy.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <optional>
#include <sys/stat.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <thread>
#include <unistd.h>

namespace omptier {
namespace {

// Forwarded to the program. SIGINT and SIGQUIT are not: the terminal sends them to it itself.
constexpr int k_forwarded[] = {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2};
volatile sig_atomic_t running_program = 0;

// If SIGCHLD is ignored, as some launchers leave it, the kernel discards the program's exit status.
// The program gets the disposition that we inherited.
class DefaultSigchld {
public:
  DefaultSigchld() {
    struct sigaction usual{};
    usual.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, &usual, &before_);
  }
  ~DefaultSigchld() { restore(); }
  void restore() const { ::sigaction(SIGCHLD, &before_, nullptr); }
  DefaultSigchld(const DefaultSigchld&) = delete;
  DefaultSigchld& operator=(const DefaultSigchld&) = delete;

private:
  struct sigaction before_{};
};

void forward(int signal) {
  if (running_program > 0) ::kill(static_cast<pid_t>(running_program), signal);
}

// Forwards signals while the program runs; ignores those that the terminal sends to both of us.
class SignalForwarding {
public:
  explicit SignalForwarding(pid_t program) {
    running_program = program;
    struct sigaction action{};
    action.sa_flags = SA_RESTART;
    action.sa_handler = forward;
    for (const int signal : k_forwarded)
      ::sigaction(signal, &action, nullptr);
    action.sa_handler = SIG_IGN; // typed at the terminal: the program gets it too
    for (const int signal : {SIGINT, SIGQUIT})
      ::sigaction(signal, &action, nullptr);
  }
  ~SignalForwarding() {
    running_program = 0;
    for (const int signal : k_forwarded)
      ::signal(signal, SIG_DFL);
    for (const int signal : {SIGINT, SIGQUIT})
      ::signal(signal, SIG_DFL);
  }
  SignalForwarding(const SignalForwarding&) = delete;
  SignalForwarding& operator=(const SignalForwarding&) = delete;
};

void prepend(const char* variable, const std::string& text) {
  if (text.empty()) return;
  const char* before = std::getenv(variable);
  const bool more = before != nullptr && *before != '\0';
  ::setenv(variable, (text + (more ? ":" + std::string(before) : "")).c_str(), 1);
}

void set_environment(const Launch& what) {
  for (const auto& [name, value] : what.environment)
    ::setenv(name.c_str(), value.c_str(), 1);
  prepend("LD_LIBRARY_PATH", what.libraries);
  prepend("LD_PRELOAD", what.preload);
}

[[noreturn]] void exec_program(const Launch& what, int report) {
  set_environment(what);
  std::vector<char*> arguments;
  for (const std::string& word : what.command)
    arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  if (what.in_child) what.in_child();
  ::execvp(arguments[0], arguments.data());
  const int error = errno;
  [[maybe_unused]] const ssize_t written = ::write(report, &error, sizeof error);
  ::_exit(127);
}

int wait_for(const char* name, pid_t program, const Launch& what) {
  int status = 0;
  while (true) {
    const pid_t ended = ::waitpid(program, &status, what.watch ? WNOHANG : 0);
    if (ended == program) return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (ended < 0 && errno != EINTR)
      return fail(name, 125,
                  std::string("the program's exit status is lost: ") + std::strerror(errno));
    if (!what.watch) continue;
    what.watch(program);
    std::this_thread::sleep_for(what.watch_every);
  }
}

} // namespace

std::string find_libraries(const CommandContext& context) {
  const std::filesystem::path prefix = std::filesystem::path(context.self).parent_path();
  for (const char* folder : {"lib", OMPTIER_LIBDIR})
    if (std::filesystem::exists(prefix / folder / "libomptier.so"))
      return (prefix / folder).string();
  return {};
}

std::string problem_with_libraries(const std::string& folder) {
  if (folder.empty()) return "libomptier.so is not beside this program; reinstall OMPTier";
  // ld.so would take the parts for folders, and load another OpenMP runtime.
  if (folder.find_first_of(":;") != std::string::npos)
    return "the folder " + folder +
           " has a colon or semicolon in its name, which divides LD_LIBRARY_PATH; install OMPTier "
           "in another";
  return {};
}

std::string find_preload(const std::string& libraries) {
  const std::filesystem::path path = std::filesystem::absolute(libraries) / "libomptier_preload.so";
  return std::filesystem::exists(path) ? path.string() : std::string();
}

namespace {

bool is_privileged(const std::string& program) {
  struct stat file;
  if (::stat(program.c_str(), &file) != 0) return false;
  if ((file.st_mode & S_ISUID) != 0 && file.st_uid != ::geteuid()) return true;
  if ((file.st_mode & S_ISGID) != 0 && (file.st_mode & S_IXGRP) != 0 && file.st_gid != ::getegid())
    return true;
  return ::geteuid() != 0 && ::getxattr(program.c_str(), "security.capability", nullptr, 0) > 0;
}

} // namespace

Preload preload_for(const std::string& program, const std::string& libraries) {
  const std::string preload = find_preload(libraries);
  if (preload.empty()) return {"", "libomptier_preload.so is not beside libomptier.so"};
  // ld.so separates paths at blanks and colons.
  if (preload.find_first_of(" :") != std::string::npos)
    return {"", "the folder " + libraries +
                    " has a blank or colon in its name, which ld.so cannot preload from"};
  if (is_privileged(path_of_program(program)))
    return {"",
            program +
                " runs with more rights than its user (setuid, setgid or capabilities): ld.so "
                "loads nothing of the user's into it",
            true};
  const auto elf = read_elf(path_of_program(program));
  if (elf && elf->executable && !elf->interpreter)
    return {"", program + " is statically linked, nothing can be loaded into it", true};
  return {preload, ""};
}

std::string problem_with_runtime(const std::string& runtime) {
  if (runtime == "own" || runtime == "omptier") return {};
  return "--runtime is own (the program's OpenMP runtime) or omptier, not " + runtime;
}

std::string problem_with_placement(const std::string& capacity, const std::string& plan,
                                   const std::string& strategy) {
  if (!capacity.empty())
    if (const auto parsed = parse_capacity(capacity); !parsed)
      return "--capacity: " + parsed.error();
  if (!plan.empty() && !strategy.empty()) return "--plan and --strategy exclude each other";
  if (const auto parsed = parse_strategy(strategy); !parsed)
    return "--strategy: " + parsed.error();
  return {};
}

bool is_launcher(const std::string& path) {
  static constexpr const char* k_launchers[] = {
      "sh",   "bash",          "dash",  "zsh",    "ksh",     "csh",    "tcsh",    "fish",
      "env",  "nice",          "nohup", "setsid", "timeout", "time",   "taskset", "numactl",
      "sudo", "stdbuf",        "chrt",  "ionice", "make",    "mpirun", "mpiexec", "orterun",
      "srun", "mpiexec.hydra", "xargs", "strace", "gdb"};
  const std::string name = std::filesystem::path(path).filename().string();
  return std::ranges::find(k_launchers, name) != std::end(k_launchers);
}

int launch(const char* name, const Launch& what) {
  int report[2];
  if (::pipe2(report, O_CLOEXEC) != 0)
    return fail(name, 125, std::string("no pipe to be had: ") + std::strerror(errno));
  const DefaultSigchld sigchld;
  const pid_t program = ::fork();
  if (program < 0)
    return fail(name, 125, std::string("the program cannot be started: ") + std::strerror(errno));
  if (program == 0) {
    sigchld.restore();
    ::close(report[0]);
    exec_program(what, report[1]);
  }
  ::close(report[1]);
  std::optional<SignalForwarding> forwarding;
  if (!what.own_signals) forwarding.emplace(program);
  int error = 0;
  ssize_t got = 0;
  while ((got = ::read(report[0], &error, sizeof error)) < 0 && errno == EINTR)
    ;
  const bool never_ran = got == sizeof error;
  ::close(report[0]);
  if (!never_ran && what.started) what.started(program);
  if (!never_ran) return wait_for(name, program, what);
  ::waitpid(program, nullptr, 0);
  return fail(name, error == ENOENT ? 127 : 126,
              what.command[0] + ": " + std::strerror(error) + "; give the path of a program");
}

} // namespace omptier
