// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The profiles that `omptier record` has written. Names contain process numbers and ranks, so they
// are searched: files that begin like the pattern and are new or changed since.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace omptier {

// Whether a file begins as one; false if it cannot be read.
bool is_profile(const std::filesystem::path& path);

class WrittenProfiles {
public:
  // pattern: absolute path, as in OMPTIER_PROFILE. Made before the program starts.
  explicit WrittenProfiles(const std::filesystem::path& pattern);

  struct Written {
    std::size_t files = 0;
    std::uint64_t bytes = 0;
  };
  Written now() const;
  std::vector<std::string> paths() const;

private:
  struct State {
    std::filesystem::file_time_type time;
    std::uint64_t bytes = 0;
    bool operator==(const State&) const = default;
  };
  std::map<std::string, State> profiles() const;
  std::map<std::string, State> written() const;

  std::filesystem::path folder_;
  std::string beginning_; // of the names, before the first % and the ending
  std::map<std::string, State> before_;
};

} // namespace omptier
