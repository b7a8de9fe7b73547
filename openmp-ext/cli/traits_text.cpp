// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See traits_text.hpp.
#include "cli/traits_text.hpp"

#include "advisor/curve.hpp"
#include "symbols/variable_in_line.hpp"

#include <algorithm>
#include <cctype>
#include <map>

namespace omptier {
namespace {

constexpr std::size_t k_longest_name = 50; // Fortran takes 63 letters, "_alloc" included

constexpr const char* k_c_usage =
    "\nThe same as C source, for file scope, behind #include <ompx_memory.h>; allocate with these "
    "allocators:\nomp_alloc(bytes, NAME_alloc), and omp_free.\n\n";
constexpr const char* k_cpp_usage =
    "\nThe same as C++17 source, for file scope, behind #include <ompx_memory.hpp>; allocate with "
    "these allocators:\nstd::vector<T, ompx::allocator<T>> x(n, NAME_alloc), or "
    "omp_alloc(bytes, NAME_alloc.get()) and omp_free.\n\n";
constexpr const char* k_fortran_usage =
    "\nThe same as a Fortran module, for a file of its own; call make_advised_allocators first, "
    "then allocate with these allocators:\ncall ompx_allocate(x, [n, m], NAME_alloc), where x is "
    "a pointer, and call ompx_deallocate(x).\n\n";

// An allocator's name; repeated ones are numbered. Fortran's are equal in capital letters, too.
class Names {
public:
  std::string made_from(const std::string& label, SourceLanguage language) {
    std::string name = identifier_from(label);
    if (language == SourceLanguage::fortran) {
      std::ranges::transform(name, name.begin(), [](unsigned char letter) {
        return static_cast<char>(std::tolower(letter));
      });
      name.resize(std::min(name.size(), k_longest_name));
    }
    const int before = uses_[name]++;
    return before > 0 ? name + "_" + std::to_string(before + 1) : name;
  }

private:
  std::map<std::string, int> uses_;
};

// The tier of most of its bytes; past the tiers: nowhere. If no plan reaches it, the best.
std::size_t tier_for(const Advice& advice, const SiteDemand& demand) {
  const auto& sites = advice.workload.sites;
  const auto at = std::ranges::find(sites, demand.site, &SiteDemand::site);
  if (at == sites.end()) return advice.tiers.size();
  if (!at->by_plan) return tier_in_source(advice, static_cast<std::size_t>(at - sites.begin()));
  const std::vector<double> parts = parts_by_tier(advice, demand.site).parts;
  const auto most = std::ranges::max_element(parts);
  return *most > 0 ? static_cast<std::size_t>(most - parts.begin()) : parts.size();
}

} // namespace

SourceLanguage language_of_site(const SiteSummary& site, const std::vector<ModuleInfo>& modules,
                                Symbols& symbols) {
  if (site.kind != SiteKind::allocation) return SourceLanguage::none;
  bool in_header = false, by_library = false; // by a library that has no lines
  for (const Frame& frame : site.frames) {
    const ModuleInfo& module = modules[frame.module];
    if (module.system) continue;
    for (const SourceLocation& location : symbols.resolve(module, frame.offset).locations) {
      if (location.line == 0 || is_library_file(location.file)) continue;
      const SourceLanguage language = language_of_file(location.file);
      if (language != SourceLanguage::none) return language;
      in_header = true;
    }
    by_library = by_library || module.name.find(".so") != std::string::npos;
  }
  return in_header || !by_library ? SourceLanguage::c : SourceLanguage::none;
}

std::string traits_text(const Advice& advice, const Workload& whole,
                        const std::function<SourceLanguage(std::size_t)>& language_of) {
  std::string c, cpp, fortran;
  std::vector<std::string> fortran_names;
  Names names;
  for (const SiteDemand& demand : whole.sites) {
    const std::size_t tier = tier_for(advice, demand);
    if (tier >= advice.tiers.size() || demand.demand.total() <= 0) continue;
    const SourceLanguage language = language_of(demand.site);
    if (language == SourceLanguage::none) continue;
    const std::string name = names.made_from(demand.label, language);
    const MemoryKind kind = advice.tiers[tier].kind;
    if (language == SourceLanguage::c) {
      c += traits_as_c(demand, kind, name);
    } else if (language == SourceLanguage::cpp) {
      cpp += traits_as_cpp(demand, kind, name);
    } else {
      fortran += traits_as_fortran(demand, kind, name);
      fortran_names.push_back(name);
    }
  }
  std::string text;
  if (!c.empty()) text += k_c_usage + c;
  if (!cpp.empty()) text += k_cpp_usage + cpp;
  if (!fortran.empty()) text += k_fortran_usage + fortran_module(fortran_names, fortran);
  return text;
}

} // namespace omptier
