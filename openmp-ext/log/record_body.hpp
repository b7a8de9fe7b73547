// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Numbers and texts of one record (format.hpp). A read past the end gives 0 and makes it invalid.
#pragma once

#include "log/format.hpp"
#include "objects/site.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

namespace omptier {

inline constexpr std::uint32_t k_largest_module = 1u << 14;

class RecordBody {
public:
  RecordBody(const char* begin, const char* end) : next_(begin), end_(end) {}
  bool good() const { return good_; }
  bool empty() const { return next_ == end_; }
  const char* at() const { return next_; }
  void fail() { good_ = false; }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64 && next_ < end_; shift += 7) {
      const auto byte = static_cast<unsigned char>(*next_++);
      value |= std::uint64_t(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    good_ = false;
    return 0;
  }
  template <typename... T> void numbers(T&... values) {
    ((values = static_cast<T>(number())), ...);
  }
  std::uint32_t small(std::uint32_t limit) {
    const std::uint64_t value = number();
    if (value >= limit) good_ = false;
    return good_ ? static_cast<std::uint32_t>(value) : 0;
  }
  std::uint64_t difference(std::uint64_t& reference) {
    return reference += static_cast<std::uint64_t>(unfold_sign(number()));
  }
  template <typename T> T raw() {
    T value{};
    if (static_cast<std::size_t>(end_ - next_) < sizeof value) {
      good_ = false;
      return value;
    }
    std::memcpy(&value, next_, sizeof value);
    next_ += sizeof value;
    return value;
  }
  std::string text() {
    const std::uint64_t length = number();
    if (length > static_cast<std::uint64_t>(end_ - next_)) good_ = false;
    if (!good_) return "";
    std::string value(next_, length);
    next_ += length;
    return value;
  }
  std::string rest() {
    std::string value(next_, end_);
    next_ = end_;
    return value;
  }
  std::vector<Frame> frames() {
    std::vector<Frame> frames(small(k_max_frames + 1));
    for (Frame& frame : frames) {
      frame.module = small(k_largest_module);
      frame.offset = number();
    }
    return frames;
  }
  RecordBody part(std::uint64_t bytes) {
    if (bytes > static_cast<std::uint64_t>(end_ - next_)) {
      good_ = false;
      return {end_, end_};
    }
    RecordBody body(next_, next_ + bytes);
    next_ += bytes;
    return body;
  }

private:
  const char* next_;
  const char* end_;
  bool good_ = true;
};

} // namespace omptier
