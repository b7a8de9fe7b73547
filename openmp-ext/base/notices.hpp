// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lines on stderr from inside the application's process, in libomp's form. Every message has a
// number in one table (base/notices.def), from which `omptier check --notices` and docs/notices.md
// are generated. A warning is printed once, or once per subject; information is printed only with
// OMPTIER_VERBOSE=1. No stdio, no malloc, one write(2) per line; silent when KMP_WARNINGS is off or
// 0. Command-line tools print their own errors; this is for the libraries.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace omptier {

enum class Notice : std::uint16_t {
#define OMPTIER_NOTICE(id, number, severity, meaning, advice) id = (number),
#include "base/notices.def"
#undef OMPTIER_NOTICE
};

enum class Severity : std::uint8_t { warning, info };

struct NoticeInfo {
  Notice id;
  Severity severity;
  const char* meaning; // one sentence
  const char* advice;  // what to do, one sentence; "" = nothing
};

std::span<const NoticeInfo> all_notices();

// Writes "OMP: Warning #5008: <text>\n" on stderr, once a process (the first text wins).
// Thread-safe. format as printf's; truncated at 1,000 characters.
void warn_once(Notice notice, const char* format, ...) __attribute__((format(printf, 2, 3)));

// Once per subject: the variable, memory kind, static or other thing that the line is about. At
// most 512 lines a process, then warning 5049.
void warn_once_of(Notice notice, std::string_view subject, const char* format, ...)
    __attribute__((format(printf, 3, 4)));

// "OMP: Info #N: …", every time, only with OMPTIER_VERBOSE=1.
void inform(Notice notice, const char* format, ...) __attribute__((format(printf, 2, 3)));

} // namespace omptier
