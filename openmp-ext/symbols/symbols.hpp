// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names for frames, from the modules' symbol tables and debug information (libdw; separate debug
// files are found where the system keeps them, nothing is fetched). For commands, afterwards: the
// recorded process resolves nothing. If a module's file is gone or has another identity now, it is
// not used, and reported: names of another build would be wrong. Names in a profile need no file.
#pragma once

#include "analysis/aggregate.hpp"
#include "base/text.hpp"
#include "log/names.hpp"
#include "objects/site.hpp"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace omptier {

struct FoundCall {
  std::uint64_t offset = 0; // behind the call
  std::uint64_t target = 0; // the function that it calls, where that lies in the same module
};

class Symbols {
public:
  Symbols();
  ~Symbols();
  Symbols(const Symbols&) = delete;
  Symbols& operator=(const Symbols&) = delete;

  // offset: return address - load bias, as in Frame.
  ResolvedFrame resolve(const ModuleInfo& module, std::uint64_t offset);

  // The reverse of resolve, for plans of another build. If the source shows which variable gets the
  // result, the variable decides, wherever its call now is among the function's calls of the
  // callee; else the ordinal does, provided that the number of those calls is the same. A call that
  // is not found, or not uniquely, gives one line and is never guessed. called: where the next
  // outer frame's call goes, 0 = unknown.
  Parsed<FoundCall> find_call(const ModuleInfo& module, const PortableFrame& wanted,
                              std::uint64_t called = 0);

  // The module's statics from k_least_variable bytes on; none if its file is gone or stripped, or
  // if it is a runtime or a language's library, whose statics are not the program's.
  std::vector<StaticVariable> statics_of(const ModuleInfo& module);

  // From the source: "grid (main.c:7)", "/fields/ (solver.f90:3)"; without debug information from
  // the linker's name and the module's: "grid (solver)".
  std::string label_of_static(const ModuleInfo& module, std::uint64_t offset,
                              const std::string& symbol);

  // What the memory of an allocation is for (names_of_site in site_name.hpp). locations: of all
  // frames of the call stack, as resolve gives them. own: the first location that no other site has
  // in common with it.
  SiteName name_of(const std::vector<ModulePlace>& stack,
                   const std::vector<SourceLocation>& locations, std::size_t own);

  // Whether the file is unchanged since it was compiled, also for a location from a profile.
  bool is_as_compiled(const SourceLocation& location) const;

  // Names in a profile become the answers to their questions. Of several, the first counts.
  void hold(const ResolvedNames& names);

  // The answers since the last call; none of modules whose files could not be used.
  ResolvedNames take_answers();

  // One line for each module that could not be used.
  const std::vector<std::string>& problems() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

// As of a loaded module ("build-id:…" or "segments:…"); "" if the file is no ELF file.
std::string identity_of_file(const std::string& path);

// In the order of the summary's sites, regions and phases.
struct ProfileNames {
  std::vector<std::string> sites, regions, phases;
  std::vector<std::string> barriers = {}; // by phase: the one that ends it, "" if none does
  std::vector<bool> reductions = {};      // by phase: that is a call of a reduction
};

// A site is named after the variable that its memory is for, if the source can be read and shows it
// ("nuclide_grid (grids.cpp:41)", "matrix/values (main.cpp:9)"), else after function and place,
// else after module and offset. The place is the innermost one that this site shares with no other:
// for a helper that allocates many things, its callers give the names. Equal names are numbered.
ProfileNames names_of(const ProfileSummary& summary, Symbols& symbols);

// For a list of sites alone.
std::vector<std::string> labels_of_sites(Symbols& symbols, const std::vector<ModuleInfo>& modules,
                                         const std::vector<std::vector<Frame>>& sites);
std::string label_of_site(Symbols& symbols, const std::vector<ModuleInfo>& modules,
                          const std::vector<Frame>& frames);
// For a parallel region: "function (file:line)"; "outside of regions" without frames.
std::string label_of_region(Symbols& symbols, const std::vector<ModuleInfo>& modules,
                            const std::vector<Frame>& frames);

// "double* make<int>(unsigned long)" -> "make<int>"; long template arguments become "<…>".
std::string short_function(std::string function);

// The place of a list of frames in the source (PlaceInSource): functions and lines of each frame,
// inlined ones included, its callee, and the code of the parallel region that begins there. "" if
// the first frame's line is not known.
std::string place_in_source(Symbols& symbols, const std::vector<ModuleInfo>& modules,
                            const std::vector<Frame>& frames);

} // namespace omptier
