// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The text grammar of OMPTIER_* variables, command options and reports: sizes (K, M, G, T = powers
// of 1024), capacities by kind ("dram:64M,hbm:0"), nodes by kind ("hbm:1+3,nvm:4-5"), and figures
// as reports show them (GiB for sizes, GB/s = 10⁹ bytes/s for rates). An error is one line that
// names the wrong part and shows what is accepted.
#pragma once

#include "base/kind.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace omptier {

template <typename T> class Parsed {
public:
  Parsed(T value) : state_(std::move(value)) {}
  static Parsed failure(std::string why) {
    Parsed p;
    p.state_ = Failure{std::move(why)};
    return p;
  }
  explicit operator bool() const { return std::holds_alternative<T>(state_); }
  const T& operator*() const { return std::get<T>(state_); }
  T& operator*() { return std::get<T>(state_); }
  const T* operator->() const { return &std::get<T>(state_); }
  T* operator->() { return &std::get<T>(state_); }
  const std::string& error() const { return std::get<Failure>(state_).why; }

private:
  struct Failure {
    std::string why;
  };
  Parsed() = default;
  std::variant<Failure, T> state_;
};

// `text` as an error line shows it: in quotes, in one line whatever it holds, cut after 60 bytes.
std::string in_quotes(std::string_view text);

// "64M" -> 67108864; plain digits are bytes; fractions ("1.5G") allowed; overflow refused.
Parsed<std::uint64_t> parse_size(std::string_view text);

// Bytes allowed per kind; no entry = no limit of ours.
using CapacityByKind = std::array<std::optional<std::uint64_t>, k_memory_kinds>;
Parsed<CapacityByKind> parse_capacity(std::string_view text);

// Operating-system node numbers from OMPTIER_NODES; empty = not named.
using NodesByKind = std::array<std::vector<unsigned>, k_memory_kinds>;
Parsed<NodesByKind> parse_nodes(std::string_view text);

bool same_ignoring_case(std::string_view a, std::string_view b); // capital letters

std::string format_size(std::uint64_t bytes);             // "1.50 GiB"
std::string format_rate(double bytes_per_second);         // "38.2 GB/s"
std::string format_duration(double nanoseconds);          // "1.23 ms"
std::string format_percent(double share, int digits = 1); // 0.123 -> "12.3 %"

} // namespace omptier
