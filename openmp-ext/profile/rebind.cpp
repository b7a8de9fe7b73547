// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See rebind.hpp. The libraries are asked of the dynamic loader itself, which lists what it would
// load (LD_TRACE_LOADED_OBJECTS) and ends without running the program.
#include "profile/rebind.hpp"

#include "objects/modules.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

extern char** environ;

namespace omptier {
namespace {

class Rebinder {
public:
  Rebinder(Plan& plan, std::span<const ModuleInfo> present, Symbols& symbols)
      : plan_(plan), present_(present), symbols_(symbols) {}

  enum class Found : std::uint8_t { exact, portable, none };

  Found rebind(std::vector<PlanFrame>& frames) {
    std::vector<PlanFrame> rewritten;
    Found found = Found::exact;
    for (const PlanFrame& frame : frames) {
      const PlanModule wanted = plan_.modules[frame.module];
      const ModuleInfo* module = find(wanted);
      if (module == nullptr) return Found::none;
      rewritten.push_back(frame);
      if (module->identity == wanted.identity) continue;
      const auto offset =
          symbols_.find_call(*module, frame.portable.function, frame.portable.ordinal);
      if (!offset) return Found::none;
      found = Found::portable;
      rewritten.back().module = number_of(*module);
      rewritten.back().offset = *offset;
    }
    frames = std::move(rewritten);
    return found;
  }

private:
  const ModuleInfo* find(const PlanModule& wanted) const {
    for (const ModuleInfo& module : present_)
      if (module.identity == wanted.identity) return &module;
    for (const ModuleInfo& module : present_)
      if (module.name == wanted.name) return &module;
    return nullptr;
  }

  std::uint32_t number_of(const ModuleInfo& module) {
    for (std::uint32_t i = 0; i < plan_.modules.size(); ++i)
      if (plan_.modules[i].identity == module.identity) return i;
    plan_.modules.push_back({module.identity, module.name});
    return static_cast<std::uint32_t>(plan_.modules.size() - 1);
  }

  Plan& plan_;
  std::span<const ModuleInfo> present_;
  Symbols& symbols_;
};

ModuleInfo module_of_file(const std::string& path, bool program) {
  ModuleInfo module;
  module.path = path;
  module.name = std::filesystem::path(path).filename().string();
  module.identity = identity_of_file(path);
  module.system = !program && is_system_path(path.c_str());
  return module;
}

// What the loader says it would load, one line a library: "name => path (address)".
std::string ask_loader(const std::string& path, const std::string& library_path) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return "";
  std::vector<std::string> texts = {"LD_TRACE_LOADED_OBJECTS=1"};
  for (char** variable = environ; *variable != nullptr; ++variable)
    if (library_path.empty() || std::string_view(*variable).rfind("LD_LIBRARY_PATH=", 0) != 0)
      texts.emplace_back(*variable);
  if (!library_path.empty()) {
    const char* before = std::getenv("LD_LIBRARY_PATH");
    texts.push_back("LD_LIBRARY_PATH=" + library_path +
                    (before != nullptr && *before != 0 ? ":" + std::string(before) : ""));
  }
  std::vector<char*> variables;
  for (std::string& text : texts)
    variables.push_back(text.data());
  variables.push_back(nullptr);
  std::string program = path;
  char* arguments[] = {program.data(), nullptr};
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  pid_t child = 0;
  const int error =
      posix_spawn(&child, path.c_str(), &actions, nullptr, arguments, variables.data());
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  std::string said;
  char chunk[4096];
  for (ssize_t count; error == 0 && (count = read(ends[0], chunk, sizeof chunk)) > 0;)
    said.append(chunk, static_cast<std::size_t>(count));
  close(ends[0]);
  if (error == 0) waitpid(child, nullptr, 0);
  return said;
}

} // namespace

Rebinding rebind_plan(Plan& plan, std::span<const ModuleInfo> present, Symbols& symbols) {
  Rebinding rebinding;
  Rebinder rebinder(plan, present, symbols);
  for (PlanEntry& entry : plan.entries) {
    PlanEntry changed = entry;
    const Rebinder::Found site = rebinder.rebind(changed.frames);
    const Rebinder::Found region = rebinder.rebind(changed.region);
    if (site == Rebinder::Found::none || region == Rebinder::Found::none) {
      rebinding.unmatched.push_back(entry.label);
    } else if (site == Rebinder::Found::exact && region == Rebinder::Found::exact) {
      ++rebinding.exact;
    } else {
      ++rebinding.portable;
      entry = std::move(changed);
    }
  }
  return rebinding;
}

std::vector<ModuleInfo> modules_of_program(const std::string& path,
                                           const std::string& library_path) {
  std::vector<ModuleInfo> modules;
  modules.push_back(module_of_file(path, true));
  // Only a dynamically linked program may be started so: any other would run.
  if (modules[0].identity.empty() || !is_dynamically_linked(path))
    return modules[0].identity.empty() ? std::vector<ModuleInfo>{} : modules;
  const std::string said = ask_loader(path, library_path);
  for (std::size_t at = 0; at < said.size();) {
    const std::size_t end = std::min(said.find('\n', at), said.size());
    const std::string line = said.substr(at, end - at);
    at = end + 1;
    const std::size_t slash = line.find('/'), address = line.rfind(" (0x");
    if (slash == std::string::npos || address == std::string::npos || address < slash) continue;
    ModuleInfo module = module_of_file(line.substr(slash, address - slash), false);
    if (!module.identity.empty()) modules.push_back(std::move(module));
  }
  return modules;
}

} // namespace omptier
