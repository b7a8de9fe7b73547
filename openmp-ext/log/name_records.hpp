// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The names of a profile's places as records after its own: written once, by `omptier record`, in
// blocks that continue the file's. Texts are numbered records of their own, since names of
// functions and files recur. If the file ends before the last of these records, there are no names.
#pragma once

#include "log/format.hpp"
#include "log/names.hpp"
#include "log/reader.hpp"
#include "log/record_body.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace omptier {

// The blocks to append at byte profile.bytes; "" when a text or a list is longer than a block (64
// KiB). Names of modules that the profile lacks are left out.
std::string encode_names(const ResolvedNames& names, const Profile& profile);

class NameReader {
public:
  void read_text(RecordBody& body);
  void read_frame(RecordBody& body);
  void read_site(RecordBody& body);
  void read_statics(RecordBody& body);
  void read_source(RecordBody& body);
  void read_end(RecordBody& body);
  // Nothing if there are no names, or not all of them.
  std::optional<ResolvedNames> finish(const std::vector<ModuleInfo>& modules);

private:
  struct NamedStatic {
    StaticVariable variable;
    std::string label; // "" = not asked for
  };
  std::string text(RecordBody& body);

  std::vector<std::string> texts_;
  std::vector<std::pair<Frame, ResolvedFrame>> frames_;
  std::vector<std::pair<std::vector<Frame>, std::vector<SiteNameFrom>>> sites_;
  std::vector<std::pair<std::uint32_t, std::vector<NamedStatic>>> statics_; // by module
  std::map<std::string, std::int64_t> sources_;
  bool complete_ = false;
};

} // namespace omptier
