// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of ompx_memory.h, for programs that look for them (dlsym, weak symbols) without
// linking libomptier: each passes on to libomptier.so, which is loaded at the first call.
#include "preload/library.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>

#define OMPTIER_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

template <typename R, typename... A> R pass_on(const char* name, R otherwise, A... arguments) {
  using Function = R (*)(A...);
  const auto function = reinterpret_cast<Function>(omptier::preload::library_function(name));
  if (function != nullptr) return function(arguments...);
  errno = ENOSYS;
  return otherwise;
}

} // namespace

OMPTIER_EXPORT std::uintptr_t ompx_name(const char* name) {
  return pass_on<std::uintptr_t>("ompx_name", 0, name);
}
OMPTIER_EXPORT int ompx_get_placement(const void* address, std::size_t bytes, void* result) {
  return pass_on<int>("ompx_get_placement", -1, address, bytes, result);
}
OMPTIER_EXPORT int ompx_place_range(void* begin, std::size_t bytes, std::uintptr_t allocator) {
  return pass_on<int>("ompx_place_range", -1, begin, bytes, allocator);
}
OMPTIER_EXPORT int ompx_dump(int fd) {
  return pass_on<int>("ompx_dump", -1, fd);
}
OMPTIER_EXPORT int ompx_phase(const char* name) {
  return pass_on<int>("ompx_phase", -1, name);
}
