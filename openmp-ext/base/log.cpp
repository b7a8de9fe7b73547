// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Warnings inside the application's process. A line is put together in a buffer on the stack and
// leaves with one write(2), so that lines of several threads never mix and no lock, malloc or FILE
// of the application is touched. One bit per notice number remembers what was said.
#include "base/log.hpp"

#include "base/options.hpp"

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <strings.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace omptier {
namespace {

std::atomic<std::uint64_t> said{0};

// libomp's own switch: KMP_WARNINGS=0|off|false|no|f|n silences it, and so us.
bool warnings_wanted() {
  const char* text = std::getenv("KMP_WARNINGS");
  if (text == nullptr) return true;
  for (const char* off : {"0", "off", "false", "no", "f", "n", "disabled", ".false.", ".f."})
    if (strcasecmp(text, off) == 0) return false;
  return true;
}

void say(const char* severity, Notice notice, const char* pattern, va_list arguments) {
  const int saved_errno = errno;
  char line[1024];
  int length =
      std::snprintf(line, sizeof line, "OMP: %s #%u: ", severity, static_cast<unsigned>(notice));
  const int room = static_cast<int>(sizeof line) - length - 1; // one for the line's end
  const int wanted =
      std::vsnprintf(line + length, static_cast<std::size_t>(room), pattern, arguments);
  length += wanted < 0 ? 0 : (wanted < room ? wanted : room - 1);
  line[length++] = '\n';
  [[maybe_unused]] const ssize_t written = ::syscall(
      SYS_write, STDERR_FILENO, line, static_cast<std::size_t>(length)); // never cancelled
  errno = saved_errno;
}

} // namespace

void warn_once(Notice notice, const char* pattern, ...) {
  const std::uint64_t bit = 1ull << static_cast<unsigned>(notice) % 64;
  if ((said.fetch_or(bit, std::memory_order_relaxed) & bit) != 0 || !warnings_wanted()) return;
  va_list arguments;
  va_start(arguments, pattern);
  say("Warning", notice, pattern, arguments);
  va_end(arguments);
}

void warn(Notice notice, const char* pattern, ...) {
  if (!warnings_wanted()) return;
  va_list arguments;
  va_start(arguments, pattern);
  say("Warning", notice, pattern, arguments);
  va_end(arguments);
}

void inform(Notice notice, const char* pattern, ...) {
  if (!option_flag(Option::verbose)) return;
  va_list arguments;
  va_start(arguments, pattern);
  say("Info", notice, pattern, arguments);
  va_end(arguments);
}

} // namespace omptier
