// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A C or C++ source file as tokens, and what its text says at one place: where the value of a call
// goes, which object and arguments it has, and which function it is in. Read for names only: not
// preprocessed, except for a function-like macro at the place. What is not written plainly is
// unknown.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace omptier {

struct Token {
  std::string text;
  std::uint32_t line = 0, column = 0; // from 1
  bool is_name() const;               // of anything, keywords too
};

// What is assigned to: "*grid->cells[i].rho" is {grid, cells, rho}, reached through a pointer.
struct Target {
  std::vector<std::string> path; // empty: nothing
  bool of_this = false;          // a member by "this->" or an initialiser list
  bool reached = false;          // by *, ->, [] or a member: not the variable alone
};

struct Fate {
  enum class Kind { unknown, stored, returned };
  Kind kind = Kind::unknown;
  Target target; // of what is stored
};

struct Parameter {
  std::string name;
  bool is_reference = false;
};

// The function around a place.
struct FunctionText {
  bool known = false;
  bool is_member = false, is_constructor = false;
  std::string name;                     // without its classes; "" of a lambda
  std::vector<std::string> initialised; // by the list behind a constructor's parameters
  std::vector<Parameter> parameters;
  std::vector<std::string> locals;   // declared before the place
  std::vector<std::string> returned; // "return name;", anywhere in it
};

struct SourcePlace {
  Fate fate;
  bool has_object = false; // "object.method(…)", "object->method(…)"
  Target object;
  std::vector<Target> arguments; // empty ones where they are no variables
  FunctionText function;
};

class SourceText {
public:
  // Macros are read from the file and from files beside it that it includes by "name".
  explicit SourceText(const std::string& file);

  // Nothing if there is no call or declaration. column: from 1.
  std::optional<SourcePlace> at(std::uint32_t line, std::uint32_t column) const;

private:
  struct Macro {
    std::vector<std::string> parameters;
    std::vector<Token> body;
  };

  void read(const std::string& file, bool macros_only);
  void add_macro(const std::string& definition);
  bool expand(std::vector<Token>& tokens, std::size_t& at) const;

  std::vector<Token> tokens_;
  std::map<std::string, Macro> macros_;
};

} // namespace omptier
