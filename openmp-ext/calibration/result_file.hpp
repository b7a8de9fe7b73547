// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results while a calibration is under way, as a file of JSON lines beside the platform file: each
// is appended as soon as it is there, so a calibration that was interrupted goes on where it was.
// The first line says of which machine, version and choices they are. A last line that was cut off
// is dropped.
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
  // Makes the file or reads it; no other process can use it until this is gone. What is not of the
  // same subject (any one-line text) is dropped. A failure is one line with what to do.
  static Parsed<ResultFile> open(const std::string& path, const std::string& subject);

  // What was in the file of a task.
  std::optional<Result> find(const Task& task) const;
  std::size_t known() const { return known_.size(); }
  // False: it cannot be written (errno).
  bool append(const Result& result);
  // Deletes the file.
  void remove();

private:
  std::string path_;
  File file_;
  std::vector<Result> known_;
};

// A result as one line of JSON with a line end, and back; none if the line is none.
std::string line_of(const Result& result);
std::optional<Result> result_in(const std::string& line);

} // namespace omptier
