// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file of the job's ledger: finds or creates it, checks it, takes a slot, leaves, removes it.
// Byte 0 is locked meanwhile, so that a file that another process is about to join is not removed;
// byte 1 + i is locked by the process of slot i while it lives.
#include "base/kernel_files.hpp"
#include "base/notices.hpp"
#include "base/os.hpp"
#include "placement/job.hpp"
#include "placement/job_ledger.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

#ifndef F_OFD_SETLK
#define F_OFD_GETLK 36
#define F_OFD_SETLK 37
#endif

namespace omptier {
namespace {

constexpr int k_most_reopens = 16; // of a file that is removed while it is being joined
constexpr std::size_t k_fixed_part = offsetof(JobFileHeader, slots_seen);
constexpr int k_most_waits = 2000; // of 100 us and the wake-up, for the lock of byte 0

bool set_lock(int fd, off_t byte, short type) {
  struct flock range{};
  range.l_type = type;
  range.l_whence = SEEK_SET;
  range.l_start = byte;
  range.l_len = 1;
  return os().lock_file(fd, F_OFD_SETLK, &range) == 0;
}

// Tries that often, which takes 0.4 s on a quiet machine and longer where the holder gets no
// processor: who gives up too soon counts alone, beside the others. False and errno on failure.
// Called without locks.
bool lock_begin(int fd) {
  for (int i = 0; i < k_most_waits; ++i) {
    if (set_lock(fd, 0, F_WRLCK)) return true;
    if (errno != EAGAIN && errno != EACCES && errno != EINTR) return false;
    const timespec pause{0, 100'000};
    ::nanosleep(&pause, nullptr);
  }
  return false;
}

// True when another process holds the lock of some slot, or that cannot be determined.
bool anybody_alive(int fd) {
  struct flock range{};
  range.l_type = F_WRLCK;
  range.l_whence = SEEK_SET;
  range.l_start = 1;
  range.l_len = 0; // to the end, including slots of other versions
  return os().lock_file(fd, F_OFD_GETLK, &range) != 0 || range.l_type != F_UNLCK;
}

// When a process started, in clock ticks since boot; 0 when unknown.
std::uint64_t start_time_of(std::uint64_t pid) {
  char text[1024];
  const char* at = read_stat_field(static_cast<pid_t>(pid), 22, text, sizeof text);
  return at != nullptr ? std::strtoull(at, nullptr, 10) : 0;
}

// Whether the process of a slot has ended, according to its numbers: they are valid in our pid
// namespace only, and a reused number has another start time.
bool is_gone(const JobSlot& slot, std::uint64_t our_namespace) {
  const std::uint64_t pid = slot.pid.load();
  if (our_namespace == 0 || slot.pid_namespace.load() != our_namespace) return false;
  if (::kill(static_cast<pid_t>(pid), 0) != 0 && errno == ESRCH) return true;
  const std::uint64_t started = slot.start_time.load();
  const std::uint64_t now = started != 0 ? start_time_of(pid) : 0;
  return now != 0 && now != started;
}

// The magic number last: a header without it was never finished.
void fill(JobFileHeader& header) {
  header.version = k_job_version;
  header.header_bytes = sizeof(JobFileHeader);
  header.slot_bytes = sizeof(JobSlot);
  header.slots = k_job_slots;
  header.nodes = k_max_nodes;
  header.uid = static_cast<std::uint32_t>(::geteuid());
  std::atomic_ref(header.magic).store(k_job_magic);
}

void clear(JobSlot& slot) {
  slot.asking_bytes.store(0);
  slot.coming.store(0);
  slot.recount.store(0);
  for (auto& bytes : slot.granted)
    bytes.store(0);
  slot.start_time.store(0);
  slot.pid_namespace.store(0);
  slot.pid.store(0);
}

} // namespace

bool JobLedger::fail(const char* why) {
  why_ = why;
  return false;
}

// Accepts a regular file that only our user may write to, of this format or empty. Byte 0 is
// locked. A file that no process uses is initialised again: its creator was killed, or older.
bool JobLedger::check(int fd, bool& fresh) {
  struct stat status{};
  if (os().file_status(fd, &status) != 0) return fail("it cannot be examined");
  if (!S_ISREG(status.st_mode)) return fail("it is no regular file");
  if (status.st_uid != ::geteuid()) return fail("it belongs to another user");
  if ((status.st_mode & 077) != 0) return fail("others may read or write it");
  inode_ = status.st_ino;
  fresh = status.st_size == 0;
  if (fresh) return true;
  JobFileHeader header, wanted;
  fill(wanted);
  const ssize_t got = os().read(fd, static_cast<void*>(&header), sizeof header);
  if (got != static_cast<ssize_t>(sizeof header) ||
      (header.magic != k_job_magic && header.magic != 0))
    return fail("it is no ledger of a job");
  if (std::memcmp(static_cast<void*>(&header), static_cast<void*>(&wanted), k_fixed_part) == 0 &&
      status.st_size == static_cast<off_t>(sizeof(JobFile)))
    return true;
  fresh = !anybody_alive(fd);
  return fresh || fail("it is of another version, or damaged");
}

// A slot whose byte is not locked is free, whatever it contains.
bool JobLedger::take_slot(int fd, JobFile& file, unsigned& taken) {
  for (unsigned i = 0; i < k_job_slots; ++i) {
    if (!set_lock(fd, 1 + static_cast<off_t>(i), F_WRLCK)) {
      if (errno != EAGAIN && errno != EACCES) return fail("it cannot be locked");
      continue;
    }
    JobSlot& slot = file.slots[i];
    clear(slot);
    const auto pid = static_cast<std::uint64_t>(::getpid());
    slot.start_time.store(start_time_of(pid));
    slot.pid_namespace.store(pid_namespace());
    slot.pid.store(pid);
    std::atomic<std::uint64_t>& seen = file.header.slots_seen;
    seen.store(std::clamp<std::uint64_t>(seen.load(), i + 1, k_job_slots));
    taken = i;
    return true;
  }
  return fail("all of its slots are taken");
}

JobFile* JobLedger::attach_to(int fd, unsigned& slot) {
  bool fresh = false;
  if (!check(fd, fresh)) return nullptr;
  // Extended to the size that other processes expect, with all of it allocated.
  if (fresh && (os().set_file_size(fd, sizeof(JobFile)) != 0 ||
                os().allocate_file(fd, sizeof(JobFile)) != 0))
    return fail("there is no room for it in shared memory"), nullptr;
  void* at = os().map(nullptr, sizeof(JobFile), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (at == MAP_FAILED) return fail("it cannot be mapped"), nullptr;
  auto* file = static_cast<JobFile*>(at);
  fresh_file_.store(file);
  if (fresh) {
    std::memset(at, 0, sizeof(JobFile));
    fill(file->header);
  }
  if (take_slot(fd, *file, slot)) return file;
  fresh_file_.store(nullptr);
  os().unmap(at, sizeof(JobFile));
  return nullptr;
}

int JobLedger::open_file(int flags) {
  const int fd = os().open(path_, flags | O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600);
  open_fd_.store(fd);
  return fd;
}

// Unlocks byte 0 explicitly: a child forked meanwhile would keep the lock.
void JobLedger::close_file(int fd) {
  set_lock(fd, 0, F_UNLCK);
  open_fd_.store(-1);
  os().close(fd);
}

// The mapping keeps our slot's lock; closing the descriptor ends the lock of byte 0.
JobFile* JobLedger::attach(unsigned& slot) {
  fail("it is removed again and again");
  for (int attempt = 0; attempt < k_most_reopens; ++attempt) {
    const int fd = open_file(O_CREAT);
    if (fd < 0) return fail(std::strerror(errno)), nullptr;
    struct stat status{};
    JobFile* file = nullptr;
    if (!lock_begin(fd)) {
      fail("it cannot be locked");
    } else if (os().file_status(fd, &status) == 0 && status.st_nlink == 0) {
      close_file(fd); // removed before we had the lock
      continue;
    } else {
      file = attach_to(fd, slot);
    }
    close_file(fd); // the mapping keeps the file open
    return file;
  }
  return nullptr;
}

void JobLedger::enter_now() {
  State apart = State::apart;
  if (!state_.compare_exchange_strong(apart, State::entering)) return;
  const NotCancelled meanwhile;
  unsigned slot = 0;
  opening_.test_and_set(); // no other thread opens a file that is not entered
  mark_.set();
  JobFile* const file = attach(slot);
  opening_.clear();
  if (file == nullptr) {
    state_.store(State::alone, std::memory_order_release);
    warn_once(Notice::job_ledger,
              "The job's ledger %s cannot be used (%s): memory that other processes of the job hold "
              "is counted only once it is touched.",
              path_, why_.load());
    return;
  }
  const std::lock_guard guard(lock_);
  why_ = "";
  slot_ = slot;
  file_ = file;
  fresh_file_.store(nullptr);
  // Publishes what was granted meanwhile.
  JobSlot& own = file->slots[slot];
  own.coming.store(coming_);
  for (const Account& account : accounts_)
    for (unsigned node = 0; node < k_max_nodes; ++node)
      own.granted[node].fetch_add(account.bytes[node]);
  state_.store(State::entered, std::memory_order_release);
}

// Under the lock of byte 0, a slot whose byte can be locked is unused. While another process or
// thread has the file locked, nothing is reclaimed.
unsigned JobLedger::reclaim() {
  if (opening_.test_and_set()) return 0;
  JobFile* file = nullptr;
  unsigned own = 0, count = 0, slots = 0;
  {
    const std::lock_guard guard(lock_);
    file = own_file(); // while we hold opening_, it is not unmapped
    own = slot_;
    if (file != nullptr) slots = slots_seen();
  }
  const int fd = file != nullptr ? open_file(0) : -1;
  const std::uint64_t ours = fd >= 0 ? pid_namespace() : 0;
  struct stat status{};
  if (fd >= 0 && os().file_status(fd, &status) == 0 && status.st_ino == inode_ &&
      set_lock(fd, 0, F_WRLCK)) {
    for (unsigned i = 0; i < slots; ++i) {
      if (i == own || file->slots[i].pid.load() == 0) continue;
      const off_t byte = 1 + static_cast<off_t>(i);
      const bool unlocked = set_lock(fd, byte, F_WRLCK);
      if (!unlocked && !is_gone(file->slots[i], ours)) continue;
      clear(file->slots[i]);
      if (unlocked) set_lock(fd, byte, F_UNLCK);
      ++count;
    }
  }
  if (fd >= 0) close_file(fd);
  opening_.clear();
  return count;
}

// If another thread has the file open, the file stays, and so does our mapping.
void JobLedger::leave() {
  const NotCancelled meanwhile;
  state_.store(State::alone, std::memory_order_release);
  const bool opening = !opening_.test_and_set();
  JobFile* file = nullptr;
  {
    const std::lock_guard guard(lock_);
    own_file(); // a parent's slot is not cleared
    file = std::exchange(file_, nullptr);
    if (file != nullptr) clear(file->slots[slot_]);
  }
  if (!opening) return;
  if (file != nullptr) {
    const int fd = open_file(0);
    struct stat status{};
    const bool ours =
        fd >= 0 && os().file_status(fd, &status) == 0 && status.st_ino == inode_ && lock_begin(fd);
    os().unmap(file, sizeof(JobFile)); // and the lock of our slot
    if (ours && !anybody_alive(fd)) os().unlink(path_);
    if (fd >= 0) close_file(fd);
  }
  opening_.clear();
}

void JobLedger::forget_parent() {
  if (const int fd = open_fd_.exchange(-1); fd >= 0) os().close(fd);
  if (JobFile* fresh = fresh_file_.exchange(nullptr); fresh != nullptr && fresh != file_)
    os().unmap(fresh, sizeof(JobFile));
  if (file_ != nullptr) os().unmap(file_, sizeof(JobFile)); // the parent's own mapping stays
  file_ = nullptr;
  opening_.clear();
  coming_ = 0;
  for (Account& account : accounts_)
    for (std::uint64_t& bytes : account.bytes) {
      account.inherited += bytes;
      bytes = 0;
    }
  if (state_.load() != State::alone) state_.store(State::apart);
}

unsigned remove_stale_job_ledgers(const char* path) {
  const char* const name = std::strrchr(path, '/');
  // The common prefix is "…/omptier-<user>-".
  const char* const first = name != nullptr ? std::strchr(name, '-') : nullptr;
  const char* const second = first != nullptr ? std::strchr(first + 1, '-') : nullptr;
  if (second == nullptr) return 0;
  char folder[200];
  std::snprintf(folder, sizeof folder, "%.*s", static_cast<int>(name - path), path);
  DIR* const list = ::opendir(folder);
  if (list == nullptr) return 0;
  unsigned count = 0;
  while (const dirent* entry = ::readdir(list)) {
    if (std::strncmp(entry->d_name, name + 1, static_cast<std::size_t>(second - name)) != 0 ||
        std::strcmp(entry->d_name, name + 1) == 0)
      continue;
    char other[512];
    std::snprintf(other, sizeof other, "%s/%s", folder, entry->d_name);
    const int fd = os().open(other, O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0);
    if (fd < 0) continue;
    struct stat status{};
    std::uint64_t magic = 0;
    if (os().file_status(fd, &status) == 0 && S_ISREG(status.st_mode) &&
        status.st_uid == ::geteuid() && status.st_size == static_cast<off_t>(sizeof(JobFile)) &&
        os().read(fd, &magic, sizeof magic) == sizeof magic && magic == k_job_magic &&
        set_lock(fd, 0, F_WRLCK) && !anybody_alive(fd) && os().unlink(other) == 0)
      ++count;
    os().close(fd);
  }
  ::closedir(list);
  return count;
}

} // namespace omptier
