// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omptier diff of two profiles: what changed from one run of a program to another, beyond noise.
#pragma once

#include <string>

namespace omptier {

struct ProfileDiffArguments {
  std::string a, b;
  std::string page;     // file to write a page with pictures to; "": text
  std::string pictures; // pictures_folder()
  bool json = false, force = false, resolve = false;
};

// By its first bytes; false also if it cannot be read.
bool is_profile(const std::string& path);

// The exit status.
int diff_profiles(const ProfileDiffArguments& arguments);

} // namespace omptier
