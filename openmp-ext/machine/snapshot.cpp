// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See snapshot.hpp. The state goes through QEMU's migration to a plain file whose descriptor it is
// handed. It includes the memory-event unit, empty when saved: a restore leaves zeros in it, and the
// time model writes its header when it is switched on, which is later.
#include "machine/snapshot.hpp"

#include "machine/hash.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

namespace omptier {
namespace {

constexpr auto k_kept = std::chrono::hours(24 * 7); // unused snapshots of a machine are removed

} // namespace

SnapshotStore::SnapshotStore(const std::filesystem::path& cache, const std::string& label,
                             const std::string& key)
    : folder_(cache / "snapshots"), label_(label),
      file_(folder_ / (label + "-" + hash_text(key) + ".state")) {}

File SnapshotStore::open() const {
  File file(::open(file_.c_str(), O_RDONLY | O_CLOEXEC));
  if (file) ::futimens(file.get(), nullptr); // last used now; fails harmlessly if not ours
  return file;
}

File SnapshotStore::lock() const {
  std::error_code error;
  std::filesystem::create_directories(folder_, error);
  const std::filesystem::path path = file_.string() + ".lock";
  File lock(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (!lock) throw system_failure("cannot write " + path.string(), errno);
  while (::flock(lock.get(), LOCK_EX) != 0)
    if (errno != EINTR) throw system_failure("cannot lock " + path.string(), errno);
  return lock;
}

void SnapshotStore::remove_old() const {
  std::error_code error;
  const auto now = std::filesystem::file_time_type::clock::now();
  for (const auto& entry : std::filesystem::directory_iterator(folder_, error)) {
    const std::string name = entry.path().filename().string();
    if (!name.starts_with(label_ + "-") || entry.path().extension() != ".state") continue;
    if (entry.path() != file_ && now - entry.last_write_time(error) > k_kept && !error) {
      std::filesystem::remove(entry.path(), error);
      std::filesystem::remove(entry.path().string() + ".lock", error);
    }
  }
}

void SnapshotStore::save(Guest& guest) const {
  remove_old();
  const std::filesystem::path partial = file_.string() + ".partial";
  File file(::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (!file) throw system_failure("cannot write " + partial.string(), errno);
  guest.monitor("stop");
  guest.monitor("migrate-set-parameters", {{"max-bandwidth", 10ull << 30}});
  guest.pass_file("snapshot", file.get());
  guest.monitor("migrate", {{"uri", "fd:snapshot"}});
  std::string status;
  while (status != "completed" && status != "failed") {
    ::usleep(20000);
    status = guest.monitor("query-migrate").value("status", "");
  }
  guest.monitor("cont");
  if (status == "completed" && ::rename(partial.c_str(), file_.c_str()) == 0) return;
  struct statvfs space = {};
  ::statvfs(partial.c_str(), &space);
  ::unlink(partial.c_str());
  if (space.f_bavail * space.f_frsize < (256u << 20))
    throw system_failure("cannot save the booted machine in " + folder_.string(), ENOSPC);
  throw Failure(k_status_our_failure,
                "QEMU could not save the booted machine in " + folder_.string());
}

void SnapshotStore::restore(Guest& guest, const File& file) {
  guest.pass_file("snapshot", file.get());
  guest.monitor("migrate-incoming", {{"uri", "fd:snapshot"}});
  for (;;) {
    const std::string status = guest.monitor("query-status").value("status", "");
    if (status == "running") return;
    if (status == "paused") guest.monitor("cont");
    if (status == "internal-error")
      throw Failure(k_status_our_failure, "QEMU could not restore the saved machine");
    ::usleep(3000);
  }
}

} // namespace omptier
