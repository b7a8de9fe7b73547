// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See snapshot.hpp. QEMU's migration writes the state to a plain file whose descriptor it is
// passed. The state includes the memory-event unit, which is empty then: a restore leaves zeros in
// it, and the time model writes its header later, when it is switched on.
#include "machine/snapshot.hpp"

#include "machine/hash.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace omptier {
namespace {

constexpr std::size_t k_kept = 3; // snapshots kept of one machine (builds and kernels differ)

constexpr std::uint64_t k_size_at_most = 256 << 20; // bytes; the machines save 100 to 160 MB

// A file being written; removed unless it is renamed.
struct Partial {
  std::string path;
  ~Partial() { ::unlink(path.c_str()); }
};

} // namespace

SnapshotStore::SnapshotStore(const std::filesystem::path& cache, const std::string& label,
                             const std::string& key)
    : folder_(cache / "snapshots"), label_(label),
      file_(folder_ / (label + "-" + hash_text(key) + ".state")) {}

File SnapshotStore::open() const {
  File file(::open(file_.c_str(), O_RDONLY | O_CLOEXEC));
  if (file) ::futimens(file.get(), nullptr); // marks its use; failure is harmless
  return file;
}

File SnapshotStore::try_lock() const {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  const std::filesystem::path path = file_.string() + ".lock";
  File lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!lock) throw NoSnapshot(system_failure("cannot write " + path.string(), errno));
  if (::flock(lock.get(), LOCK_EX | LOCK_NB) == 0) return lock;
  if (errno != EWOULDBLOCK) throw NoSnapshot(system_failure("cannot lock " + path.string(), errno));
  return File();
}

void SnapshotStore::remove_old() const {
  using Entry = std::filesystem::directory_entry;
  std::error_code error;
  std::vector<std::pair<std::filesystem::file_time_type, std::filesystem::path>> saved;
  for (const Entry& entry : std::filesystem::directory_iterator(folder_, error)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with(label_ + "-") && entry.path().extension() == ".state")
      saved.emplace_back(entry.last_write_time(error), entry.path());
  }
  std::sort(saved.rbegin(), saved.rend());
  // A process that has one of them open may go on with it. Locks stay: they may be held.
  for (std::size_t i = k_kept - 1; i < saved.size(); ++i)
    std::filesystem::remove(saved[i].second, error);
}

void SnapshotStore::remove() const {
  std::error_code error;
  std::filesystem::remove(file_, error);
}

void SnapshotStore::save(Guest& guest, Watch& watch) const {
  remove_old();
  const Partial partial = {file_.string() + ".partial"};
  File file(::open(partial.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file) throw NoSnapshot(system_failure("cannot write " + partial.path, errno));
  guest.monitor("stop");
  guest.monitor("migrate-set-parameters", {{"max-bandwidth", 10ull << 30}});
  guest.pass_file("snapshot", file.get());
  guest.monitor("migrate", {{"uri", "fd:snapshot"}});
  std::string status;
  while (status != "completed" && status != "failed") {
    watch.pause(20);
    status = guest.monitor("query-migrate").value("status", "");
  }
  guest.monitor("cont");
  if (status == "completed" && ::rename(partial.path.c_str(), file_.c_str()) == 0) return;
  struct statvfs space = {};
  ::statvfs(folder_.c_str(), &space);
  const bool full = space.f_bavail * space.f_frsize < k_size_at_most;
  throw NoSnapshot(
      system_failure("cannot save the booted machine in " + folder_.string(), full ? ENOSPC : EIO));
}

void SnapshotStore::restore(Guest& guest, const File& file, Watch& watch) {
  guest.pass_file("snapshot", file.get());
  guest.monitor("migrate-incoming", {{"uri", "fd:snapshot"}});
  for (;;) {
    const std::string status = guest.monitor("query-status").value("status", "");
    if (status == "running") return;
    if (status == "paused") guest.monitor("cont");
    if (status == "internal-error")
      throw Failure(k_status_our_failure, "QEMU could not restore the saved machine");
    watch.pause(3);
  }
}

} // namespace omptier
