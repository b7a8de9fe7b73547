// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What advise, explain, whatif and diff decide from, as their common options name it: profiles, the
// machine to place on with its capacities, and what is kept; and what is to be said about it.
#pragma once

#include "advisor/earlier_plan.hpp"
#include "advisor/evidence.hpp"
#include "base/text.hpp"
#include "cli/chosen_machine.hpp"
#include "cli/report_text.hpp"
#include "tuning/learned.hpp"

#include <optional>
#include <string>
#include <vector>

namespace omptier {

struct AdviceArguments {
  std::vector<std::string> profiles;
  std::string capacity, nodes, xml;
  MachineChoice machine;
  std::vector<std::string> keep;
  std::optional<std::string> tuned; // file of omptier tune
  unsigned threads = 0; // 0: as recorded
  bool force = false, resolve = false;
};

void add_advice_options(CLI::App& command, AdviceArguments& arguments,
                        const std::string& capacity_help);

struct AdviceTarget {
  Platform platform;
  double gathers = k_gathered_at_once; // of a core
};

struct AdviceInput : AdviceTarget {
  ProfileSummary summary;
  CapacityByKind capacity;
  ProfileNames names;
  std::vector<TierChoice> tiers; // as usable_tiers()
  Learned learned;               // of --tuned
};

// A failure is one line, or more where a file of a machine is wrong.
Parsed<AdviceInput> read_advice_input(const AdviceArguments& arguments, Symbols& symbols);

// As learned by --tuned, where it is given.
Parsed<Workload> workload_for(const AdviceArguments& arguments, const AdviceInput& input,
                              const Terms& terms = {});
// Every site as a whole: not its blocks or ranges.
Parsed<Workload> whole_workload_for(const AdviceArguments& arguments, const AdviceInput& input,
                                    Terms terms = {});

// A plan, for the build that was recorded; a search by name is reported on stderr.
Parsed<Plan> plan_for_recorded(const char* command, const std::string& path,
                               const AdviceInput& input);

// What such a plan makes of the workload. A failure if it names nothing of it, as one of another
// program.
Parsed<EarlierPlacement> placed_by_plan(const Plan& plan, const std::string& path,
                                        const AdviceInput& input, const Workload& workload);

// Why there is nothing to decide, in one line; "" if there is.
std::string nothing_to_decide(const Workload& workload, const AdviceArguments& arguments,
                              const AdviceInput& input);

// What limits the results, each in one line on stderr: behind what refuses.
void print_limits(const char* command, const AdviceArguments& arguments, const AdviceInput& input,
                  const Workload& workload);

} // namespace omptier
