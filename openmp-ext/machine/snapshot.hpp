// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Snapshots of guests that have booted and wait for their request, before anything of the host is
// mounted. The cache has one file for each combination of what it depends on (preset, kernel, init
// program, QEMU, kernel options). One rename by the holder of the lock makes it visible; other
// processes wait and then restore it. The last few used of each machine are kept.
#pragma once

#include "machine/guest.hpp"

#include <filesystem>
#include <string>

namespace omptier {

// A machine could not be saved for lack of space or permission: the run goes on without.
class NoSnapshot : public Failure {
public:
  using Failure::Failure;
  explicit NoSnapshot(const Failure& failure) : Failure(failure) {}
};

class SnapshotStore {
public:
  // key: everything that the snapshot depends on. label: prefix of the file's name.
  SnapshotStore(const std::filesystem::path& cache, const std::string& label,
                const std::string& key);

  File open() const;

  // The lock for making the snapshot, held as long as the returned file; none while another process
  // has it. Throws NoSnapshot if the cache cannot be written.
  File try_lock() const;

  // Saves a guest that is ready and resumes it. Throws NoSnapshot if there is no room.
  void save(Guest& guest, Watch& watch) const;

  // Restores the file into a waiting QEMU (-incoming defer) and runs the guest.
  static void restore(Guest& guest, const File& file, Watch& watch);

  // Removes a snapshot that could not be restored.
  void remove() const;

private:
  void remove_old() const;

  std::filesystem::path folder_;
  std::string label_;
  std::filesystem::path file_;
};

} // namespace omptier
