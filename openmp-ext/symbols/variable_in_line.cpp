// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See variable_in_line.hpp. The forms are tried in turn; the first that fits answers.
#include "symbols/variable_in_line.hpp"

#include <algorithm>
#include <cctype>
#include <regex>
#include <string_view>
#include <vector>

namespace omptier {
namespace {

// A generated line may be as long as a file, and std::regex recurses along it.
constexpr std::size_t k_longest_line = 1000;

bool is_name_letter(char letter) {
  return std::isalnum(static_cast<unsigned char>(letter)) != 0 || letter == '_';
}

std::string trimmed(std::string text) {
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0)
    text.pop_back();
  std::size_t first = 0;
  while (first < text.size() && std::isspace(static_cast<unsigned char>(text[first])) != 0)
    ++first;
  return text.substr(first);
}

// The last name of an expression that is assigned to: "grid->nuclide[i]" -> "nuclide".
std::string last_name(std::string text) {
  text = trimmed(text);
  while (!text.empty() && text.back() == ']') { // drop subscripts
    int depth = 0;
    do {
      depth += text.back() == ']' ? 1 : text.back() == '[' ? -1 : 0;
      text.pop_back();
    } while (!text.empty() && depth > 0);
    text = trimmed(text);
  }
  std::size_t begin = text.size();
  while (begin > 0 && is_name_letter(text[begin - 1]))
    --begin;
  std::string name = text.substr(begin);
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) return "";
  return name;
}

// "#pragma omp allocate(x) …" -> "x"
std::string directive_name(const std::string& line) {
  const auto pragma = line.find("omp allocate(");
  if (pragma == std::string::npos) return "";
  const auto begin = pragma + 13, end = line.find_first_of(",)", begin);
  return end == std::string::npos ? "" : trimmed(line.substr(begin, end - begin));
}

// "long sum = 0, *table =" -> after the comma: a call belongs to the last of several declarators.
std::size_t begin_of_last_declarator(const std::string& statement) {
  std::size_t begin = 0;
  int depth = 0;
  for (std::size_t i = 0; i < statement.size(); ++i) {
    if (statement[i] == '(') ++depth;
    if (statement[i] == ')' && depth > 0) --depth;
    if (statement[i] == ',' && depth == 0 && statement.find('=', i) != std::string::npos)
      begin = i + 1;
  }
  return begin;
}

// "long sum = 0, *table = make(n" -> "table"
std::string assigned(std::string line) {
  line.erase(0, begin_of_last_declarator(line));
  int depth = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char letter = line[i];
    if (letter == '"' || letter == '\'' ||
        (letter == '/' && i + 1 < line.size() && line[i + 1] == '/'))
      return "";
    if (letter == '(') ++depth;
    if (letter == ')' && depth > 0) --depth; // a condition may have begun on the line before
    if (letter != '=' || depth > 0) continue;
    const char before = i > 0 ? line[i - 1] : ' ', after = i + 1 < line.size() ? line[i + 1] : ' ';
    if (after == '=' || std::string("=!<>+-*/%&|^").find(before) != std::string::npos) return "";
    return last_name(line.substr(0, i));
  }
  return "";
}

// An object that allocates its own memory: "grid.resize(n)", "pool->grids[i].assign(n, 0)".
std::string container(const std::string& statement) {
  static const std::regex method(
      R"(([A-Za-z_]\w*(?:\[[^\]]*\])*)\s*(?:\.|->)\s*)"
      R"((?:resize|reserve|assign|append|insert|push_back|emplace_back|emplace|push|reset|alloc\w*)\s*\()");
  std::smatch found;
  return std::regex_search(statement, found, method) ? last_name(found[1]) : "";
}

// "posix_memalign((void**)&grid, 64, n)", "cudaMallocManaged(&grid, n)"
std::string address_argument(const std::string& statement) {
  static const std::regex call(
      R"(\w*(?:memalign|[aA]lloc)\w*\s*\(\s*(?:\(.*?\)\s*)?&\s*([A-Za-z_][\w.\[\]>-]*?)\s*[,)])");
  std::smatch found;
  return std::regex_search(statement, found, call) ? last_name(found[1]) : "";
}

// Parts between commas that are outside of parentheses.
std::vector<std::string> list_items(std::string_view list) {
  std::vector<std::string> items(1);
  int depth = 0;
  for (const char letter : list) {
    if (letter == '(' || letter == '[') ++depth;
    if (letter == ')' || letter == ']') --depth;
    if (depth < 0) break;
    if (letter == ',' && depth == 0)
      items.emplace_back();
    else
      items.back() += letter;
  }
  return items;
}

