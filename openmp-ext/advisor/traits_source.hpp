// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The advice as source to paste: one allocator for each object, with the traits that its demand
// shows, in the language of the source that allocates it.
#pragma once

#include "advisor/workload.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace omptier {

enum class SourceLanguage { none, c, cpp, fortran }; // none: of a header, or no source at all

// By the file's name.
SourceLanguage language_of_file(const std::string& file);

// "nuclide_grid (grids.cpp:41)" -> "nuclide_grid"; anything that is no identifier becomes '_'.
std::string identifier_from(const std::string& label);

// `name` must be an identifier. C and C++: for file scope. Fortran: the statement, see below.
std::string traits_as_c(const SiteDemand& demand, MemoryKind kind, const std::string& name);
std::string traits_as_cpp(const SiteDemand& demand, MemoryKind kind, const std::string& name);
std::string traits_as_fortran(const SiteDemand& demand, MemoryKind kind, const std::string& name);

// A whole module: the names of its allocators, and the statements that make them.
std::string fortran_module(const std::vector<std::string>& names, std::string_view statements);

} // namespace omptier
