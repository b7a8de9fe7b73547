// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See folder.hpp. The file is unnamed, so nothing is left behind however the process ends.
#include "placement/folder.hpp"

#include "base/notices.hpp"
#include "base/os.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <linux/falloc.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#ifndef STATX_ATTR_DAX
#define STATX_ATTR_DAX 0x00200000
#endif

namespace omptier {
namespace {

// The program may have closed all descriptors and opened a file of its own with the same number,
// which must not be truncated, filled or punched. Ours has no name and at least the mapped size.
bool is_unnamed(int file, std::uint64_t bytes) {
  struct stat status = {};
  return os().file_status(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_nlink == 0 &&
         static_cast<std::uint64_t>(status.st_size) >= bytes;
}

} // namespace

std::string Folder::open(const char* path, bool any_file_system) {
  const int file = os().open(path, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0) return std::string(path) + ": no file can be made there: " + std::strerror(errno);
  struct statx facts = {};
  const bool dax = ::statx(file, "", AT_EMPTY_PATH, STATX_BASIC_STATS, &facts) == 0 &&
                   (facts.stx_attributes & STATX_ATTR_DAX) != 0;
  if (!dax && !any_file_system) {
    os().close(file);
    return std::string(path) + ": not mounted with the option dax, so its data would be in "
                               "ordinary memory (the page cache)";
  }
  path_ = path;
  file_ = file;
  return {};
}

Folder::~Folder() {
  if (file_ >= 0) os().close(file_);
}

std::uint64_t Folder::free_bytes() const {
  struct statvfs space = {};
  return !of_parent_ && ::fstatvfs(file_, &space) == 0 ? space.f_bavail * space.f_frsize : 0;
}

std::uint64_t Folder::capacity() const {
  struct statvfs space = {};
  return ::fstatvfs(file_, &space) == 0 ? space.f_blocks * space.f_frsize : 0;
}

const Folder::Slice* Folder::slice_of(std::uintptr_t begin) const {
  const unsigned count = count_.load(std::memory_order_acquire);
  for (unsigned i = 0; i < count; ++i)
    if (begin - slices_[i].begin < slices_[i].bytes) return &slices_[i];
  return nullptr;
}

Backing::Bound Folder::bind(std::uintptr_t begin, std::size_t bytes, const Binding&) {
  const unsigned count = count_.load(std::memory_order_relaxed);
  if (of_parent_ || count == k_most_slices) return Bound::no;
  const std::uint64_t offset =
      count == 0 ? 0 : slices_[count - 1].offset + slices_[count - 1].bytes;
  if (!is_unnamed(file_, offset)) return Bound::no;
  if (os().set_file_size(file_, static_cast<off_t>(offset + bytes)) != 0) return Bound::no;
  // Replaces the reservation of the same addresses atomically.
  if (os().map(reinterpret_cast<void*>(begin), bytes, PROT_NONE, MAP_SHARED | MAP_FIXED, file_,
               static_cast<off_t>(offset)) == MAP_FAILED)
    return Bound::no;
  slices_[count] = {begin, bytes, offset};
  count_.store(count + 1, std::memory_order_release);
  return Bound::yes;
}

bool Folder::commit(std::uintptr_t begin, std::size_t bytes) {
  const Slice* slice = slice_of(begin);
  if (slice == nullptr || of_parent_ || !is_unnamed(file_, slice->offset + slice->bytes) ||
      os().allocate_range(file_, 0, static_cast<off_t>(slice->offset + (begin - slice->begin)),
                          static_cast<off_t>(bytes)) != 0)
    return false;
  if (os().protect(reinterpret_cast<void*>(begin), bytes, PROT_READ | PROT_WRITE) == 0) return true;
  drop(begin, bytes);
  return false;
}

bool Folder::drop(std::uintptr_t begin, std::size_t bytes) {
  if (of_parent_) return true; // nothing is handed out any more
  const Slice* slice = slice_of(begin);
  return slice != nullptr &&
         (bytes == 0 ||
          (is_unnamed(file_, slice->offset + slice->bytes) &&
           os().allocate_range(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
                               static_cast<off_t>(slice->offset + (begin - slice->begin)),
                               static_cast<off_t>(bytes)) == 0));
}

void Folder::warn_of_refused_copies() const {
  warn_once(Notice::folder_after_fork,
            "OMPTIER_PMEM=%s: the kernel refuses a forked child copies of its parent's blocks "
            "there (%s): the child ends if it uses them.",
            path_.c_str(), strerrordesc_np(errno));
}

// Read-only, since the kernel may count all of a writable mapping as memory in use.
void Folder::leave_to_parent() {
  if (of_parent_) return; // what a child has written, its own child has too
  of_parent_ = true;
  for (unsigned i = 0; i < count_.load(std::memory_order_acquire); ++i) {
    Slice& slice = slices_[i];
    if (!is_unnamed(file_, slice.offset + slice.bytes)) continue; // it stays as it is
    void* const begin = reinterpret_cast<void*>(slice.begin);
    slice.copied = os().map(begin, slice.bytes, PROT_READ, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE,
                            file_, static_cast<off_t>(slice.offset)) != MAP_FAILED;
    if (slice.copied) continue;
    warn_of_refused_copies();
    // Whatever the child does then, it does not write to its parent's blocks.
    if (os().protect(begin, slice.bytes, PROT_NONE) != 0) os().unmap(begin, slice.bytes);
  }
}

void Folder::let_child_write(std::uintptr_t begin, std::size_t bytes) {
  const Slice* slice = slice_of(begin);
  if (slice != nullptr && slice->copied && bytes != 0 &&
      os().protect(reinterpret_cast<void*>(begin), bytes, PROT_READ | PROT_WRITE) != 0)
    warn_of_refused_copies();
}

} // namespace omptier
