// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See presets.hpp. The build writes the texts into preset_texts.inc.
#include "machine/presets.hpp"

#include "machine/machine_file.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

namespace omptier {
namespace {

struct Preset {
  std::string_view name, text;
};

constexpr auto k_presets = std::to_array<Preset>({
#include "preset_texts.inc"
});

} // namespace

const std::vector<Machine>& machines() {
  static const auto* table = [] {
    auto* machines = new std::vector<Machine>;
    for (const Preset& preset : k_presets) {
      const std::string name(preset.name);
      if (const auto machine = parse_machine(preset.text, name, name + ".machine"))
        machines->push_back(*machine);
      else // the unit test finds it
        std::fprintf(stderr, "omptier: %s\n", machine.error().c_str());
    }
    return machines;
  }();
  return *table;
}

const Machine* find_machine(std::string_view name) {
  const auto at = std::ranges::find(machines(), name, &Machine::name);
  return at == machines().end() ? nullptr : &*at;
}

std::string machine_names() {
  std::string names;
  for (const Machine& machine : machines())
    names += (names.empty() ? "" : ", ") + machine.name;
  return names;
}

std::string_view machine_text(std::string_view name) {
  const auto at = std::ranges::find(k_presets, name, &Preset::name);
  return at == k_presets.end() ? std::string_view() : at->text;
}

} // namespace omptier
