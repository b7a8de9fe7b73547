// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See site_name.hpp.
#include "symbols/site_name.hpp"

#include "symbols/variable_in_line.hpp"

#include <algorithm>
#include <fstream>
#include <optional>

namespace omptier {
namespace {

constexpr std::size_t k_longest_name = 80;

bool has_source(const SourceLocation& location) {
  return location.line > 0 && !location.changed && !is_library_file(location.file);
}

bool is_in(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// C or Fortran.
struct Statement {
  bool with_column = false; // else of the line as a whole
  SourcePlace place;
};

std::string fortran_statement_at(Sources& sources, const SourceLocation& location) {
  const FortranForm form = fortran_form(location.file);
  const auto& lines = sources.lines(location.file);
  if (form == FortranForm::none || location.line > lines.size()) return "";
  return fortran_statement(lines, location.line - 1, form);
}

// Of the arrays of one statement the one at the call's place in their order; if unknown, all.
Target array_of(const std::vector<std::vector<std::string>>& arrays, const CallOrder& order) {
  Target target;
  if (arrays.size() == 1) target.path = arrays.front();
  if (arrays.size() > 1 && order.count == arrays.size()) target.path = arrays[order.index];
  if (target.path.empty()) {
    std::vector<std::string> names; // equal ones once
    for (const auto& array : arrays)
      if (std::string name = joined_path(array, "%"); !is_in(names, name))
        names.push_back(std::move(name));
    if (!names.empty()) target.path = {joined_path(names, "|")};
  }
  target.reached = target.path.size() > 1;
  return target;
}

Statement fortran_at(Sources& sources, const SourceLocation& location) {
  Statement statement;
  statement.with_column = true;
  const std::string text = fortran_statement_at(sources, location);
  SourcePlace& place = statement.place;
  place.function = fortran_procedure(sources.lines(location.file), location.line - 1);
  for (auto& argument : arguments_of_call(text))
    place.arguments.push_back({std::move(argument), false, false});
  if (const auto arrays = allocated_arrays(text); !arrays.empty()) {
    place.fate = {Fate::Kind::stored, array_of(arrays, location.order)};
  } else if (std::string name = variable_of_line(text); !name.empty()) {
    place.fate = {Fate::Kind::stored, {{std::move(name)}, false, false}};
  }
  return statement;
}

Statement source_at(Sources& sources, const SourceLocation& location) {
  if (fortran_form(location.file) != FortranForm::none) return fortran_at(sources, location);
  Statement statement;
  if (const auto place = sources.c_text(location.file).at(location.line, location.column)) {
    statement.with_column = true;
    statement.place = *place;
    return statement;
  }
  const auto& lines = sources.lines(location.file);
  if (location.line > lines.size()) return statement;
  std::string name = variable_of_line(lines[location.line - 1], location.column);
  if (name.empty() && location.line > 1) {
    // The statement may have begun on the line before.
    const std::string& before = lines[location.line - 2];
    const auto last = before.find_last_not_of(" \t\r");
    if (last != std::string::npos && before[last] == '=') name = variable_of_line(before);
  }
  if (!name.empty()) statement.place.fate = {Fate::Kind::stored, {{std::move(name)}, false, false}};
  return statement;
}

// From the allocation outwards, to where the memory goes.
class Walk {
public:
  Walk(Sources& sources, const std::vector<SourceLocation>& locations, std::size_t own)
      : sources_(sources), locations_(locations), own_(own) {}

  SiteName go() {
    for (std::size_t at = 0; at < locations_.size(); ++at) {
      if (!has_source(locations_[at])) {
        if (is_hidden(locations_[at])) break;
        in_library_ = in_library_ || locations_[at].line > 0;
        continue;
      }
      const bool more = step(at);
      in_library_ = false;
      if (!more) break;
    }
    return found_;
  }

  // Up to this `own` the name stays the same.
  std::size_t same_until() const { return same_until_; }

private:
  enum class Wanted { value, object, parameter };

  bool step(std::size_t at) {
    const Statement statement = source_at(sources_, locations_[at]);
    const SourcePlace& place = statement.place;
    // A part that the compiler split off a function is called from the function's first line.
    if (!place.function.known && !left_.empty() && left_ == locations_[at].function) return true;
    left_ = locations_[at].function;
    if (first_ == k_none) first_ = at;
    std::optional<Target> target = target_of(place);
    if (!target) return returned_ || object_goes_on_;
    // Without columns, the line may name the wrapper's variable; its callers give the better name.
    const bool left_behind = !statement.with_column && at < own_;
    if (!statement.with_column && at >= own_) same_until_ = std::min(same_until_, at);
    // A class's base is named like the object itself.
    if (wanted_ == Wanted::object && in_constructor_ &&
        is_in(place.function.initialised, constructed_))
      *target = {{}, true, true};
    std::vector<std::string> path = target->path;
    path.insert(path.end(), suffix_.begin(), suffix_.end());
    // No name: members made by a constructor that is not written in the source.
    found_ = {text_of(path, locations_[at]), first_, at};
    if (left_behind) {
      suffix_.clear();
      wanted_ = Wanted::value;
      return true;
    }
    return statement.with_column && goes_on(place.function, *target, std::move(path));
  }

  // What gets the memory here; nothing if the value is returned, or the text does not show it.
  std::optional<Target> target_of(const SourcePlace& place) {
    returned_ = object_goes_on_ = false;
    if (wanted_ == Wanted::parameter) {
      if (parameter_ >= place.arguments.size() || place.arguments[parameter_].path.empty())
        return {};
      return place.arguments[parameter_];
    }
    if (wanted_ == Wanted::object && !in_constructor_ && !in_library_) {
      if (place.has_object) return place.object;
      object_goes_on_ = place.function.is_member; // a method calls another of its object
      return {};
    }
    if (place.fate.kind == Fate::Kind::stored) return place.fate.target;
    returned_ = place.fate.kind == Fate::Kind::returned;
    if (returned_) wanted_ = Wanted::value;
    return {};
  }

  // Whether the target belongs to the caller, which then gives the rest of the name.
  bool goes_on(const FunctionText& function, const Target& target, std::vector<std::string> path) {
    if (!function.known && !function.is_member) return false;
    const auto continue_with = [&](Wanted wanted, std::size_t names_less) {
      suffix_.assign(path.begin() + static_cast<std::ptrdiff_t>(names_less), path.end());
      wanted_ = wanted;
      in_constructor_ = function.is_constructor || !function.known;
      constructed_ = function.name;
      return true;
    };
    if (target.of_this) return continue_with(Wanted::object, 0);
    const std::string& head = path.front();
    if (is_in(function.locals, head))
      return is_in(function.returned, head) && continue_with(Wanted::value, 1);
    const auto parameter = std::ranges::find(function.parameters, head, &Parameter::name);
    if (parameter != function.parameters.end()) {
      parameter_ = static_cast<std::size_t>(parameter - function.parameters.begin());
      return (target.reached || parameter->is_reference) && continue_with(Wanted::parameter, 1);
    }
    return function.is_member && continue_with(Wanted::object, 0);
  }

  static std::string text_of(const std::vector<std::string>& path, const SourceLocation& location) {
    const bool fortran = fortran_form(location.file) != FortranForm::none;
    std::string text = joined_path(path, fortran ? "%" : "/");
    return text.size() <= k_longest_name ? text : "";
  }

  static constexpr std::size_t k_none = static_cast<std::size_t>(-1);

  Sources& sources_;
  const std::vector<SourceLocation>& locations_;
  std::size_t own_;
  SiteName found_;
  std::vector<std::string> suffix_; // names below what is looked for
  std::string left_;                // the function whose location was read last
  std::string constructed_;         // the class of the constructor that was left
  std::size_t first_ = k_none, parameter_ = 0, same_until_ = k_none;
  Wanted wanted_ = Wanted::value;
  bool in_constructor_ = false, in_library_ = false, returned_ = false, object_goes_on_ = false;
};

} // namespace

bool is_hidden(const SourceLocation& location) {
  return (location.line == 0 || is_library_file(location.file)) && !location.defined_in.empty() &&
         !is_library_file(location.defined_in);
}

const SourceText& Sources::c_text(const std::string& file) {
  auto& text = texts_[file];
  if (text == nullptr) text = std::make_unique<SourceText>(file);
  return *text;
}

const std::vector<std::string>& Sources::lines(const std::string& file) {
  const auto [at, added] = lines_.try_emplace(file);
  if (added) {
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);)
      at->second.push_back(line);
  }
  return at->second;
}

std::vector<SiteNameFrom> names_of_site(Sources& sources,
                                        const std::vector<SourceLocation>& locations) {
  std::vector<SiteNameFrom> names;
  for (std::size_t own = 0; own == 0 || own < locations.size();) {
    Walk walk(sources, locations, own);
    SiteName name = walk.go();
    if (names.empty() || name != names.back().name) names.push_back({own, std::move(name)});
    if (walk.same_until() >= locations.size()) break;
    own = walk.same_until() + 1;
  }
  return names;
}

std::string variable_of(Sources& sources, const std::vector<SourceLocation>& locations) {
  std::string names;
  for (const SourceLocation& location : locations) {
    if (!has_source(location)) continue;
    const Fate fate = source_at(sources, location).place.fate;
    if (fate.kind != Fate::Kind::stored || fate.target.path.empty()) continue;
    const std::string& name = fate.target.path.back();
    names = names.empty() ? name : name + "/" + names;
  }
  return names;
}

} // namespace omptier
