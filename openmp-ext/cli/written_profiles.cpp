// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See written_profiles.hpp.
#include "cli/written_profiles.hpp"

#include "log/format.hpp"

#include <cstring>
#include <fstream>

namespace omptier {
namespace {

namespace fs = std::filesystem;

// Where ranks would share a name, "-%r" is put before the ending.
std::string fixed_beginning(const std::string& name) {
  return name.substr(0, std::min(name.find('%'), name.rfind('.')));
}

} // namespace

bool is_profile(const fs::path& path) {
  char magic[sizeof k_profile_magic] = {};
  std::ifstream file(path, std::ios::binary);
  return file.read(magic, sizeof magic) && std::memcmp(magic, k_profile_magic, sizeof magic) == 0;
}

WrittenProfiles::WrittenProfiles(const fs::path& pattern)
    : folder_(pattern.parent_path()), beginning_(fixed_beginning(pattern.filename().string())),
      before_(profiles()) {}

std::map<std::string, WrittenProfiles::State> WrittenProfiles::profiles() const {
  std::map<std::string, State> found;
  std::error_code error;
  for (fs::directory_iterator entry(folder_, error), end; !error && entry != end;
       entry.increment(error)) {
    const std::string name = entry->path().filename().string();
    std::error_code none;
    if (!name.starts_with(beginning_) || !entry->is_regular_file(none) ||
        !is_profile(entry->path()))
      continue;
    found[name] = {entry->last_write_time(none), entry->file_size(none)};
  }
  return found;
}

std::map<std::string, WrittenProfiles::State> WrittenProfiles::written() const {
  auto written = profiles();
  std::erase_if(written, [&](const auto& profile) {
    const auto before = before_.find(profile.first);
    return before != before_.end() && before->second == profile.second;
  });
  return written;
}

WrittenProfiles::Written WrittenProfiles::now() const {
  Written all;
  for (const auto& [name, state] : written()) {
    ++all.files;
    all.bytes += state.bytes;
  }
  return all;
}

std::vector<std::string> WrittenProfiles::paths() const {
  std::vector<std::string> paths;
  for (const auto& [name, state] : written())
    paths.push_back((folder_ / name).string());
  return paths;
}

} // namespace omptier
