// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results while a calibration is under way, as a file of JSON lines beside the platform file: each
// is appended as soon as it is there, so a calibration that was interrupted goes on where it was.
// The first line says of which machine and version they are and when they were begun. A last line
// that was cut off is dropped.
#pragma once

#include "base/file.hpp"
#include "base/text.hpp"
#include "calibration/measurement.hpp"

#include <optional>
#include <string>
#include <vector>

namespace omptier {

class ResultFile {
public:
  // Makes the file or reads it; no other process can use it until this is gone. Results of another
  // subject (any one-line text) are dropped; a file of anything else is left alone. date: of today.
  // A failure is one line with what to do.
  static Parsed<ResultFile> open(const std::string& path, const std::string& subject,
                                 const std::string& date);

  // What was in the file of a task.
  std::optional<Result> find(const Task& task) const;
  std::size_t known() const { return known_.size(); }
  const std::string& begun() const { return begun_; } // date
  // False: it cannot be written (errno), and is as it was before.
  bool append(const Result& result);
  // Deletes the file.
  void remove();

private:
  std::size_t take_known(const std::string& text, const std::string& subject);

  std::string path_;
  File file_;
  std::string begun_;
  std::vector<Result> known_;
};

// A result as one line of JSON with a line end, and back; none if the line is none.
std::string line_of(const Result& result);
std::optional<Result> result_in(const std::string& line);

} // namespace omptier
