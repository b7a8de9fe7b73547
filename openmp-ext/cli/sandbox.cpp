// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omptier sandbox: runs a command inside a virtual machine with several kinds of memory.
#include "cli/chosen_machine.hpp"
#include "cli/launch.hpp"
#include "machine/batch.hpp"
#include "machine/guest_run.hpp"
#include "machine/presets.hpp"

#include <cstdio>
#include <filesystem>
#include <memory>
#include <unistd.h>

namespace omptier {
namespace {

struct SandboxArguments {
  MachineChoice machine;
  std::string described;
  bool list = false;
  bool no_snapshot = false;
  std::string dilation;
  SandboxOptions options;
  BatchOptions batch;
};

int list_machines() {
  for (const Machine& machine : machines())
    std::printf("%s\n", describe(machine).c_str());
  return 0;
}

int describe_machine(const std::string& name) {
  const std::string_view text = machine_text(name);
  if (text.empty())
    return fail("sandbox", 2,
                "--describe: unknown machine " + name + "; there are: " + machine_names());
  std::fwrite(text.data(), 1, text.size(), stdout);
  return 0;
}

// Its memory is the host's. Too much would end in the host's paging, or its end.
bool fits_the_host(const Machine& machine, std::string& why) {
  std::uint64_t memory = machine.dax_folder;
  for (const MachineNode& node : machine.nodes)
    memory += node.size;
  const auto host = static_cast<std::uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
                    static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  if (memory <= host) return true;
  why = "the machine " + machine.name + " has " + format_size(memory) + ", this host " +
        format_size(host) + "; give its nodes smaller sizes, all in the same proportion";
  return false;
}

// "--env A=1 B=2 -- command": as with env(1), further words of this form are variables too.
void take_variables(SandboxOptions& options) {
  const auto is_variable = [](const std::string& word) {
    const auto equals = word.find('=');
    return equals != word.npos && equals > 0 && word.find('/') > equals;
  };
  while (!options.environment.empty() && !options.command.empty() &&
         (is_variable(options.command[0]) || options.command[0] == "--")) {
    if (options.command[0] != "--") options.environment.push_back(options.command[0]);
    options.command.erase(options.command.begin());
  }
}

int run(SandboxArguments& arguments, const std::filesystem::path& libraries, bool timed) {
  SandboxOptions& options = arguments.options;
  if (arguments.list) return list_machines();
  if (!arguments.described.empty()) return describe_machine(arguments.described);
  if (!arguments.machine.given())
    return fail("sandbox", 2, "--machine is missing; there are: " + machine_names());
  const auto machine = chosen_machine(arguments.machine);
  if (!machine) return fail("sandbox", 2, machine.error());
  if (std::string why; !fits_the_host(*machine, why)) return fail("sandbox", 2, why);
  if (timed) {
    char* rest = nullptr;
    options.dilation =
        arguments.dilation.empty() ? 100 : std::strtod(arguments.dilation.c_str(), &rest);
    if ((rest && *rest) || !(*options.dilation >= 1 && *options.dilation <= 100000))
      return fail("sandbox", 2,
                  "--timed=" + arguments.dilation + ": the dilation is a number from 1 to 100000");
  }
  if (libraries.empty())
    return fail("sandbox", 125, "libomptier.so is not beside this program; reinstall OMPTier");
  options.snapshot = !arguments.no_snapshot;
  options.make_guest = libraries / "make-guest";
  options.plugin = libraries / "libomptier_timing.so";
  if (!arguments.batch.file.empty()) return run_batch(*machine, options, arguments.batch);
  take_variables(options);
  if (!options.command.empty() && options.command[0].starts_with('-'))
    return fail("sandbox", 2,
                options.command[0] + ": options come before the variables and the command");
  if (options.command.empty())
    return fail("sandbox", 2, "no command; write: omptier sandbox --machine NAME -- COMMAND");
  for (const std::string& variable : options.environment)
    if (variable.find('=') == std::string::npos || variable[0] == '=')
      return fail("sandbox", 2, "--env " + variable + ": write NAME=value");
  if (options.events_period > 0) options.memory_events = true;
  std::fflush(nullptr);
  return run_sandbox(*machine, options);
}

} // namespace

void add_sandbox(CLI::App& app, CommandContext& context) {
  auto arguments = std::make_shared<SandboxArguments>();
  SandboxOptions& options = arguments->options;
  CLI::App* command = app.add_subcommand(
      "sandbox", "Runs a command in a virtual machine with several kinds of memory.");
  command->footer("The host's files are there read-only, the current folder is writable, /tmp is "
                  "the machine's own.\nExit status: the command's; 124 time-out, 125 failure of "
                  "the sandbox, 126/127 not run, 128+N signal N.");
  add_machine_options(*command, arguments->machine, "Machine to emulate (see --list)");
  command->add_flag("--list", arguments->list, "Lists the machines and ends");
  command
      ->add_option("--describe", arguments->described,
                   "Prints a machine's figures with their sources, as a machine file, and ends")
      ->type_name("MACHINE");
  // A flag takes a value only after "=", so the command of "--timed -- command" is not its value.
  CLI::Option* timed = command->add_flag("--timed{100}", arguments->dilation,
                                         "Memory takes modelled time, dilated so many times: "
                                         "--timed or --timed=N");
  command->add_option("--timeout", options.timeout, "Stops it after so many seconds (status 124)")
      ->check(CLI::NonNegativeNumber);
  command
      ->add_option("--env", options.environment,
                   "NAME=value, also set for the command; may be repeated")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command->add_flag("--stdin", options.forward_input, "The command reads this command's stdin");
  command->add_flag("--unprivileged", options.unprivileged,
                    "Runs as an ordinary user (as nobody if started by root)");
  command->add_flag("--memory-events", options.memory_events,
                    "The memory-event unit records modelled misses");
  command->add_option("--events-period", options.events_period,
                      "Mean number of misses from one record to the next (implies "
                      "--memory-events)");
  command->add_option("--misses", options.misses, "Writes the modelled misses of each page there")
      ->type_name("FILE");
  command->add_option("--statistics", options.statistics, "Writes the time model's counters there")
      ->type_name("FILE");
  command->add_flag("--no-snapshot", arguments->no_snapshot, "Boots instead of restoring");
  command->add_flag("--console", options.console, "Shows the kernel's messages on stderr");
  command->add_option("--kernel-options", options.kernel_options,
                      "Added to the kernel's command line");
  CLI::Option* batch = command->add_option(
      "--batch", arguments->batch.file,
      "Runs each line of this file as a shell command, in one machine after the other or side by "
      "side, and prints a line of JSON for each");
  batch->type_name("FILE");
  for (const char* single : {"--stdin", "--misses", "--statistics"})
    batch->excludes(command->get_option(single));
  command
      ->add_option("--results", arguments->batch.results,
                   "Appends the batch's results to this file; those it has are not run again")
      ->type_name("FILE")
      ->needs(batch);
  command
      ->add_option("--jobs", arguments->batch.jobs,
                   "Machines at a time (default: by the host's processors)")
      ->needs(batch)
      ->check(CLI::Range(1, 256));
  command->add_option("command", options.command, "Command and its arguments, after --")
      ->type_name("PROGRAM");
  command->positionals_at_end();
  command->callback([arguments, timed, &context] {
    context.status = run(*arguments, find_libraries(context), timed->count() > 0);
  });
}

} // namespace omptier
