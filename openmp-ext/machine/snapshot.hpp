// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Saved machines: a guest that has booted and waits for its request, before anything of the host is
// mounted. One file in the cache for each combination of what it depends on (machine, kernel,
// guest's first program, QEMU, kernel options). It appears under its name by one rename, made by
// whoever holds the lock; others wait and then restore it.
#pragma once

#include "machine/guest.hpp"

#include <filesystem>
#include <string>

namespace omptier {

class SnapshotStore {
public:
  // key: everything the saved machine depends on. label: start of the file's name.
  SnapshotStore(const std::filesystem::path& cache, const std::string& label,
                const std::string& key);

  // The saved machine, opened for reading, or no file.
  File open() const;

  // Waits for the right to make it; a file that someone else made meanwhile is what open() then
  // finds. Returns the lock, to be held until it is saved. Throws Failure when the cache cannot be
  // written.
  File lock() const;

  // Saves a ready guest and lets it run on. Throws Failure, with the guest running on, when there
  // is no room.
  void save(Guest& guest) const;

  // Fills a waiting QEMU (-incoming defer) from the file; the guest then runs.
  static void restore(Guest& guest, const File& file);

private:
  void remove_old() const;

  std::filesystem::path folder_;
  std::string label_;
  std::filesystem::path file_;
};

} // namespace omptier
