// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cli/chosen_machine.hpp"

#include "machine/machine_file.hpp"
#include "machine/presets.hpp"

namespace omptier {

void add_machine_options(CLI::App& command, MachineChoice& choice, const std::string& purpose) {
  CLI::Option* name = command.add_option("--machine", choice.name, purpose)->type_name("MACHINE");
  command
      .add_option("--machine-file", choice.file,
                  "The same from a file of one's own (omptier sandbox --describe NAME prints one)")
      ->type_name("FILE")
      ->excludes(name);
}

Parsed<Machine> chosen_machine(const MachineChoice& choice) {
  if (!choice.file.empty()) return read_machine(choice.file);
  if (const Machine* machine = find_machine(choice.name)) return *machine;
  return Parsed<Machine>::failure("--machine: unknown machine " + choice.name +
                                  "; there are: " + machine_names());
}

} // namespace omptier
