// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of ompx_memory.h, for programs that look them up (dlsym, weak symbols) without
// linking libomptier. Each forwards to libomptier.so, which is loaded at the first call.
#include "preload/library.hpp"
#include "preload/next.hpp"

#include <cerrno>
#include <cstddef>
#include <cstdint>

namespace {

template <typename R, typename... A> R pass_on(const char* name, R otherwise, A... arguments) {
  using Function = R (*)(A...);
  omptier::preload::find_openmp_runtime();
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

// The results of ompx_result_t.
namespace {
constexpr int k_no_runtime = 6;
}
OMPTIER_EXPORT int ompx_declare(void* pointer, std::size_t bytes, std::uintptr_t space, int count,
                                const void* traits) {
  return pass_on<int>("ompx_declare", k_no_runtime, pointer, bytes, space, count, traits);
}
OMPTIER_EXPORT int ompx_withdraw(void* pointer) {
  return pass_on<int>("ompx_withdraw", k_no_runtime, pointer);
}
OMPTIER_EXPORT int ompx_commit(int order, void* outcome) {
  return pass_on<int>("ompx_commit", k_no_runtime, order, outcome);
}
OMPTIER_EXPORT int ompx_update_traits(void* block, int count, const void* traits) {
  return pass_on<int>("ompx_update_traits", k_no_runtime, block, count, traits);
}
OMPTIER_EXPORT int ompx_update_allocator(std::uintptr_t allocator, int count, const void* traits) {
  return pass_on<int>("ompx_update_allocator", k_no_runtime, allocator, count, traits);
}
OMPTIER_EXPORT int ompx_apply(int order, void* outcome) {
  return pass_on<int>("ompx_apply", k_no_runtime, order, outcome);
}
OMPTIER_EXPORT int ompx_chunked_begin(const void* array, void** chunked) {
  return pass_on<int>("ompx_chunked_begin", k_no_runtime, array, chunked);
}
OMPTIER_EXPORT int ompx_chunked_next(void* chunked, void* chunk) {
  return pass_on<int>("ompx_chunked_next", k_no_runtime, chunked, chunk);
}
OMPTIER_EXPORT int ompx_chunked_end(void* chunked) {
  return pass_on<int>("ompx_chunked_end", k_no_runtime, chunked);
}
