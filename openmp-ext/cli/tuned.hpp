// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What `omptier tune` learned of a program, for those that predict (--tuned).
#pragma once

#include "cli/advice_input.hpp"
#include "tuning/learned.hpp"

#include <string>
#include <vector>

namespace omptier {

// By which a file of runs knows the profiles that it was tuned from, in any order.
std::string hash_of_profiles(const std::vector<std::string>& profiles);

// From the file that the arguments name. A failure is one line.
Parsed<Learned> learned_by_tuning(const AdviceArguments& arguments, const AdviceInput& input);

// In one line. labels: of the summary's sites.
std::string learned_in_words(const Learned& learned, const std::vector<std::string>& labels);

} // namespace omptier
