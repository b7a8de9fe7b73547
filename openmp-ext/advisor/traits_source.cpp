// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See traits_source.hpp. The traits are chosen once, as key and value; each language only writes
// them down.
#include "advisor/traits_source.hpp"

#include "advisor/explain.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <vector>

namespace omptier {
namespace {

constexpr double k_hardly_any = 0.02; // most writes of an array that counts as read-only

struct Trait {
  const char* key;   // "access_pattern"
  std::string value; // "random", or a number
  const char* cpp;   // the function of ompx::traits
  bool number = false;
};

const char* mode_of(double written) {
  if (written <= k_hardly_any) return "read_only";
  if (written < k_read_mostly) return "read_mostly";
  if (written <= 1 - k_read_mostly) return "read_write";
  return written < 1 - k_hardly_any ? "write_mostly" : "write_only";
}

std::vector<Trait> traits_of(const SiteDemand& demand) {
  std::vector<Trait> traits;
  const bool seen = demand.demand.total() > 0;
  if (seen && demand.knows_streams)
    traits.push_back({"access_pattern",
                      streamed_part(demand.demand) >= 0.5 ? "sequential" : "random", "pattern"});
  if (seen && demand.knows_writes)
    traits.push_back({"access_mode", mode_of(demand.written), "mode"});
  const long importance = std::lround(demand.share * (1 - demand.cached) * 1000);
  traits.push_back({"importance", std::to_string(importance), "importance", true});
  traits.push_back({"placement", "preferred", "placement"});
  return traits;
}

std::string value_of(const Trait& trait) {
  return trait.number ? trait.value : "ompx_atv_" + std::string(trait.key) + "_" + trait.value;
}

std::string space_of(MemoryKind kind) {
  return "ompx_" + std::string(name_of(kind)) + "_mem_space";
}

} // namespace

SourceLanguage language_of_file(const std::string& file) {
  const auto dot = file.rfind('.');
  if (dot == std::string::npos) return SourceLanguage::none;
  std::string ending = file.substr(dot + 1);
  if (ending == "C") return SourceLanguage::cpp;
  std::ranges::transform(ending, ending.begin(), [](unsigned char letter) {
    return static_cast<char>(std::tolower(letter));
  });
  const auto is_one_of = [&](const auto& endings) {
    return std::ranges::count(endings, ending) > 0;
  };
  constexpr std::array<std::string_view, 12> cpp = {"cpp", "cc",  "cxx", "c++", "cp",  "hpp",
                                                    "hh",  "hxx", "h++", "ipp", "tpp", "inl"};
  constexpr std::array<std::string_view, 9> fortran = {"f",   "for", "ftn", "fpp", "f90",
                                                       "f95", "f03", "f08", "f18"};
  if (ending == "c") return SourceLanguage::c;
  if (is_one_of(cpp)) return SourceLanguage::cpp;
  return is_one_of(fortran) ? SourceLanguage::fortran : SourceLanguage::none;
}

std::string identifier_from(const std::string& label) {
  std::string name = label.substr(0, label.find(' '));
  for (char& c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
  if (name.empty() || std::isdigit(static_cast<unsigned char>(name.front())) != 0)
    name.insert(0, "site_");
  return name;
}

std::string traits_as_c(const SiteDemand& demand, MemoryKind kind, const std::string& name) {
  const std::vector<Trait> traits = traits_of(demand);
  std::string text = "/* " + demand.label + " */\n";
  text += "static omp_alloctrait_t " + name + "_traits[] = {\n";
  for (const Trait& trait : traits)
    text += "    {ompx_atk_" + std::string(trait.key) + ", " + value_of(trait) + "},\n";
  // A constructor, because an initialiser in C may not call a function.
  text += "};\nstatic omp_allocator_handle_t " + name + "_alloc;\n" +
          "__attribute__((constructor)) static void make_" + name + "_alloc(void) {\n  " + name +
          "_alloc = omp_init_allocator(" + space_of(kind) + ", " + std::to_string(traits.size()) +
          ", " + name + "_traits);\n}\n";
  return text;
}

std::string traits_as_cpp(const SiteDemand& demand, MemoryKind kind, const std::string& name) {
  std::string text = "// " + demand.label + "\nstatic const ompx::allocator_handle " + name +
                     "_alloc(\n    " + space_of(kind) + ", ompx::traits{}";
  for (const Trait& trait : traits_of(demand))
    text += "\n        ." + std::string(trait.cpp) + "(" +
            (trait.number ? "" : "ompx::" + std::string(trait.key) + "::") + trait.value + ")";
  return text + ");\n";
}

std::string traits_as_fortran(const SiteDemand& demand, MemoryKind kind, const std::string& name) {
  std::string text = "    ! " + demand.label + "\n    " + name + "_alloc = ompx_init_allocator(" +
                     space_of(kind) + ", &";
  const char* before = "\n      [";
  for (const Trait& trait : traits_of(demand)) {
    text += std::string(before) + "ompx_trait(ompx_atk_" + trait.key + ", " + value_of(trait) +
            (trait.number ? "_ompx_value_kind" : "") + ")";
    before = ", &\n       ";
  }
  return text + "])\n";
}

std::string fortran_module(const std::vector<std::string>& names, std::string_view statements) {
  std::string text = "module advised_allocators\n"
                     "  use ompx_memory\n"
                     "  implicit none\n";
  for (const std::string& name : names)
    text += "  integer(ompx_handle_kind) :: " + name + "_alloc = ompx_null_allocator\n";
  return text + "contains\n  subroutine make_advised_allocators()\n" + std::string(statements) +
         "  end subroutine\nend module\n";
}

} // namespace omptier
