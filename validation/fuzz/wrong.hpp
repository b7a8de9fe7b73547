// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a fuzz target says what it found.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <string>

[[noreturn]] inline void wrong(const char* what, const std::string& text) {
  std::fprintf(stderr, "%s\n%s\n", what, text.c_str());
  std::abort();
}

// What is refused is refused in one line that begins with the file's name, "fuzzed".
inline void check_refusal(const std::string& error) {
  if (!error.starts_with("fuzzed:") || error.find('\n') != std::string::npos)
    wrong("not one line that begins with the file's name:", error);
}
