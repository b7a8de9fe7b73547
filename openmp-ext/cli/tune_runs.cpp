// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See tune_runs.hpp.
#include "cli/tune_runs.hpp"

#include "base/notices.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <condition_variable>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <mutex>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace omptier {
namespace {

constexpr std::chrono::seconds k_time_to_end{5}; // for a program that is asked to
constexpr std::size_t k_longest_line = 4096; // that is searched: std::regex recurses by character

volatile sig_atomic_t endings = 0; // 1: the search is to end; more: the run, too
volatile sig_atomic_t first_ending = 0;
volatile sig_atomic_t tuned_program = 0;

void end_search(int signal) {
  if (first_ending == 0) first_ending = signal;
  endings = signal == SIGINT && endings == 0 ? 1 : endings + 2;
  if (endings > 1 && tuned_program > 0)
    for (const int one : {endings > 3 ? SIGKILL : SIGTERM, SIGCONT}) // it may be stopped
      ::kill(-static_cast<pid_t>(tuned_program), one);
}

std::string failure_of(int status) {
  if (status == 0) return {};
  if (status > 128 && status < 128 + 65) return "ended by signal " + std::to_string(status - 128);
  return "ended with status " + std::to_string(status);
}

// Ends the program's process group when its time is over: asks first, since a launcher then ends
// what it has started elsewhere.
class TimeLimit {
public:
  TimeLimit(pid_t program, double seconds) {
    if (seconds > 0)
      thread_ = std::thread([this, program, seconds] {
        std::unique_lock lock(mutex_);
        if (ended_.wait_for(lock, std::chrono::duration<double>(seconds), [&] { return done_; }))
          return;
        killed_ = true;
        for (const int one : {SIGTERM, SIGCONT}) // it may be stopped
          ::kill(-program, one);
        ended_.wait_for(lock, k_time_to_end, [&] { return done_; });
        ::kill(-program, SIGKILL); // what is left of the group, too
      });
  }
  bool end() { // whether it had to kill
    {
      const std::lock_guard lock(mutex_);
      done_ = true;
    }
    ended_.notify_all();
    if (thread_.joinable()) thread_.join();
    return killed_;
  }

private:
  std::mutex mutex_;
  std::condition_variable ended_;
  bool done_ = false, killed_ = false;
  std::thread thread_;
};

// One of the program's outputs, read on its way to where it goes, until its end, or until the
// program has ended and nothing is left: what the program has started may hold it longer.
class OutputReader {
public:
  // False if there is no pipe to be had (errno).
  bool open() { return ::pipe2(ends_, O_CLOEXEC) == 0; }
  int program_end() const { return ends_[1]; }
  void begin(int output, LineReader& lines) {
    ::close(std::exchange(ends_[1], -1));
    thread_ = std::thread([this, output, &lines] { read(output, lines); });
  }
  void end() {
    done_ = true;
    if (thread_.joinable()) thread_.join();
  }
  OutputReader() = default;
  OutputReader(const OutputReader&) = delete;
  OutputReader& operator=(const OutputReader&) = delete;
  ~OutputReader() {
    end();
    for (const int end : ends_)
      if (end >= 0) ::close(end);
  }

private:
  void read(int output, LineReader& lines) {
    char part[1 << 14];
    while (true) {
      const bool is_last = done_;
      pollfd waiting{ends_[0], POLLIN, 0};
      if (::poll(&waiting, 1, is_last ? 0 : 100) <= 0) {
        if (is_last) return;
        continue;
      }
      const ssize_t got = ::read(ends_[0], part, sizeof part);
      if (got <= 0) return;
      const std::string_view text(part, static_cast<std::size_t>(got));
      for (std::size_t at = 0; at < text.size();) {
        const ssize_t wrote = ::write(output, text.data() + at, text.size() - at);
        if (wrote <= 0 && errno != EINTR) break;
        if (wrote > 0) at += static_cast<std::size_t>(wrote);
      }
      lines.read(text);
    }
  }

  int ends_[2] = {-1, -1};
  std::atomic<bool> done_{false};
  std::thread thread_;
};

// Whether the runtime says that data does not lie where the plan wants it. Nothing is said with
// KMP_WARNINGS=0.
bool tells_of_no_placement(const std::string& line) {
  constexpr Notice k_notices[] = {Notice::bad_plan,          Notice::plan_mismatch,
                                  Notice::missing_tier,      Notice::plan_without_room,
                                  Notice::static_not_placed, Notice::static_partly,
                                  Notice::small_blocks_stay};
  constexpr std::string_view k_begin = "OMP: Warning #";
  const std::size_t at = line.find(k_begin);
  if (at == line.npos) return false;
  const long number = std::strtol(line.c_str() + at + k_begin.size(), nullptr, 10);
  return std::ranges::find(k_notices, number, [](Notice notice) {
           return static_cast<long>(notice);
         }) != std::end(k_notices);
}

} // namespace

