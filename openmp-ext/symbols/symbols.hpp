// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names for frames, from the modules' symbol tables and debug information (libdw; separate debug
// files are found where the system keeps them, nothing is fetched). For commands, afterwards: the
// recorded process resolves nothing. A module whose file is gone or has another identity now is not
// used, and said so: names of another build would be wrong. What a profile holds needs no file.
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

  // The other way round, for plans of another build. Where the source says which variable the
  // result goes to, the variable decides, wherever among the function's calls of the callee it
  // stands now; else the place does, provided that the number of those calls is what it was. What
  // is not found, or not uniquely, is said in one line and never guessed.
  // called: where the next outer frame's call goes, 0 = unknown.
  Parsed<FoundCall> find_call(const ModuleInfo& module, const PortableFrame& wanted,
                              std::uint64_t called = 0);

  // The module's statics from k_least_variable bytes on; none when its file is gone or stripped, or
  // is a runtime's or a language's library: those are no variables of the program's.
  std::vector<StaticVariable> statics_of(const ModuleInfo& module);

  // What the source calls a static: "grid (main.c:7)", "/fields/ (solver.f90:3)"; without debug
  // information by the linker's name and the module's: "grid (solver)".
  std::string label_of_static(const ModuleInfo& module, std::uint64_t offset,
                              const std::string& symbol);

  // What becomes of the memory that the call stack asks for (names_of_site in site_name.hpp).
  // locations: of all its frames, as resolve gives them. own: the first location that no other site
  // has in common with it.
  SiteName name_of(const std::vector<ModulePlace>& stack,
                   const std::vector<SourceLocation>& locations, std::size_t own);

  // Whether the location's file is still what was compiled: also if the location is held, and the
  // file was written since.
  bool is_as_compiled(const SourceLocation& location) const;

  // From now on these are the answers to what they answer. Of several, the first.
  void hold(const ResolvedNames& names);

  // The answers given since the last call; none of modules whose files could not be used.
  ResolvedNames take_answers();

  // One line for each module that could not be used.
  const std::vector<std::string>& problems() const;

private:
  struct State;
  std::unique_ptr<State> state_;
};

// Identity of an ELF file as a loaded module would have it ("build-id:…" or "segments:…"); "" when
// it is no ELF file.
std::string identity_of_file(const std::string& path);

// Names of a summary's sites, regions and phases for people, in their order.
struct ProfileNames {
  std::vector<std::string> sites, regions, phases;
};

// A site is called after the variable that its memory is for, where the source can be read and says
// so ("nuclide_grid (grids.cpp:41)", "matrix/values (main.cpp:9)"), else after function and place,
// else after module and offset. The place is the innermost one that this site shares with no other:
// of a helper that allocates many things, its callers give the names. Equal names are numbered.
ProfileNames names_of(const ProfileSummary& summary, Symbols& symbols);

// The same for a list of sites alone.
std::vector<std::string> labels_of_sites(Symbols& symbols, const std::vector<ModuleInfo>& modules,
                                         const std::vector<std::vector<Frame>>& sites);
std::string label_of_site(Symbols& symbols, const std::vector<ModuleInfo>& modules,
                          const std::vector<Frame>& frames);
// The same for a parallel region: "function (file:line)"; "outside of regions" without frames.
std::string label_of_region(Symbols& symbols, const std::vector<ModuleInfo>& modules,
                            const std::vector<Frame>& frames);

// "double* make<int>(unsigned long)" -> "make<int>": what fits a table. Long template arguments are
// "<…>".
std::string short_function(std::string function);

// What a list of frames is in the source: functions and lines of each frame, inlined ones included,
// what it calls there, and the code of the parallel region that begins there (PlaceInSource). ""
// where the first frame's line is not known.
std::string place_in_source(Symbols& symbols, const std::vector<ModuleInfo>& modules,
                            const std::vector<Frame>& frames);

} // namespace omptier
