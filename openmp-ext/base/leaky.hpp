// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Storage for the one object of a process that is never destroyed: other libraries' static
// destructors run while somebody still frees through us. Whoever makes the object says when.
#pragma once

#include <new>

namespace omptier {

template <typename T> class Leaky {
public:
  template <typename... A> T& make(A&&... arguments) {
    return *new (storage_) T(static_cast<A&&>(arguments)...);
  }
  T& operator*() { return *std::launder(reinterpret_cast<T*>(storage_)); }
  T* operator->() { return &**this; }

private:
  alignas(T) unsigned char storage_[sizeof(T)];
};

} // namespace omptier
