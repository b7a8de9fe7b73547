// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Machine files: a machine as text (README.md has the lines). The presets are such files, and
// `--machine-file` takes one of the user's.
#pragma once

#include "base/text.hpp"
#include "machine/machine.hpp"

#include <string>
#include <string_view>

namespace omptier {

// name: of the machine. file: named in errors. A failure has a line for each line of the text that
// is wrong: "FILE:LINE: what is wrong; what to write".
Parsed<Machine> parse_machine(std::string_view text, const std::string& name,
                              const std::string& file);

// The machine is named after the file, without folder and ending.
Parsed<Machine> read_machine(const std::string& path);

} // namespace omptier
