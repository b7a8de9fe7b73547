// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The guest's kernel and first RAM file system. make-guest puts the distribution's kernel and its
// modules into the cache folder once; the guest's own first program is part of this library, and is
// put in front of them for each boot, so a new build never needs a new image.
#pragma once

#include <filesystem>
#include <string>

namespace omptier {

// $OMPTIER_CACHE, else $XDG_CACHE_HOME/omptier, else ~/.cache/omptier. Throws Failure when none of
// them is set.
std::filesystem::path cache_folder();

struct GuestImage {
  std::filesystem::path kernel;  // ELF, started directly by QEMU
  std::filesystem::path modules; // cpio archive
  std::filesystem::path nvdimm;  // cpio archive of what NVDIMMs need; "" for machines without
  std::string identity;          // changes whenever one of the files does
  std::string release;           // of the kernel, such as "6.1.0-56-amd64"
};

// The image in the cache; when there is none, runs make-guest (a program beside the library), whose
// progress lines go to stderr. Throws Failure (125) when that does not succeed.
GuestImage find_or_make_guest_image(const std::filesystem::path& cache,
                                    const std::filesystem::path& make_guest, bool nvdimm);

// An anonymous file with the first RAM file system: the guest's first program, then the modules.
// The caller closes it. Throws Failure.
int open_initial_files(const GuestImage& image);

// Identity of the guest's first program in this library, for the key of snapshots.
std::string agent_identity();

} // namespace omptier
