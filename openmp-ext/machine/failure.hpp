// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An early end of the launcher: one line for the user and the exit status. Thrown inside the
// omptier command only; it never crosses a C border.
#pragma once

#include <stdexcept>
#include <string>

namespace omptier {

// Exit statuses of `omptier sandbox` besides the program's own (docs/design.md).
inline constexpr int k_status_usage = 2;
inline constexpr int k_status_time_out = 124;
inline constexpr int k_status_our_failure = 125;

class Failure : public std::runtime_error {
public:
  Failure(int status, const std::string& line) : std::runtime_error(line), status_(status) {}
  int status() const { return status_; }

private:
  int status_;
};

// Text: "what: strerror(error)".
Failure system_failure(const std::string& what, int error);

} // namespace omptier
