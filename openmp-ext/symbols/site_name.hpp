// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the source lines that an allocation goes through to the name of what it is for. Memory that
// a function returns, stores in a member or where a parameter points is followed to its caller, so
// the name does not depend on which functions were inlined: "temperature/data" for the member
// "data" of the variable "temperature", "small" for what make_table returned. Where the source does
// not say what becomes of the memory, there is no name.
#pragma once

#include "symbols/source_text.hpp"
#include "symbols/symbols.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace omptier {

// Source files as they were read, each once.
class Sources {
public:
  const SourceText& c_text(const std::string& file);
  const std::vector<std::string>& lines(const std::string& file);

private:
  std::map<std::string, std::unique_ptr<SourceText>> texts_;
  std::map<std::string, std::vector<std::string>> lines_;
};

// locations: innermost first, over all frames of the site. The name for every first own location
// (the first that no other site has in common with this one), from 0 on, for each that changes it:
// a line without known columns is left behind below it.
std::vector<SiteNameFrom> names_of_site(Sources& sources,
                                        const std::vector<SourceLocation>& locations);

// In a function of the program, but the compiler made one call of several and cannot say where.
bool is_hidden(const SourceLocation& location);

// The variable that a frame's call is given to, by its locations alone ("hot_table"); through
// inlined functions the outer names come first ("hot_table/words"). "" when the source does not say
// it, cannot be read, or was changed after the program was made.
std::string variable_of(Sources& sources, const std::vector<SourceLocation>& locations);

} // namespace omptier
