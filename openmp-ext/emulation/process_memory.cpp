// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// process_vm_readv on the own process costs about as much as getpid. Containers that filter it
// (older Docker profiles) get pread of /proc/self/mem, opened each time because after a fork an old
// descriptor would show the parent.

#include "emulation/process_memory.hpp"

#include "base/os.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

namespace omptier {

namespace {

bool read_through_file(std::uint64_t address, void* to, std::size_t bytes) {
  int fd = os().open("/proc/self/mem", O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return false;
  ssize_t got = pread(fd, to, bytes, static_cast<off_t>(address));
  os().close(fd);
  return got == static_cast<ssize_t>(bytes);
}

} // namespace

bool read_own_memory(std::uint64_t address, void* to, std::size_t bytes) {
  static std::atomic<bool> refused = false;
  if (!refused.load(std::memory_order_relaxed)) {
    iovec local = {to, bytes};
    iovec remote = {reinterpret_cast<void*>(address), bytes};
    ssize_t got = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (got >= 0 || (errno != EPERM && errno != ENOSYS)) return got == static_cast<ssize_t>(bytes);
    refused = true;
  }
  return read_through_file(address, to, bytes);
}

const MemoryLines::Line* MemoryLines::line(std::uint64_t number) {
  Line& line = lines_[slot(number)];
  if (line.number == number) return &line;
  line.number = number;
  if (read_own_memory(number * k_line, line.bytes.data(), k_line)) return &line;
  line.number = ~std::uint64_t{0};
  return nullptr;
}

bool MemoryLines::read(std::uint64_t address, void* to, std::size_t bytes) {
  auto* target = static_cast<std::uint8_t*>(to);
  while (bytes > 0) {
    const std::size_t at = address % k_line, count = std::min(bytes, k_line - at);
    const Line* found = line(address / k_line);
    if (found == nullptr) return false;
    std::memcpy(target, found->bytes.data() + at, count);
    target += count, address += count, bytes -= count;
  }
  return true;
}

} // namespace omptier
