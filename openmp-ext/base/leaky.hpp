// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Storage for a process's single object, never destroyed, because static destructors of other
// libraries still free blocks through us. Whoever creates the object decides when.
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
