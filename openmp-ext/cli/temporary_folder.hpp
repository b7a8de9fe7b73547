// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A folder of one's own for temporary files, in TMPDIR, that goes with its files at the end.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace omptier {

class TemporaryFolder {
public:
  TemporaryFolder() {
    std::error_code error;
    std::string name = (std::filesystem::temp_directory_path(error) / "omptier-XXXXXX").string();
    if (!error && ::mkdtemp(name.data()) != nullptr) path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  const std::string& path() const { return path_; } // "": there is none

private:
  std::string path_;
};

} // namespace omptier
