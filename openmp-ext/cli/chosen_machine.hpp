// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The machine that `--machine NAME` or `--machine-file FILE` names, in sandbox and advise.
#pragma once

#include "base/text.hpp"
#include "machine/machine.hpp"

#include <CLI/CLI.hpp>
#include <string>

namespace omptier {

struct MachineChoice {
  std::string name, file;
  bool given() const { return !name.empty() || !file.empty(); }
};

void add_machine_options(CLI::App& command, MachineChoice& choice, const std::string& purpose);

// One of them is given. A failure begins with the option, or has a line for each wrong line of the
// file.
Parsed<Machine> chosen_machine(const MachineChoice& choice);

} // namespace omptier
