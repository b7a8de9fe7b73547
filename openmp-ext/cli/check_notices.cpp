// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The libraries' numbered messages: as text, and as the page docs/notices.md.
#include "base/notices.hpp"
#include "cli/check.hpp"

namespace omptier {
namespace {

const char* word_of(Severity severity) {
  return severity == Severity::warning ? "Warning" : "Info";
}

} // namespace

std::string notices_text() {
  std::string text;
  for (const NoticeInfo& notice : all_notices()) {
    std::string head = std::string(word_of(notice.severity)) + " #" +
                       std::to_string(static_cast<unsigned>(notice.id));
    head.resize(15, ' ');
    text += head + notice.meaning + "\n";
    if (*notice.advice != '\0') text += std::string(head.size(), ' ') + "-> " + notice.advice + "\n";
  }
  return text;
}

std::string notices_markdown() {
  std::string text =
      "# Notices\n\n"
      "Made by `omptier check --notices --markdown` from the table `openmp-ext/base/notices.def`; "
      "do not edit it here (a test compares).\n\n"
      "What the libraries print on a program's stderr, as `OMP: Warning #N: …`. A warning "
      "comes once a process, or once for each variable, memory kind, static, … that it is about; "
      "`KMP_WARNINGS=0` silences all. Information comes with `OMPTIER_VERBOSE=1`. A number keeps "
      "its meaning from release to release.\n\n"
      "| number | | meaning | what to do |\n"
      "| --- | --- | --- | --- |\n";
  for (const NoticeInfo& notice : all_notices())
    text += "| " + std::to_string(static_cast<unsigned>(notice.id)) + " | " +
            (notice.severity == Severity::warning ? "warning" : "information") + " | " +
            notice.meaning + " | " + notice.advice + " |\n";
  return text;
}

} // namespace omptier
