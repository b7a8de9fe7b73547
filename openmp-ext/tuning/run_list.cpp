// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See run_list.hpp.
#include "tuning/run_list.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>
#include <utility>

namespace omptier {
namespace {

using Json = nlohmann::ordered_json;
constexpr int k_run_list_version = 1;

bool write_all(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t wrote = ::write(file, text.data() + done, text.size() - done);
    if (wrote < 0 && errno != EINTR) return false;
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
  }
  return ::fdatasync(file) == 0 || errno == EINVAL; // EINVAL: a device or pipe
}

bool read_all(int file, std::string& text) {
  char part[1 << 16];
  while (true) {
    const ssize_t got = ::read(file, part, sizeof part);
    if (got == 0) return true;
    if (got < 0 && errno != EINTR) return false;
    if (got > 0) text.append(part, static_cast<std::size_t>(got));
  }
}

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

// What is not there, or of another type, is as in an empty run.
std::string text_in(const Json& json, const char* name) {
  const auto at = json.find(name);
  return at != json.end() && at->is_string() ? at->get<std::string>() : std::string();
}
double number_in(const Json& json, const char* name) {
  const auto at = json.find(name);
  return at != json.end() && at->is_number() ? at->get<double>() : 0;
}

StoredRun run_in(const Json& line) {
  return {number_in(line, "figure"),  number_in(line, "seconds"),  text_in(line, "failure"),
          text_in(line, "placement"), text_in(line, "not_placed"), text_in(line, "conditions")};
}

// One line, with the next one's begin; nothing if it is no JSON object.
std::optional<Json> next_line(const std::string& text, std::size_t& at) {
  const std::size_t end = std::min(text.find('\n', at), text.size());
  Json json = Json::parse(text.begin() + static_cast<std::ptrdiff_t>(at),
                          text.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
  at = std::min(end + 1, text.size());
  if (!json.is_object()) return {};
  return json;
}

// What is wrong with the first line, or "".
std::string problem_with_head(const std::optional<Json>& head, const std::string& profile) {
  if (!head || number_in(*head, "omptier_tune") != k_run_list_version)
    return "holds no runs of omptier tune";
  if (text_in(*head, "profile") != profile) return "its runs were tuned from another profile";
  return {};
}

// Lines behind the first, up to the last line end; false if one is no JSON object.
template <typename Take> bool each_line(const std::string& text, std::size_t at, Take take) {
  for (const std::size_t whole = text.rfind('\n') + 1; at < whole;) {
    const auto line = next_line(text, at);
    if (!line) return false;
    take(*line);
  }
  return true;
}

} // namespace

Parsed<std::vector<MeasuredPlan>> measured_plans(const std::string& path,
                                                 const std::string& profile) {
  using Outcome = Parsed<std::vector<MeasuredPlan>>;
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file) return Outcome::failure(path + ": cannot be read; name the file of omptier tune");
  std::size_t at = 0;
  const std::string advice = "; tune the program from this profile first";
  if (std::string problem = problem_with_head(next_line(text, at), profile); !problem.empty())
    return Outcome::failure(path + ": " + problem + advice);
  std::map<std::string, std::string> plans; // by key
  std::vector<std::pair<std::string, StoredRun>> runs;
  const bool whole = each_line(text, at, [&](const Json& line) {
    const std::string key = text_in(line, "key");
    if (const auto plan = line.find("plan"); plan != line.end()) plans[key] = plan->dump();
    runs.emplace_back(key, run_in(line));
  });
  if (!whole) return Outcome::failure(path + ": a line of it is no JSON object" + advice);
  std::map<std::string, std::size_t> index; // by key
  std::vector<MeasuredPlan> measured;
  for (const auto& [key, run] : runs) {
    const bool counts = run.failure.empty() && run.not_placed.empty() && run.figure > 0;
    if (!counts || run.conditions != runs.back().second.conditions || !plans.contains(key))
      continue;
    const auto [known, is_new] = index.try_emplace(key, measured.size());
    if (is_new) {
      auto plan = parse_plan(plans[key], path);
      if (!plan) return Outcome::failure(plan.error());
      measured.push_back({std::move(*plan), {}});
    }
    measured[known->second].figures.push_back(run.figure);
  }
  if (measured.empty()) return Outcome::failure(path + ": no run of it tells anything" + advice);
  return measured;
}

