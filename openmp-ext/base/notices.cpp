// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Warnings inside the application's process. A line is built in a buffer on the stack and written
// by one write(2): lines of several threads never mix, and no lock, malloc or FILE of the
// application is used. What was printed is remembered without a lock: one flag per notice, and a
// hash of number and subject for notices with subjects.
#include "base/notices.hpp"

#include "base/options.hpp"
#include "base/warnings_wanted.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <sys/syscall.h>
#include <unistd.h>

namespace omptier {
namespace {

constexpr NoticeInfo k_notices[] = {
#define OMPTIER_NOTICE(id, number, severity, meaning, advice)                                      \
  {Notice::id, Severity::severity, meaning, advice},
#include "base/notices.def"
#undef OMPTIER_NOTICE
};

constexpr std::size_t k_most_subjects = 512;

constinit std::array<std::atomic<bool>, std::size(k_notices)> g_printed{};
constinit std::array<std::atomic<std::uint64_t>, k_most_subjects> g_subjects{}; // hashes; 0 = free

bool is_first(Notice notice) {
  std::size_t at = 0;
  while (k_notices[at].id != notice)
    ++at;
  std::atomic<bool>& printed = g_printed[at];
  return !printed.load(std::memory_order_relaxed) &&
         !printed.exchange(true, std::memory_order_relaxed);
}

// FNV-1a; never 0.
std::uint64_t hash_of(Notice notice, std::string_view subject) {
  constexpr std::uint64_t k_prime = 0x100000001b3;
  std::uint64_t hash = (0xcbf29ce484222325 ^ static_cast<std::uint64_t>(notice)) * k_prime;
  for (const char c : subject)
    hash = (hash ^ static_cast<unsigned char>(c)) * k_prime;
  return hash != 0 ? hash : 1;
}

bool is_first_of(Notice notice, std::string_view subject) {
  const std::uint64_t hash = hash_of(notice, subject);
  for (std::size_t i = 0; i < k_most_subjects; ++i) {
    std::atomic<std::uint64_t>& slot = g_subjects[(hash + i) % k_most_subjects];
    std::uint64_t there = slot.load(std::memory_order_relaxed);
    if (there == 0 && slot.compare_exchange_strong(there, hash)) return true;
    if (there == hash) return false;
  }
  warn_once(Notice::more_notices, "there are so many different warnings that further ones of their "
                                  "kinds are not shown; resolve the first ones.");
  return false;
}

void print_line(const char* severity, Notice notice, const char* pattern, va_list arguments) {
  const int saved_errno = errno;
  char line[1024];
  int length =
      std::snprintf(line, sizeof line, "OMP: %s #%u: ", severity, static_cast<unsigned>(notice));
  const int room = static_cast<int>(sizeof line) - length - 1; // one for the newline
  const int wanted =
      std::vsnprintf(line + length, static_cast<std::size_t>(room), pattern, arguments);
  length += wanted < 0 ? 0 : (wanted < room ? wanted : room - 1);
  line[length++] = '\n';
  [[maybe_unused]] const ssize_t written = ::syscall(
      SYS_write, STDERR_FILENO, line, static_cast<std::size_t>(length)); // never cancelled
  errno = saved_errno;
}

} // namespace

std::span<const NoticeInfo> all_notices() {
  return k_notices;
}

void warn_once(Notice notice, const char* pattern, ...) {
  if (!is_first(notice) || !warnings_wanted()) return;
  va_list arguments;
  va_start(arguments, pattern);
  print_line("Warning", notice, pattern, arguments);
  va_end(arguments);
}

void warn_once_of(Notice notice, std::string_view subject, const char* pattern, ...) {
  if (!is_first_of(notice, subject) || !warnings_wanted()) return;
  va_list arguments;
  va_start(arguments, pattern);
  print_line("Warning", notice, pattern, arguments);
  va_end(arguments);
}

void inform(Notice notice, const char* pattern, ...) {
  if (!option_flag(Option::verbose)) return;
  va_list arguments;
  va_start(arguments, pattern);
  print_line("Info", notice, pattern, arguments);
  va_end(arguments);
}

} // namespace omptier
