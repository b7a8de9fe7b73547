// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The parts of `omptier check`: each looks at one area and adds its findings.
#pragma once

#include "cli/command.hpp"
#include "platform/platform.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace omptier {

enum class FindingState : std::uint8_t {
  works,
  limited, // works in part, or is replaced by something lesser
  fails,   // does not work, or not as requested: exit status 1
};

struct Finding {
  FindingState state = FindingState::works;
  std::string feature; // "perf events"
  std::string what;    // what was found
  std::string advice;  // what to do, or ""
};

class Findings {
public:
  void works(std::string feature, std::string what) {
    list_.push_back({FindingState::works, std::move(feature), std::move(what), {}});
  }
  void limited(std::string feature, std::string what, std::string advice) {
    list_.push_back(
        {FindingState::limited, std::move(feature), std::move(what), std::move(advice)});
  }
  void fails(std::string feature, std::string what, std::string advice) {
    list_.push_back({FindingState::fails, std::move(feature), std::move(what), std::move(advice)});
  }
  const std::vector<Finding>& list() const { return list_; }
  bool any_fails() const;
  std::string json() const; // {"version", "fails", "findings": [{state, feature, what, advice}]}
  std::string text() const; // aligned, one line a finding, "-> advice" below it

private:
  std::vector<Finding> list_;
};

void check_sampling(Findings& findings);                         // perf, hardware, timers
void check_memory(const Platform& platform, Findings& findings); // kinds, figures
// Compares the kernel's bytes of all nodes together with those of the machine.
void check_totals(std::uint64_t nodes, std::uint64_t machine, Findings& findings);
void check_kernel(const Platform& platform, Findings& findings); // pages, limits, placing
void check_variables(Findings& findings);                        // OMPTIER_*
void check_runtime(const CommandContext& context,
                   Findings& findings); // libraries beside the command
// What would keep OMPTier out of the program. runtime_folder: of our libraries, "" = not found.
void check_program(const std::string& path, const std::string& runtime_folder, Findings& findings);

std::string variables_text();     // the table for people, `omptier check --variables`
std::string variables_markdown(); // docs/environment.md
std::string notices_text();       // the libraries' warnings, `omptier check --notices`
std::string notices_markdown();   // docs/notices.md

} // namespace omptier
