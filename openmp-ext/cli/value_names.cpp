// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See value_names.hpp.
#include "cli/value_names.hpp"

#include "cli/help_topics.hpp"
#include "cli/object_columns.hpp"
#include "machine/presets.hpp"

namespace omptier {

NamesOf names_of_values(const CLI::App& app, const CommandContext& context) {
  return [&app, &context](std::string_view word) {
    std::vector<std::string> names;
    if (word == "MACHINE")
      for (const Machine& machine : machines())
        names.push_back(machine.name);
    else if (word == "COLUMN")
      for (const ObjectColumn& column : object_columns())
        names.emplace_back(column.name);
    else if (word == "TOPIC")
      names = topic_names(app, context);
    return names;
  };
}

} // namespace omptier
