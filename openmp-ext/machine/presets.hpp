// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The machines that come with OMPTier: the files of presets/, each figure with its source. To add
// one, add a file there; the unit test reads it.
#pragma once

#include "machine/machine.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace omptier {

// Built at the first call, never destroyed; thread-safe.
const std::vector<Machine>& machines();

const Machine* find_machine(std::string_view name);

// "dram-hbm-nvm, icelake-optane, …"
std::string machine_names();

// The file of a machine, "" if there is none of that name.
std::string_view machine_text(std::string_view name);

} // namespace omptier
