// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See terms.hpp.
#include "advisor/terms.hpp"

#include <algorithm>
#include <array>

namespace omptier {
namespace {

struct Term {
  std::string_view name;
  bool Terms::* is_in;
};
constexpr std::array k_terms = {
    Term{"new-pages", &Terms::new_pages}, Term{"parts", &Terms::parts},
    Term{"caches", &Terms::caches},       Term{"lines", &Terms::lines},
    Term{"loops", &Terms::loops},         Term{"overlap", &Terms::overlap},
    Term{"blocks", &Terms::blocks}};

std::string names_of_terms() {
  std::string names;
  for (const Term& term : k_terms)
    names += (names.empty() ? "" : ", ") + std::string(term.name);
  return names;
}

} // namespace

std::string leave_out(std::string_view names, Terms& terms) {
  while (!names.empty()) {
    const std::string_view name = names.substr(0, names.find(','));
    const auto term = std::ranges::find(k_terms, name, &Term::name);
    if (term == k_terms.end()) return "'" + std::string(name) + "' is none of " + names_of_terms();
    terms.*term->is_in = false;
    names.remove_prefix(std::min(names.size(), name.size() + 1));
  }
  return {};
}

} // namespace omptier
