// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The guest's kernel and initial RAM file system. make-guest puts the distribution's kernel and its
// modules into the cache folder once. The guest's init program is part of this library and is
// prepended to the modules at each boot, so a new build needs no new image.
#pragma once

#include <filesystem>
#include <string>

namespace omptier {

// $OMPTIER_CACHE, else $XDG_CACHE_HOME/omptier, else ~/.cache/omptier. Else throws Failure.
std::filesystem::path cache_folder();

struct GuestImage {
  std::filesystem::path kernel;  // ELF, loaded directly by QEMU
  std::filesystem::path modules; // cpio archive
  std::filesystem::path nvdimm;  // cpio archive of NVDIMM drivers; "" if the machine has none
  std::string identity;          // changes when any of the files changes
  std::string release;           // of the kernel, such as "6.1.0-56-amd64"
};

// Returns the image in the cache; if there is none, runs make-guest (installed beside the library)
// first, whose progress goes to stderr. Throws Failure (125) if that fails.
GuestImage find_or_make_guest_image(const std::filesystem::path& cache,
                                    const std::filesystem::path& make_guest, bool nvdimm);

// An anonymous file; the caller closes it. Throws Failure.
int open_initial_files(const GuestImage& image);

// Identity of the init program in this library, for the key of snapshots.
std::string agent_identity();

} // namespace omptier
