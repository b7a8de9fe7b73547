// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan that `omptier run` made itself, handed to the program as a file. A file, not an open
// descriptor: programs close what they did not open (daemons before anything else), and what they
// start may read the plan too, after they have ended.
#pragma once

#include "base/text.hpp"

#include <string>

namespace omptier {

class HandedPlan {
public:
  // Writes the text to a file of this user's alone in the folder for temporary files, and removes
  // such files of earlier runs that nobody uses any more. The path, or why there is none.
  Parsed<std::string> write(const std::string& text);

  // Whether it was tried in vain: no fault of the plan's.
  bool refused() const { return refused_; }

  // Removes the file, unless a process is left that was started with it: a later run does, then.
  ~HandedPlan();
  HandedPlan() = default;
  HandedPlan(const HandedPlan&) = delete;
  HandedPlan& operator=(const HandedPlan&) = delete;

private:
  std::string path_;
  bool refused_ = false;
};

} // namespace omptier