// "plate%tiles(i)%rho(n, m)" -> {"plate", "tiles", "rho"}; empty if it is no variable.
std::vector<std::string> component_names(const std::string& expression) {
  std::vector<std::string> names(1);
  int depth = 0;
  for (const char letter : expression) {
    if (letter == '(') ++depth;
    if (letter == ')') --depth;
    if (depth > 0 || letter == ')' || std::isspace(static_cast<unsigned char>(letter)) != 0)
      continue;
    if (letter == '%')
      names.emplace_back();
    else if (is_name_letter(letter))
      names.back() += letter;
    else
      return {};
  }
  for (const std::string& name : names)
    if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) != 0) return {};
  return names;
}

// The statement does not say which of several arrays it is.
std::string fortran_allocation(const std::string& statement) {
  const auto arrays = allocated_arrays(statement);
  return arrays.size() == 1 ? arrays.front().back() : "";
}

// A free-form line without its comment and surrounding blanks.
std::string without_comment(const std::string& line) {
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    if (quote != 0)
      quote = line[i] == quote ? 0 : quote;
    else if (line[i] == '"' || line[i] == '\'')
      quote = line[i];
    else if (line[i] == '!')
      return trimmed(line.substr(0, i));
  }
  return trimmed(line);
}

bool is_fixed_comment(const std::string& line) {
  return line.empty() || std::string_view("Cc*!dD").find(line[0]) != std::string_view::npos;
}

bool continues(const std::vector<std::string>& lines, std::size_t at, FortranForm form) {
  if (at == 0 || at >= lines.size()) return false;
  if (form == FortranForm::free) return without_comment(lines[at - 1]).ends_with('&');
  const std::string& line = lines[at];
  return !is_fixed_comment(line) && line.size() > 6 && line.substr(0, 5) == "     " &&
         line[5] != ' ' && line[5] != '0';
}

bool is_type(const std::string& word) {
  static const std::string_view k_no_types[] = {
      "return",    "new",      "throw",  "else", "case",  "goto",    "call",    "explicit",
      "co_return", "co_yield", "delete", "not",  "using", "typedef", "operator"};
  return std::ranges::find(k_no_types, word) == std::end(k_no_types);
}

// "std::vector<double> grid(n)", "Solver solver{n}": the name after a type.
std::string declared(const std::string& statement) {
  static const std::regex declaration(
      R"(^\s*(?:(?:static|const|thread_local|inline)\s+)*([A-Za-z_][\w:]*)(\s*<.*>)?(?:::\w+)?)"
      R"((?:\s+|\s*[&*]+\s*)([A-Za-z_]\w*)\s*[({])");
  static const std::regex behind_template(
      R"(^\s*(?:(?:static|const|thread_local|inline)\s+)*[A-Za-z_][\w:]*\s*<.*>\s*([A-Za-z_]\w*)\s*[({])");
  std::smatch found;
  if (std::regex_search(statement, found, behind_template)) return found[1];
  return std::regex_search(statement, found, declaration) && is_type(found[1]) ? found[3].str()
                                                                               : "";
}

// The parenthesis or brace that is closed there; npos: none is.
std::size_t opening_of(const std::string& line, std::size_t close) {
  if (line[close] != ')' && line[close] != '}') return std::string::npos;
  int depth = 0;
  for (std::size_t at = close + 1; at-- > 0;) {
    if (line[at] == ')' || line[at] == '}') ++depth;
    if ((line[at] == '(' || line[at] == '{') && --depth == 0) return at;
  }
  return std::string::npos;
}

// "Solver(int n) : count(n), grid(n)", "std::vector<double> a(n), b(n)": the name that the column
// points at (clang), or at the end of whose initializer it points (gcc), if it is one of a list.
std::string list_member(const std::string& line, std::uint32_t column) {
  if (column == 0 || column > line.size()) return "";
  std::size_t begin = column - 1, end = begin;
  if (const std::size_t open = opening_of(line, begin); open != std::string::npos) {
    for (end = open; end > 0 && line[end - 1] == ' ';)
      --end;
    for (begin = end; begin > 0 && is_name_letter(line[begin - 1]);)
      --begin;
  }
  while (end < line.size() && is_name_letter(line[end]))
    ++end;
  if (end == begin || (begin > 0 && is_name_letter(line[begin - 1]))) return "";
  const auto next = line.find_first_not_of(' ', end);
  if (next == std::string::npos || (line[next] != '(' && line[next] != '{')) return "";
  const std::string before = trimmed(line.substr(0, begin));
  const bool member = before.ends_with(':') && !before.ends_with("::");
  const bool item =
      before.ends_with(',') && std::ranges::count(before, '(') == std::ranges::count(before, ')');
  return member || item ? line.substr(begin, end - begin) : "";
}

} // namespace

