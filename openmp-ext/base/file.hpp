// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Owns a file descriptor and closes it; -1 is none.
#pragma once

#include <unistd.h>
#include <utility>

namespace omptier {

class File {
public:
  explicit File(int descriptor = -1) : descriptor_(descriptor) {}
  File(File&& other) noexcept : descriptor_(other.release()) {}
  File& operator=(File&& other) noexcept {
    const int taken = other.release();
    reset();
    descriptor_ = taken;
    return *this;
  }
  ~File() { reset(); }
  int get() const { return descriptor_; }
  int release() { return std::exchange(descriptor_, -1); }
  void reset() {
    if (descriptor_ >= 0) ::close(descriptor_);
    descriptor_ = -1;
  }
  explicit operator bool() const { return descriptor_ >= 0; }

private:
  int descriptor_;
};

} // namespace omptier