Parsed<std::regex> metric_regex(const std::string& text) {
  using Outcome = Parsed<std::regex>;
  try {
    std::regex made(text, std::regex::ECMAScript | std::regex::optimize);
    if (made.mark_count() == 0)
      return Outcome::failure("--metric " + in_quotes(text) +
                              " has no group around the number: 'Time: *([0-9.]+)'");
    return made;
  } catch (const std::regex_error& error) {
    return Outcome::failure("--metric " + in_quotes(text) + " is no regular expression (" +
                            error.what() + ")");
  }
}

void LineReader::read(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find_first_of("\r\n"); // \r: lines that show progress
    line_.append(text.substr(0, std::min(end, k_longest_line - line_.size())));
    if (end == text.npos) return;
    look_(std::exchange(line_, {}));
    text.remove_prefix(end + 1);
  }
}

void LineReader::end() {
  if (!line_.empty()) look_(std::exchange(line_, {}));
}

void MetricReader::read_line(const std::string& line) {
  std::smatch match;
  if (found_ || !std::regex_search(line, match, wanted_)) return;
  found_ = true;
  std::string number = match[1].str();
  number.erase(0, number.find_first_not_of(" \t+"));
  for (char& letter : number)
    if (letter == 'D' || letter == 'd') letter = 'e';
  if (const auto at = number.find("e+"); at != number.npos) number.erase(at + 1, 1);
  double value = 0;
  const auto read = std::from_chars(number.data(), number.data() + number.size(), value);
  const bool is_whole =
      number.find_first_not_of(" \t\r", static_cast<std::size_t>(read.ptr - number.data())) ==
      number.npos;
  if (read.ec == std::errc() && is_whole && std::isfinite(value) && value > 0) value_ = value;
}

ProgramRuns::ProgramRuns(Launch what, std::optional<std::regex> metric, int output)
    : what_(std::move(what)), metric_(std::move(metric)), output_(output) {
  struct stat file;
  if (::fstat(STDIN_FILENO, &file) == 0 && S_ISREG(file.st_mode)) {
    input_ = STDIN_FILENO;
    input_begin_ = ::lseek(input_, 0, SEEK_CUR);
  } else {
    input_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  }
  what_.own_signals = true;
  endings = 0;
  first_ending = 0;
  struct sigaction action{};
  action.sa_handler = end_search;
  action.sa_flags = SA_RESTART;
  for (std::size_t i = 0; i < k_ending_signals.size(); ++i) {
    ::sigaction(k_ending_signals[i], nullptr, &before_[i]);
    if (before_[i].sa_handler != SIG_IGN) // nohup
      ::sigaction(k_ending_signals[i], &action, nullptr);
  }
}

ProgramRuns::~ProgramRuns() {
  for (std::size_t i = 0; i < k_ending_signals.size(); ++i)
    ::sigaction(k_ending_signals[i], &before_[i], nullptr);
  if (input_ > STDIN_FILENO) ::close(input_);
}

int ProgramRuns::interrupted_by() {
  return first_ending;
}

std::optional<ProgramRun> ProgramRuns::run(const std::string& plan, double limit) {
  OutputReader output, errors;
  if ((metric_ && !output.open()) || !errors.open())
    return ProgramRun{0, {}, std::string("no pipe to be had: ") + std::strerror(errno), {}};
  if (input_ == STDIN_FILENO) ::lseek(input_, input_begin_, SEEK_SET);
  ProgramRun run;
  std::optional<MetricReader> metric;
  if (metric_) metric.emplace(*metric_);
  LineReader output_lines([&](const std::string& line) { metric->read_line(line); });
  LineReader error_lines([&](const std::string& line) {
    if (run.not_placed.empty() && tells_of_no_placement(line)) run.not_placed = line;
  });
  Launch what = what_;
  what.environment.emplace_back("OMPTIER_PLAN", plan);
  what.in_child = [this, out = metric_ ? output.program_end() : output_,
                   error = errors.program_end()] {
    ::setpgid(0, 0);
    for (const int signal : {SIGTTIN, SIGTTOU}) // the terminal is not its own: it would be stopped
      ::signal(signal, SIG_IGN);
    ::prctl(PR_SET_PDEATHSIG, SIGTERM); // without us, nobody could end it from the terminal
    ::dup2(input_, STDIN_FILENO);
    ::dup2(out, STDOUT_FILENO);
    ::dup2(error, STDERR_FILENO);
  };
  std::optional<TimeLimit> time_limit;
  what.started = [&](pid_t program) {
    tuned_program = program;
    time_limit.emplace(program, limit);
    if (metric) output.begin(output_, output_lines);
    errors.begin(STDERR_FILENO, error_lines);
  };
  const auto start = std::chrono::steady_clock::now();
  const int status = launch("tune", what);
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  tuned_program = 0;
  const bool was_killed = time_limit && time_limit->end();
  output.end();
  errors.end();
  output_lines.end();
  error_lines.end();
  if (endings > 1) return {};
  run.seconds = taken.count();
  run.failure = was_killed ? "killed after " + format_duration(limit * 1e9) : failure_of(status);
  if (!metric || !run.failure.empty()) return run;
  run.metric = metric->value();
  if (!run.metric)
    run.failure = metric->found() ? "what --metric found is no number above 0"
                                  : "--metric matches no line of its output";
  return run;
}

} // namespace omptier
