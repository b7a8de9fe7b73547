// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See result_file.hpp.
#include "calibration/result_file.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/file.h>
#include <unistd.h>

namespace omptier {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view k_head_begin = R"({"omptier_calibration":)";

std::string head_of(const std::string& subject, const std::string& date) {
  return Json({{"omptier_calibration", subject}, {"begun", date}})
             .dump(-1, ' ', false, Json::error_handler_t::replace) +
         "\n";
}

bool write_whole(int file, const std::string& text) {
  for (std::size_t done = 0; done < text.size();) {
    const ssize_t wrote = ::write(file, text.data() + done, text.size() - done);
    if (wrote < 0 && errno != EINTR) return false;
    if (wrote > 0) done += static_cast<std::size_t>(wrote);
  }
  return true;
}

std::string all_of(int file) {
  std::string text;
  char part[1 << 14];
  for (ssize_t got = 0; (got = ::read(file, part, sizeof part)) != 0;) {
    if (got < 0 && errno != EINTR) break;
    if (got > 0) text.append(part, static_cast<std::size_t>(got));
  }
  return text;
}

double number_in(const Json& json, const char* name) {
  const auto at = json.find(name);
  return at != json.end() && at->is_number() ? at->get<double>() : -1;
}

std::string text_in(const Json& json, const char* name) {
  const auto at = json.find(name);
  return at != json.end() && at->is_string() ? at->get<std::string>() : std::string();
}

// A whole number from least to a million; none else.
bool whole_in(const Json& json, const char* name, double least, auto& value) {
  const double number = number_in(json, name);
  if (!(number >= least && number <= 1e6) || number != std::floor(number)) return false;
  value = static_cast<std::remove_reference_t<decltype(value)>>(number);
  return true;
}

} // namespace

std::string line_of(const Result& result) {
  Json json = {{"quantity", name_of(result.task.quantity)},
               {"group", result.task.group},
               {"node", result.task.node},
               {"threads", result.task.threads}};
  if (result.task.other >= 0) json["other"] = result.task.other;
  if (result.task.visit > 0) json["visit"] = result.task.visit;
  if (result.value > 0)
    json.update({{"value", result.value},
                 {"low", result.low},
                 {"high", result.high},
                 {"repeats", result.repeats}});
  if (!result.problem.empty()) json["problem"] = result.problem;
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::optional<Result> result_in(const std::string& line) {
  const Json json = Json::parse(line.begin(), line.end(), nullptr, false);
  if (!json.is_object()) return {};
  Result result;
  const auto quantity = quantity_named(text_in(json, "quantity"));
  if (!quantity || !whole_in(json, "group", 0, result.task.group) ||
      !whole_in(json, "node", 0, result.task.node) ||
      !whole_in(json, "threads", 1, result.task.threads) ||
      (json.contains("other") && !whole_in(json, "other", 0, result.task.other)) ||
      (json.contains("visit") && !whole_in(json, "visit", 1, result.task.visit)))
    return {};
  result.task.quantity = *quantity;
  result.problem = text_in(json, "problem");
  if (json.contains("value")) {
    result.value = number_in(json, "value");
    result.low = number_in(json, "low");
    result.high = number_in(json, "high");
    const bool in_order = result.low > 0 && result.low <= result.value &&
                          result.value <= result.high && std::isfinite(result.high);
    if (!in_order || !whole_in(json, "repeats", 1, result.repeats)) return {};
  } else if (result.problem.empty()) {
    return {};
  }
  return result;
}

Parsed<ResultFile> ResultFile::open(const std::string& path, const std::string& subject,
                                    const std::string& date) {
  using Outcome = Parsed<ResultFile>;
  ResultFile results;
  results.path_ = path;
  results.file_ = File(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
  const int file = results.file_.get();
  const auto unwritable = [&] {
    return Outcome::failure(path + ": cannot be written (" + std::strerror(errno) +
                            "); name a file elsewhere (-o)");
  };
  if (file < 0) return unwritable();
  if (::flock(file, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
    return Outcome::failure(path + ": another omptier calibrate writes to it; wait for its end");
  const std::string text = all_of(file);
  if (!text.starts_with(k_head_begin) && !k_head_begin.starts_with(text))
    return Outcome::failure(path + ": is no file of omptier calibrate, which keeps results there; "
                                   "move it away, or name another file (-o)");
  const std::size_t whole = results.take_known(text, subject);
  results.begun_ = whole == 0 ? date : results.begun_;
  if (::ftruncate(file, static_cast<off_t>(whole)) != 0 || ::lseek(file, 0, SEEK_END) < 0 ||
      (whole == 0 && !write_whole(file, head_of(subject, date))))
    return unwritable();
  return results;
}

// Returns the bytes of whole lines; 0 = it is of another subject.
std::size_t ResultFile::take_known(const std::string& text, const std::string& subject) {
  const std::size_t head = text.find('\n');
  if (head == text.npos) return 0;
  const Json json = Json::parse(text.begin(), text.begin() + std::ptrdiff_t(head), nullptr, false);
  if (!json.is_object() || text_in(json, "omptier_calibration") != subject) return 0;
  begun_ = text_in(json, "begun");
  std::size_t whole = head + 1;
  for (std::size_t end = 0; (end = text.find('\n', whole)) != text.npos; whole = end + 1) {
    auto result = result_in(text.substr(whole, end - whole));
    if (!result) break;
    known_.push_back(std::move(*result));
  }
  return whole;
}

std::optional<Result> ResultFile::find(const Task& task) const {
  const auto at = std::ranges::find(known_, task, &Result::task);
  if (at == known_.end()) return {};
  return *at;
}

bool ResultFile::append(const Result& result) {
  const off_t end = ::lseek(file_.get(), 0, SEEK_CUR);
  if (write_whole(file_.get(), line_of(result))) return true;
  const int why = errno;
  if (end >= 0 && ::ftruncate(file_.get(), end) == 0) ::lseek(file_.get(), end, SEEK_SET);
  errno = why;
  return false;
}

void ResultFile::remove() {
  ::unlink(path_.c_str());
}

} // namespace omptier