Parsed<RunList> RunList::open(const std::string& path, const std::string& program,
                              const std::string& profile) {
  using Outcome = Parsed<RunList>;
  RunList list;
  list.file_ = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (list.file_ < 0)
    return Outcome::failure(path + ": cannot be written (" + std::strerror(errno) +
                            "); name another file (--runs)");
  if (::flock(list.file_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return Outcome::failure(path + ": another omptier tune writes to it; wait for its end, or name "
                                   "another file (--runs)");
  std::string text;
  if (!read_all(list.file_, text))
    return Outcome::failure(path + ": cannot be read (" + std::strerror(errno) + ")");
  const std::size_t whole = text.rfind('\n') + 1; // 0 if there is no line end
  if (std::string problem = list.read(path, text, program, profile); !problem.empty())
    return Outcome::failure(std::move(problem));
  text.resize(whole);
  if (::ftruncate(list.file_, static_cast<off_t>(whole)) != 0 ||
      ::lseek(list.file_, 0, SEEK_END) < 0 ||
      (whole == 0 && !write_all(list.file_, line_of({{"omptier_tune", k_run_list_version},
                                                     {"program", program},
                                                     {"profile", profile}}))))
    return Outcome::failure(path + ": cannot be written (" + std::strerror(errno) + ")");
  return list;
}

// What is wrong with it, or "".
std::string RunList::read(const std::string& path, const std::string& text,
                          const std::string& program, const std::string& profile) {
  if (text.empty()) return {};
  std::size_t at = 0;
  const auto head = next_line(text, at);
  const std::string other = "; name another file (--runs), or remove this one";
  if (std::string problem = problem_with_head(head, profile); !problem.empty())
    return path + ": " + problem + other;
  if (text_in(*head, "program") != program)
    return path + ": its runs are of " + text_in(*head, "program") + ", not of " + program + other;
  bool have_figures = true;
  const bool whole = each_line(text, at, [&](const Json& line) {
    StoredRun run = run_in(line);
    have_figures = have_figures && (!run.failure.empty() || run.figure > 0);
    const std::string key = text_in(line, "key");
    if (line.contains("plan")) with_plan_.insert(key);
    runs_[key].push_back(std::move(run));
    ++known_;
  });
  if (!whole) return path + ": a line of it is no JSON object" + other;
  if (!have_figures) return path + ": a run has no figure" + other;
  for (auto& [key, runs] : runs_)
    std::ranges::reverse(runs);
  return {};
}

std::optional<StoredRun> RunList::take(const std::string& key) {
  const auto at = runs_.find(key);
  if (at == runs_.end() || at->second.empty()) return {};
  StoredRun run = std::move(at->second.back());
  at->second.pop_back();
  return run;
}

bool RunList::append(const std::string& key, const StoredRun& run, const Plan& plan) {
  Json line = {{"key", key},
               {"figure", run.figure},
               {"seconds", run.seconds},
               {"failure", run.failure},
               {"placement", run.placement},
               {"not_placed", run.not_placed},
               {"conditions", run.conditions}};
  if (with_plan_.insert(key).second) line["plan"] = Json::parse(write_plan(plan));
  return write_all(file_, line_of(line));
}

RunList::RunList(RunList&& other) noexcept
    : file_(std::exchange(other.file_, -1)), known_(other.known_), runs_(std::move(other.runs_)),
      with_plan_(std::move(other.with_plan_)) {}

RunList& RunList::operator=(RunList&& other) noexcept {
  std::swap(file_, other.file_);
  known_ = other.known_;
  runs_ = std::move(other.runs_);
  with_plan_ = std::move(other.with_plan_);
  return *this;
}

RunList::~RunList() {
  if (file_ >= 0) ::close(file_);
}

} // namespace omptier
