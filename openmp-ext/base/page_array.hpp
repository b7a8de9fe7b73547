// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A growing array in pages of our own: lists for decisions must not use the program's malloc, whose
// blocks may be ours to place. Elements are plain data and move when the array grows.
#pragma once

#include "base/page_arena.hpp"

#include <algorithm>
#include <span>
#include <type_traits>
#include <utility>

namespace omptier {

template <typename T> class PageArray {
  static_assert(std::is_trivially_copyable_v<T> && std::is_trivially_destructible_v<T>);

public:
  constexpr PageArray() = default;
  PageArray(const PageArray&) = delete;
  PageArray& operator=(const PageArray&) = delete;
  ~PageArray() { release(); }

  // False when the kernel has no memory; the array is then unchanged.
  bool add(const T& element) {
    if (count_ == room_ && !reserve(std::max<std::size_t>(2 * room_, 4096 / sizeof(T) + 1)))
      return false;
    items_[count_++] = element;
    return true;
  }
  bool resize(std::size_t count, const T& element) {
    if (count > room_ && !reserve(count)) return false;
    std::fill(items_ + std::min(count, count_), items_ + count, element);
    count_ = count;
    return true;
  }
  void remove(std::size_t index) {
    std::copy(items_ + index + 1, items_ + count_, items_ + index);
    --count_;
  }
  void clear() { count_ = 0; }
  void swap(PageArray& other) noexcept {
    std::swap(items_, other.items_);
    std::swap(count_, other.count_);
    std::swap(room_, other.room_);
  }
  void release() {
    if (items_ != nullptr) unmap_pages(items_, room_ * sizeof(T));
    items_ = nullptr;
    count_ = room_ = 0;
  }

  std::size_t size() const { return count_; }
  bool empty() const { return count_ == 0; }
  T& operator[](std::size_t index) { return items_[index]; }
  const T& operator[](std::size_t index) const { return items_[index]; }
  T* begin() { return items_; }
  T* end() { return items_ + count_; }
  const T* begin() const { return items_; }
  const T* end() const { return items_ + count_; }
  std::span<T> all() { return {items_, count_}; }
  std::span<const T> all() const { return {items_, count_}; }

private:
  bool reserve(std::size_t room) {
    auto* larger = static_cast<T*>(map_pages(room * sizeof(T)));
    if (larger == nullptr) return false;
    std::copy(items_, items_ + count_, larger);
    const std::size_t count = count_;
    release();
    items_ = larger;
    count_ = count;
    room_ = room;
    return true;
  }

  T* items_ = nullptr;
  std::size_t count_ = 0, room_ = 0;
};

} // namespace omptier
