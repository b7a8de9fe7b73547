// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the source lines of an allocation's call stack to the name of what it is for. Memory that a
// function returns, stores in a member or where a parameter points is followed to its caller, so
// the name does not depend on which functions were inlined: "temperature/data" for the member
// "data" of the variable "temperature", "small" for what make_table returned. If the source does
// not show where the memory goes, there is no name.
#pragma once

#include "symbols/source_text.hpp"
#include "symbols/symbols.hpp"

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace omptier {

// Reads each source file once.
class Sources {
public:
  const SourceText& c_text(const std::string& file);
  const std::vector<std::string>& lines(const std::string& file);

private:
  std::map<std::string, std::unique_ptr<SourceText>> texts_;
  std::map<std::string, std::vector<std::string>> lines_;
};

// locations: innermost first, over all frames of the site. Returns the names for every first own
// location (the first that no other site has in common with this one) from 0 on, one element for
// each that changes the name: lines without known columns before the first own location are
// ignored.
std::vector<SiteNameFrom> names_of_site(Sources& sources,
                                        const std::vector<SourceLocation>& locations);

// The location is in the program, but the compiler made one call of several and lost their lines.
bool is_hidden(const SourceLocation& location);

// The variable that gets the result of a frame's call, by its locations alone ("hot_table");
// through inlined functions the outer names come first ("hot_table/words"). "" if the source does
// not show it, cannot be read, or was changed since the program was made.
std::string variable_of(Sources& sources, const std::vector<SourceLocation>& locations);

} // namespace omptier
