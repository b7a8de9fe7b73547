// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See run_list.hpp.
#include "tuning/run_list.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
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

std::optional<Learned> learned_of(const Json& json, std::span<const std::string> labels) {
  if (!json.is_object()) return {};
  Learned learned;
  learned.work = number_in(json, "work");
  learned.others = number_in(json, "others");
  learned.placements =
      static_cast<std::size_t>(std::clamp(number_in(json, "placements"), 0.0, 1e9));
  learned.runs = static_cast<std::size_t>(std::clamp(number_in(json, "runs"), 0.0, 1e9));
  learned.error_before = number_in(json, "error_before");
  learned.error_after = number_in(json, "error_after");
  const auto objects = json.find("objects");
  if (objects == json.end() || !objects->is_array()) return {};
  for (const Json& object : *objects) {
    if (!object.is_object()) return {};
    const double site = number_in(object, "site");
    if (!(site >= 0 && site < static_cast<double>(labels.size()))) return {};
    const auto number = static_cast<std::size_t>(site);
    if (text_in(object, "label") != labels[number]) return {};
    learned.accesses[number] = number_in(object, "accesses");
  }
  return is_usable(learned) ? std::optional(learned) : std::nullopt;
}

} // namespace

Parsed<Learned> learned_in(const std::string& path, const std::string& profile,
                           std::span<const std::string> labels) {
  using Outcome = Parsed<Learned>;
  const int file = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  std::string text;
  const bool is_read = file >= 0 && read_all(file, text);
  const int error = errno;
  if (file >= 0) ::close(file);
  if (!is_read) return Outcome::failure(path + ": cannot be read (" + std::strerror(error) + ")");
  std::size_t at = 0;
  const std::string then = "; run omptier tune with this profile first";
  if (std::string problem = problem_with_head(next_line(text, at), profile); !problem.empty())
    return Outcome::failure(path + ": " + problem + then);
  std::optional<Json> last;
  for (const std::size_t whole = text.rfind('\n') + 1; at < whole;)
    if (auto line = next_line(text, at); line && line->contains("learned")) last = std::move(line);
  if (!last) return Outcome::failure(path + ": no search in it has come to its end" + then);
  if (auto learned = learned_of((*last)["learned"], labels)) return *learned;
  return Outcome::failure(path + ": what it holds is not of this omptier; remove it" + then);
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
  for (const std::size_t whole = text.rfind('\n') + 1; at < whole;) {
    const auto line = next_line(text, at);
    if (!line) return path + ": a line of it is no JSON object" + other;
    if (line->contains("learned")) continue;
    StoredRun run{number_in(*line, "figure"), number_in(*line, "seconds"),
                  text_in(*line, "failure"), text_in(*line, "placement"),
                  text_in(*line, "not_placed")};
    if (run.failure.empty() && !(run.figure > 0)) return path + ": a run has no figure" + other;
    runs_[text_in(*line, "key")].push_back(std::move(run));
    ++known_;
  }
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

bool RunList::append(const std::string& key, const StoredRun& run) {
  return write_all(file_, line_of({{"key", key},
                                   {"figure", run.figure},
                                   {"seconds", run.seconds},
                                   {"failure", run.failure},
                                   {"placement", run.placement},
                                   {"not_placed", run.not_placed}}));
}

bool RunList::append(const Learned& learned, std::span<const std::string> labels) {
  Json objects = Json::array();
  for (const auto& [site, factor] : learned.accesses)
    objects.push_back({{"site", site}, {"label", labels[site]}, {"accesses", factor}});
  return write_all(file_, line_of({{"learned",
                                    {{"objects", std::move(objects)},
                                     {"others", learned.others},
                                     {"work", learned.work},
                                     {"placements", learned.placements},
                                     {"runs", learned.runs},
                                     {"error_before", learned.error_before},
                                     {"error_after", learned.error_after}}}}));
}

RunList::RunList(RunList&& other) noexcept
    : file_(std::exchange(other.file_, -1)), known_(other.known_), runs_(std::move(other.runs_)) {}

RunList& RunList::operator=(RunList&& other) noexcept {
  std::swap(file_, other.file_);
  known_ = other.known_;
  runs_ = std::move(other.runs_);
  return *this;
}

RunList::~RunList() {
  if (file_ >= 0) ::close(file_);
}

} // namespace omptier
