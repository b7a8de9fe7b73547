// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runs that were measured, as a file of JSON lines: each run is appended as soon as it has
// ended, and a search that is started again finds it there. The first line says of what the runs
// are; a run is found by its key, which stands for the plan and the whole command. Each search ends
// with a line of what the model learned. A last line that was cut off is dropped.
#pragma once

#include "base/text.hpp"
#include "tuning/learned.hpp"

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace omptier {

struct StoredRun {
  double figure = 0;     // what is compared
  double seconds = 0;    // wall clock
  std::string failure;   // "" if it counts
  std::string placement; // in words, for people
  std::string not_placed; // the runtime's warning that data lay elsewhere; "" = none
};

class RunList {
public:
  // Makes the file or reads it; no other process can use it until this is gone. A failure is one
  // line with what to do: not writable, no such file's content, of another program or profile, in
  // use. Not thread-safe.
  static Parsed<RunList> open(const std::string& path, const std::string& program,
                              const std::string& profile);

  // The next run of that key which was in the file and was not taken yet.
  std::optional<StoredRun> take(const std::string& key);
  // On disk when it returns. False: it cannot be written (errno).
  bool append(const std::string& key, const StoredRun& run);
  // As append(). labels: of the summary's sites.
  bool append(const Learned& learned, std::span<const std::string> labels);
  std::size_t known() const { return known_; } // runs that were in the file, with any key

  RunList(RunList&& other) noexcept;
  RunList& operator=(RunList&& other) noexcept;
  ~RunList();

private:
  RunList() = default;
  std::string read(const std::string& path, const std::string& text, const std::string& program,
                   const std::string& profile);

  int file_ = -1;
  std::size_t known_ = 0;
  std::map<std::string, std::vector<StoredRun>> runs_; // by key, the last first
};

// What the last search in the file has learned. labels: of the summary's sites. A failure is one
// line with what to do: it cannot be read, holds nothing learned, or is of another profile.
Parsed<Learned> learned_in(const std::string& path, const std::string& profile,
                           std::span<const std::string> labels);

} // namespace omptier
