// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Saved machines: a guest that has booted and waits for its request, before anything of the host is
// mounted. One file in the cache for each combination of what it depends on (machine, kernel,
// guest's first program, QEMU, kernel options). It appears under its name by one rename, made by
// whoever holds the lock; others wait and then restore it. Of each machine the few last used are
// kept.
#pragma once

#include "machine/guest.hpp"

#include <filesystem>
#include <string>

namespace omptier {

// A machine could not be saved, for want of room or rights: a run can do without.
class NoSnapshot : public Failure {
public:
  using Failure::Failure;
  explicit NoSnapshot(const Failure& failure) : Failure(failure) {}
};

class SnapshotStore {
public:
  // key: everything the saved machine depends on. label: start of the file's name.
  SnapshotStore(const std::filesystem::path& cache, const std::string& label,
                const std::string& key);

  // The saved machine, opened for reading, or no file.
  File open() const;

  // The right to make it, held as long as the returned file; none while someone else has it. Throws
  // NoSnapshot when the cache cannot be written.
  File try_lock() const;

  // Saves a ready guest and lets it run on. Throws NoSnapshot when there is no room.
  void save(Guest& guest, Watch& watch) const;

  // Fills a waiting QEMU (-incoming defer) from the file; the guest then runs.
  static void restore(Guest& guest, const File& file, Watch& watch);

  // Takes a file away that could not be restored.
  void remove() const;

private:
  void remove_old() const;

  std::filesystem::path folder_;
  std::string label_;
  std::filesystem::path file_;
};

} // namespace omptier
