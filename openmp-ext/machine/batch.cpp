// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See batch.hpp. Each machine has a process of its own, which takes the next command from a counter
// that all share and writes its results, a line each, to a pipe; this process prints and keeps
// them. A result is known by what it depends on: machine, time model, environment, command, and
// the contents of the files that the command names.
#include "machine/batch.hpp"

#include "base/text.hpp"
#include "machine/failure.hpp"
#include "machine/guest_image.hpp"
#include "machine/hash.hpp"
#include "machine/qemu_command.hpp"
#include "machine/timing_setup.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <map>
#include <new>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sstream>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace omptier {
namespace {

using Json = nlohmann::ordered_json;

struct Task {
  int line;
  std::string command, key;
};

std::string content_of(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return std::move(content).str();
}

// By content: a program that was built again without a change is the same.
std::string files_named_in(const std::string& command, std::map<std::string, std::string>& known) {
  std::string all, word;
  for (std::istringstream words(command); words >> word;) {
    std::error_code error;
    if (!std::filesystem::is_regular_file(word, error)) continue;
    auto [at, is_new] = known.try_emplace(word);
    if (is_new) at->second = hash_text(content_of(word));
    all += "\n" + word + " " + at->second;
  }
  return all;
}

std::string circumstances(const Machine& machine, const SandboxOptions& options) {
  std::string text;
  for (const std::string& argument : machine_arguments(machine))
    text += argument + "\n";
  TimingOptions timing;
  timing.count_only = !options.dilation;
  timing.dilation = options.dilation.value_or(1);
  text += timing_configuration(machine, timing) + hash_text(content_of(options.plugin)) +
          agent_identity() + "\n";
  for (char** variable = environ; *variable; ++variable)
    if (is_inherited(*variable)) text += std::string(*variable) + "\n";
  for (const std::string& variable : options.environment)
    text += variable + "\n";
  return text + std::filesystem::current_path().string();
}

Parsed<std::vector<Task>> read_tasks(const std::string& path, const std::string& common) {
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path))
    return Parsed<std::vector<Task>>::failure("--batch " + path +
                                              ": cannot be read; write a command a line");
  std::vector<Task> tasks;
  std::map<std::string, std::string> known;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    const auto begin = line.find_first_not_of(" \t\r");
    if (begin == line.npos || line[begin] == '#') continue;
    tasks.push_back({number, line, hash_text(common + "\n" + line + files_named_in(line, known))});
  }
  if (tasks.empty())
    return Parsed<std::vector<Task>>::failure("--batch " + path + ": no command in it");
  return tasks;
}

// By key. Failed ones are run again.
std::map<std::string, Json> read_results(const std::string& path) {
  std::map<std::string, Json> results;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    const Json result = Json::parse(line, nullptr, false);
    if (result.is_object() && result.value("status", -1) == 0)
      results[result.value("key", "")] = result;
  }
  return results;
}

void write_all(int descriptor, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t n = ::write(descriptor, bytes.data(), bytes.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return; // the reader has gone, and says why
    bytes.remove_prefix(static_cast<std::size_t>(n));
  }
}

