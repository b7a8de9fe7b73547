// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A plan that `omptier run` derived for the present build, passed to the program as a file. Not as
// an open descriptor: programs close descriptors that they did not open (daemons do so first), and
// processes that they start may read the plan after they have ended.
#pragma once

#include "base/text.hpp"

#include <string>

namespace omptier {

class HandedPlan {
public:
  // Writes the text to a file in the temporary folder that only this user can read, and removes
  // files of earlier runs that are no longer in use. Returns the path, or why there is none.
  Parsed<std::string> write(const std::string& text);

  // True if writing failed: then the plan is not at fault.
  bool refused() const { return refused_; }

  // Removes the file, or leaves it to a later run while a process started with it still runs.
  ~HandedPlan();
  HandedPlan() = default;
  HandedPlan(const HandedPlan&) = delete;
  HandedPlan& operator=(const HandedPlan&) = delete;

private:
  std::string path_;
  bool refused_ = false;
};

} // namespace omptier
