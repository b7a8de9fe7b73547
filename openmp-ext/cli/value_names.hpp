// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The names that an option's type name stands for: MACHINE, COLUMN, TOPIC.
#pragma once

#include "cli/command.hpp"
#include "cli/command_tree.hpp"

namespace omptier {

// Both must outlive the result.
NamesOf names_of_values(const CLI::App& app, const CommandContext& context);

} // namespace omptier