std::string variable_of_line(const std::string& line, std::uint32_t column) {
  if (line.size() > k_longest_line) return "";
  if (std::string name = directive_name(line); !name.empty()) return name;
  if (std::string name = list_member(line, column); !name.empty()) return name;
  // The last statement that begins before the call: up to the call, and whole.
  std::size_t begin = 0, end = line.size(), call = line.size();
  if (column > 0 && column <= line.size()) {
    call = column - 1;
    if (const auto last = line.find_last_of(";{}", call); last != std::string::npos && last < call)
      begin = last + 1;
    end = std::min(line.find(';', call), line.size());
  }
  const std::string statement = line.substr(begin, end - begin);
  if (std::string name = address_argument(statement); !name.empty()) return name;
  if (std::string name = assigned(line.substr(begin, call - begin)); !name.empty()) return name;
  for (const auto form : {fortran_allocation, container, declared})
    if (std::string name = form(statement); !name.empty()) return name;
  return "";
}

FortranForm fortran_form(const std::string& file) {
  const auto dot = file.rfind('.');
  if (dot == std::string::npos) return FortranForm::none;
  std::string ending = file.substr(dot + 1);
  for (char& letter : ending)
    letter = static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  if (ending == "f" || ending == "for" || ending == "ftn" || ending == "fpp")
    return FortranForm::fixed;
  return ending == "f90" || ending == "f95" || ending == "f03" || ending == "f08" || ending == "f18"
             ? FortranForm::free
             : FortranForm::none;
}

std::string fortran_statement(const std::vector<std::string>& lines, std::size_t line,
                              FortranForm form) {
  if (line >= lines.size()) return "";
  std::size_t first = line, last = line;
  while (continues(lines, first, form))
    --first;
  while (continues(lines, last + 1, form))
    ++last;
  std::string statement;
  for (std::size_t at = first; at <= last; ++at) {
    std::string part = without_comment(lines[at]);
    if (form == FortranForm::fixed && at > first)
      part = trimmed(lines[at].substr(6));
    else if (part.starts_with('&'))
      part.erase(0, 1);
    if (form == FortranForm::free && part.ends_with('&')) part.pop_back();
    statement += (statement.empty() ? "" : " ") + trimmed(part);
  }
  return statement;
}

std::vector<std::vector<std::string>> allocated_arrays(const std::string& statement) {
  static const std::regex allocate(R"((?:^|[\s);])allocate\s*\((?:[^()]*(?:\([^()]*\))?[^()]*::)?)",
                                   std::regex::icase);
  std::vector<std::vector<std::string>> arrays;
  if (statement.size() > k_longest_line) return arrays;
  for (std::sregex_iterator at(statement.begin(), statement.end(), allocate), end; at != end; ++at)
    for (const std::string& item : list_items(std::string_view(statement).substr(
             static_cast<std::size_t>(at->position() + at->length()))))
      if (auto names = component_names(item); !names.empty()) arrays.push_back(std::move(names));
  return arrays;
}

std::vector<std::vector<std::string>> arguments_of_call(const std::string& statement) {
  static const std::regex call(R"((?:^|[\s);])call\s+)", std::regex::icase);
  std::vector<std::vector<std::string>> arguments;
  std::smatch found;
  if (statement.size() > k_longest_line || !std::regex_search(statement, found, call))
    return arguments;
  std::string called = found.suffix();
  called = trimmed(called.substr(0, called.find(';')));
  const std::size_t open =
      called.ends_with(')') ? opening_of(called, called.size() - 1) : called.npos;
  if (open == called.npos) return arguments;
  // A type-bound procedure gets the object as first argument.
  if (auto names = component_names(called.substr(0, open)); names.size() > 1) {
    names.pop_back();
    arguments.push_back(std::move(names));
  }
  for (const std::string& item : list_items(std::string_view(called).substr(open + 1)))
    arguments.push_back(component_names(item));
  return arguments;
}

FunctionText fortran_procedure(const std::vector<std::string>& lines, std::size_t line) {
  static const std::regex begin(
      R"(^\s*(?:[\w()=,*]+\s+)*(?:subroutine|function)\s+\w+\s*\(([^)]*)\))", std::regex::icase);
  static const std::regex end(R"(^\s*end\s*(?:subroutine|function)\b)", std::regex::icase);
  FunctionText function;
  int ended = 0; // procedures that are over before the line
  for (std::size_t at = std::min(line + 1, lines.size()); at-- > 0;) {
    if (lines[at].size() > k_longest_line) continue;
    if (std::regex_search(lines[at], end)) ++ended;
    std::smatch found;
    const std::string statement = fortran_statement(lines, at, FortranForm::free);
    if (statement.size() > k_longest_line || !std::regex_search(statement, found, begin)) continue;
    if (ended-- > 0) continue;
    function.known = true;
    for (const std::string& name : list_items(found[1].str()))
      function.parameters.push_back({trimmed(name), true});
    break;
  }
  return function;
}

std::string joined_path(const std::vector<std::string>& path, const char* between) {
  std::string text;
  for (const std::string& name : path)
    text += (text.empty() ? "" : between) + name;
  return text;
}

bool is_library_file(const std::string& file) {
  return file.starts_with("/usr/include/") || file.starts_with("/usr/lib/") ||
         file.find("/include/c++/") != std::string::npos;
}

} // namespace omptier