// One machine's process.
int work(const Machine& machine, const SandboxOptions& options, const std::vector<Task>& tasks,
         std::atomic<std::size_t>& taken, int results) {
  const Task* task = nullptr;
  const auto next = [&]() -> std::vector<std::string> {
    const std::size_t at = taken.fetch_add(1);
    if (at >= tasks.size()) return {};
    task = &tasks[at];
    return {"/bin/sh", "-c", task->command};
  };
  return run_commands(machine, options, next, [&](const EndedCommand& ended) {
    const Json result = {{"key", task->key},       {"line", task->line},
                         {"command", task->command}, {"status", ended.status},
                         {"seconds", ended.seconds}, {"output", ended.output},
                         {"errors", ended.errors}};
    write_all(results, result.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n");
  });
}

struct Worker {
  pid_t process;
  int results;
  std::string unread;
};

// Every ten seconds; where stderr is a terminal, after each result.
class Progress {
public:
  explicit Progress(std::size_t all) : all_(all) {}
  void ended() {
    using namespace std::chrono;
    const auto now = steady_clock::now();
    const bool last = ++ended_ == all_, terminal = ::isatty(2) != 0;
    if (!terminal && !last && now - shown_ < 10s) return;
    shown_ = now;
    const double took = duration<double>(now - begin_).count();
    std::fprintf(stderr, "%somptier sandbox: %zu of %zu commands, %.0f s, %.0f s left%s",
                 terminal ? "\r" : "", ended_, all_, took,
                 took / double(ended_) * double(all_ - ended_), terminal && !last ? " " : "\n");
  }

private:
  std::size_t all_, ended_ = 0;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now(), shown_;
};

class Batch {
public:
  Batch(const Machine& machine, const SandboxOptions& options, const BatchOptions& batch)
      : machine_(machine), options_(options), batch_(batch) {}
  int run(std::vector<Task> tasks);

private:
  void take(const Json& result);
  void start(std::size_t workers);
  void collect(Progress& progress);
  int end_of_workers();

  const Machine& machine_;
  const SandboxOptions& options_;
  const BatchOptions& batch_;
  std::vector<Task> tasks_;
  std::atomic<std::size_t>* taken_ = nullptr;
  std::vector<Worker> workers_;
  std::ofstream kept_;
  bool failed_ = false;
};

void Batch::take(const Json& result) {
  failed_ = failed_ || result.value("status", 1) != 0;
  Json shown = result;
  shown.erase("key");
  std::printf("%s\n", shown.dump().c_str());
  std::fflush(stdout);
}

void Batch::start(std::size_t workers) {
  void* shared = ::mmap(nullptr, sizeof *taken_, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) throw system_failure("cannot share memory with the machines", errno);
  taken_ = new (shared) std::atomic<std::size_t>(0);
  const pid_t parent = ::getpid();
  for (std::size_t i = 0; i < workers; ++i) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) throw system_failure("cannot make a pipe", errno);
    const pid_t process = ::fork();
    if (process < 0) throw system_failure("cannot start a process", errno);
    if (process == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGTERM);
      if (::getppid() != parent) ::_exit(k_status_our_failure);
      ::_exit(work(machine_, options_, tasks_, *taken_, ends[1]));
    }
    ::close(ends[1]);
    workers_.push_back({process, ends[0], ""});
  }
}

void Batch::collect(Progress& progress) {
  for (std::size_t open = workers_.size(); open > 0;) {
    std::vector<pollfd> files;
    for (const Worker& worker : workers_)
      files.push_back({worker.results, POLLIN, 0});
    if (::poll(files.data(), files.size(), -1) < 0) continue;
    for (std::size_t i = 0; i < files.size(); ++i) {
      if (files[i].revents == 0) continue;
      Worker& worker = workers_[i];
      char bytes[65536];
      const ssize_t n = ::read(worker.results, bytes, sizeof bytes);
      if (n <= 0) {
        ::close(worker.results);
        worker.results = -1;
        --open;
        continue;
      }
      worker.unread.append(bytes, static_cast<std::size_t>(n));
      for (std::size_t end; (end = worker.unread.find('\n')) != std::string::npos;) {
        const std::string line = worker.unread.substr(0, end);
        worker.unread.erase(0, end + 1);
        take(Json::parse(line));
        if (kept_.is_open()) kept_ << line << std::endl; // kept even if we are killed
        progress.ended();
      }
    }
  }
}

// The first that failed, else 0.
int Batch::end_of_workers() {
  int first = 0;
  for (const Worker& worker : workers_) {
    int status = 0;
    while (::waitpid(worker.process, &status, 0) < 0 && errno == EINTR) {
    }
    const int code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    if (first == 0) first = code;
  }
  return first;
}

int Batch::run(std::vector<Task> tasks) {
  if (!batch_.results.empty()) {
    const std::map<std::string, Json> known = read_results(batch_.results);
    for (Task& task : tasks) {
      const auto at = known.find(task.key);
      if (at == known.end())
        tasks_.push_back(std::move(task));
      else
        take(at->second);
    }
    kept_.open(batch_.results, std::ios::app);
    if (!kept_)
      throw Failure(k_status_our_failure, "--results " + batch_.results + ": cannot be written");
  } else {
    tasks_ = std::move(tasks);
  }
  if (tasks_.empty()) return failed_;
  const std::size_t cpus = static_cast<std::size_t>(machine_.sockets * machine_.cores);
  const std::size_t fitting = std::max<std::size_t>(1, std::thread::hardware_concurrency() / cpus);
  start(std::min(tasks_.size(), batch_.jobs > 0 ? batch_.jobs : fitting));
  Progress progress(tasks_.size());
  collect(progress);
  const int status = end_of_workers();
  return status != 0 ? status : failed_;
}

} // namespace

int run_batch(const Machine& machine, const SandboxOptions& options, const BatchOptions& batch) {
  try {
    auto tasks = read_tasks(batch.file, circumstances(machine, options));
    if (!tasks) throw Failure(2, tasks.error());
    return Batch(machine, options, batch).run(std::move(*tasks));
  } catch (const Failure& failure) {
    std::fprintf(stderr, "omptier sandbox: %s\n", failure.what());
    return failure.status();
  }
}

} // namespace omptier
