// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The advice as source to paste, by language, with where to paste it and how to allocate by it.
#pragma once

#include "advisor/advice.hpp"
#include "advisor/traits_source.hpp"
#include "analysis/aggregate.hpp"
#include "symbols/symbols.hpp"

#include <functional>
#include <string>
#include <vector>

namespace omptier {

// In which language the program's source could ask for a site's memory; none: a static has no
// allocator, and the source of numpy is not the user's.
SourceLanguage language_of_site(const SiteSummary& site, const std::vector<ModuleInfo>& modules,
                                Symbols& symbols);

// whole: before sites are divided, since source allocates each in one place. language_of: by the
// site's number in the summary. "" if there is nothing to paste.
std::string traits_text(const Advice& advice, const Workload& whole,
                        const std::function<SourceLanguage(std::size_t)>& language_of);

} // namespace omptier
