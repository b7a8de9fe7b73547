// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See symbols.hpp. Each module has a libdwfl session of its own, so that addresses of different
// modules cannot be confused; "vaddr" below is the address in the file, which is a frame's offset.
#include "symbols/symbols.hpp"

#include "objects/modules.hpp"
#include "symbols/debug_file.hpp"
#include "symbols/functions.hpp"
#include "symbols/scopes.hpp"
#include "symbols/site_name.hpp"
#include "symbols/variable_in_line.hpp"
#include "symbols/variables.hpp"

#include <algorithm>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <elfutils/libdwelf.h>
#include <elfutils/libdwfl.h>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <map>
#include <unistd.h>

namespace omptier {
namespace {

bool hash_segments(Elf* elf, std::uint64_t& hash) {
  std::size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return false;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf, static_cast<int>(i), &segment) == nullptr) return false;
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    Elf_Data* data = elf_getdata_rawchunk(elf, static_cast<std::int64_t>(segment.p_offset),
                                          segment.p_filesz, ELF_T_BYTE);
    if (data == nullptr) return false;
    hash = hash_bytes(hash, data->d_buf, data->d_size);
  }
  return true;
}

class ModuleFile {
public:
  explicit ModuleFile(const std::string& path) {
    static constexpr Dwfl_Callbacks k_callbacks = {dwfl_build_id_find_elf,
                                                   find_debug_file,
                                                   dwfl_offline_section_address, nullptr};
    session_ = dwfl_begin(&k_callbacks);
    if (session_ == nullptr) return;
    dwfl_report_begin(session_);
    module_ = dwfl_report_offline(session_, path.c_str(), path.c_str(), -1);
    dwfl_report_end(session_, nullptr, nullptr);
    if (module_ != nullptr) elf_ = dwfl_module_getelf(module_, &bias_);
    if (elf_ != nullptr) functions_ = std::make_unique<Functions>(module_, elf_, bias_);
    std::error_code no_file;
    made_ = std::filesystem::last_write_time(path, no_file);
  }
  ~ModuleFile() {
    if (session_ != nullptr) dwfl_end(session_);
  }
  ModuleFile(const ModuleFile&) = delete;
  ModuleFile& operator=(const ModuleFile&) = delete;

  bool usable() const { return elf_ != nullptr; }

  Functions& functions() { return *functions_; }

  std::vector<StaticVariable> statics() { return variables_in(module_, bias_, k_least_variable); }

  SourceVariable variable(std::uint64_t vaddr, const std::string& symbol) {
    if (variables_ == nullptr) variables_ = std::make_unique<VariableNames>(module_);
    return variables_->at(vaddr, symbol, bias_);
  }

  std::string variable_at(std::uint64_t vaddr) {
    return variable_of(sources_, locations_at(vaddr, ""));
  }

  // The order in the source of the calls that one Fortran statement makes of one callee: GNU's
  // compiler numbers the parts of a line (discriminators), or keeps them in order.
  CallOrder order_of(std::uint64_t vaddr, const std::vector<std::uint64_t>& calls) {
    const auto here = place_of(vaddr);
    std::vector<std::pair<std::uint32_t, std::uint64_t>> numbered; // part, address
    for (const std::uint64_t call : calls)
      if (const auto there = place_of(call); same_place(here, there))
        numbered.emplace_back(part_of_line(call), call);
    std::ranges::sort(numbered);
    std::vector<std::uint32_t> parts;
    for (const auto& [part, call] : numbered)
      if (parts.empty() || parts.back() != part) parts.push_back(part);
    CallOrder order;
    if (parts.size() > 1) {
      const auto at = std::ranges::find(parts, part_of_line(vaddr));
      order = {static_cast<std::uint32_t>(at - parts.begin()),
               static_cast<std::uint32_t>(parts.size())};
    } else {
      const auto at =
          std::ranges::find(numbered, vaddr, [](const auto& one) { return one.second; });
      if (at != numbered.end())
        order = {static_cast<std::uint32_t>(at - numbered.begin()),
                 static_cast<std::uint32_t>(numbered.size())};
    }
    return order;
  }

  // Innermost inlined function first. vaddr: of the call itself.
  std::vector<SourceLocation> locations_at(std::uint64_t vaddr, const std::string& linked) {
    std::vector<SourceLocation> locations(1);
    Dwarf_Addr debug_bias = 0;
    Dwarf_Die* unit = unit_at(vaddr + bias_, debug_bias);
    const Dwarf_Addr address = vaddr + bias_ - debug_bias;
    if (unit != nullptr) {
      fill_line(unit, address, locations[0]);
      for (Dwarf_Die& scope : scopes_.at(unit, address))
        add_scope(unit, &scope, locations);
    }
    if (locations.back().function.empty()) locations.back().function = linked;
    for (SourceLocation& location : locations)
      location.changed = was_changed(location.file);
    return locations;
  }

private:
  bool was_changed(const std::string& file) {
    const auto [at, added] = changed_.try_emplace(file, true);
    std::error_code no_file;
    if (added && !file.empty()) {
      const auto changed = std::filesystem::last_write_time(file, no_file);
      at->second = no_file || changed > made_;
    }
    return at->second;
  }

  std::vector<SourceLocation> place_of(std::uint64_t vaddr) { return locations_at(vaddr, ""); }

  static bool same_place(const std::vector<SourceLocation>& a,
                         const std::vector<SourceLocation>& b) {
    return std::ranges::equal(a, b, [](const SourceLocation& one, const SourceLocation& other) {
      return one.line == other.line && one.column == other.column && one.file == other.file;
    });
  }

  std::uint32_t part_of_line(std::uint64_t vaddr) {
    Dwarf_Addr debug_bias = 0;
    Dwarf_Die* unit = unit_at(vaddr + bias_, debug_bias);
    Dwarf_Line* line =
        unit != nullptr ? dwarf_getsrc_die(unit, vaddr + bias_ - debug_bias) : nullptr;
    unsigned part = 0;
    return line != nullptr && dwarf_linediscriminator(line, &part) == 0 ? part : 0;
  }

  // clang writes no table of address ranges. In one of other compilers' units libdw takes the unit
  // below the address, whether it goes that far or not: then the units' own ranges tell.
  Dwarf_Die* unit_at(Dwarf_Addr address, Dwarf_Addr& debug_bias) {
    const auto is_in = [&](Dwarf_Die* unit) {
      return dwarf_haspc(unit, address - debug_bias) == 1;
    };
    Dwarf_Die* listed = dwfl_module_addrdie(module_, address, &debug_bias);
    if (listed != nullptr && is_in(listed)) return listed;
    if (ranges_.empty()) read_ranges();
    const auto behind = std::ranges::upper_bound(ranges_, address, {}, &UnitRange::begin);
    if (behind == ranges_.begin() || address >= std::prev(behind)->end) return listed;
    debug_bias = std::prev(behind)->bias;
    return std::prev(behind)->unit;
  }

  struct UnitRange {
    Dwarf_Addr begin, end; // as the module was reported
    Dwarf_Addr bias;
    Dwarf_Die* unit;
  };

  void read_ranges() {
    Dwarf_Addr bias = 0;
    for (Dwarf_Die* unit = nullptr;
         (unit = dwfl_module_nextcu(module_, unit, &bias)) != nullptr;) {
      Dwarf_Addr base = 0, begin = 0, end = 0;
      for (std::ptrdiff_t at = 0; (at = dwarf_ranges(unit, at, &base, &begin, &end)) > 0;)
        ranges_.push_back({begin + bias, end + bias, bias, unit});
    }
    std::ranges::sort(ranges_, {}, &UnitRange::begin);
  }

  static void fill_line(Dwarf_Die* unit, Dwarf_Addr address, SourceLocation& location) {
    Dwarf_Line* line = dwarf_getsrc_die(unit, address);
    int number = 0;
    if (line == nullptr || dwarf_lineno(line, &number) != 0) return;
    const char* file = dwarf_linesrc(line, nullptr, nullptr);
    if (file == nullptr) return;
    location.file = with_folder(file, unit);
    location.line = static_cast<std::uint32_t>(std::max(number, 0));
    if (dwarf_linecol(line, &number) == 0)
      location.column = static_cast<std::uint32_t>(std::max(number, 0));
  }

  static std::string with_folder(const std::string& file, Dwarf_Die* unit) {
    Dwarf_Attribute attribute;
    const char* folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
    return file[0] == '/' || folder == nullptr ? file : folder + ("/" + file);
  }

  // An inlined function's scope names the last location's function and adds the call's location.
  static void add_scope(Dwarf_Die* unit, Dwarf_Die* scope, std::vector<SourceLocation>& locations) {
    const int tag = dwarf_tag(scope);
    if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) return;
    Dwarf_Attribute attribute;
    const char* linkage =
        dwarf_formstring(dwarf_attr_integrate(scope, DW_AT_linkage_name, &attribute));
    const char* plain = dwarf_diename(scope);
    if (locations.back().function.empty() && (linkage != nullptr || plain != nullptr))
      locations.back().function = linkage != nullptr ? demangle(linkage) : plain;
    if (const char* file = dwarf_decl_file(scope); file != nullptr)
      locations.back().defined_in = with_folder(file, unit);
    if (tag != DW_TAG_inlined_subroutine) return;
    SourceLocation outer;
    Dwarf_Word file = 0, line = 0, column = 0;
    Dwarf_Files* files = nullptr;
    if (dwarf_formudata(dwarf_attr(scope, DW_AT_call_line, &attribute), &line) == 0)
      outer.line = static_cast<std::uint32_t>(line);
    if (dwarf_formudata(dwarf_attr(scope, DW_AT_call_column, &attribute), &column) == 0)
      outer.column = static_cast<std::uint32_t>(column);
    if (dwarf_formudata(dwarf_attr(scope, DW_AT_call_file, &attribute), &file) == 0 &&
        dwarf_getsrcfiles(unit, &files, nullptr) == 0)
      if (const char* name = dwarf_filesrc(files, file, nullptr, nullptr))
        outer.file = with_folder(name, unit);
    locations.push_back(std::move(outer));
  }

  Dwfl* session_ = nullptr;
  Dwfl_Module* module_ = nullptr;
  Elf* elf_ = nullptr;
  GElf_Addr bias_ = 0;
  std::unique_ptr<Functions> functions_;
  std::unique_ptr<VariableNames> variables_;
  std::filesystem::file_time_type made_;
  std::vector<UnitRange> ranges_; // of all units, in order
  Scopes scopes_;
  Sources sources_;
  std::map<std::string, bool> changed_; // source files, by name
};

} // namespace

std::string identity_of_file(const std::string& path) {
  elf_version(EV_CURRENT);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  char identity[k_identity_size] = "";
  if (Elf* elf = elf_begin(fd, ELF_C_READ_MMAP, nullptr); elf != nullptr) {
    const void* bytes = nullptr;
    const ssize_t count = elf_kind(elf) == ELF_K_ELF ? dwelf_elf_gnu_build_id(elf, &bytes) : -1;
    std::uint64_t hash = 0;
    if (count > 0)
      write_build_id(identity, bytes, static_cast<std::size_t>(count));
    else if (elf_kind(elf) == ELF_K_ELF && hash_segments(elf, hash))
      write_segments_id(identity, hash);
    elf_end(elf);
  }
  close(fd);
  return identity;
}

struct Symbols::State {
  std::map<std::string, std::unique_ptr<ModuleFile>> files; // by identity; null = unusable
  ResolvedNames answers; // since they were taken
  ResolvedNames held;    // before that, and of profiles
  std::vector<std::string> problems;
  Sources sources; // of sites

  // A known answer, or else the result of find; null if there is none.
  template <typename Table, typename Find>
  const typename Table::mapped_type* answer(Table ResolvedNames::*table,
                                            const typename Table::key_type& key, Find&& find) {
    Table &given = answers.*table, &before = held.*table;
    if (const auto at = given.find(key); at != given.end()) return &at->second;
    if (const auto at = before.find(key); at != before.end())
      return &given.emplace(key, at->second).first->second;
    std::optional<typename Table::mapped_type> found = find();
    return found ? &given.emplace(key, std::move(*found)).first->second : nullptr;
  }

  ModuleFile* file_of(const ModuleInfo& module) {
    const auto at = files.find(module.identity);
    if (at != files.end()) return at->second.get();
    std::unique_ptr<ModuleFile>& file = files[module.identity];
    if (module.path.empty() || module.path[0] != '/') return nullptr; // the kernel's page and such
    const std::string now = identity_of_file(module.path);
    if (now != module.identity) {
      problems.push_back(
          module.path +
          (now.empty() ? ": cannot be read" : ": was built anew since it was recorded") +
          "; its frames stay without names");
      return nullptr;
    }
    file = std::make_unique<ModuleFile>(module.path);
    if (!file->usable()) file.reset();
    return file.get();
  }
};

Symbols::Symbols() : state_(std::make_unique<State>()) {
  // Debug information is searched on this machine only: no report waits for a network.
  unsetenv("DEBUGINFOD_URLS");
}
Symbols::~Symbols() = default;

const std::vector<std::string>& Symbols::problems() const {
  return state_->problems;
}

std::vector<StaticVariable> Symbols::statics_of(const ModuleInfo& module) {
  if (is_runtime_name(module.name.c_str()) || is_language_name(module.name.c_str())) return {};
  using Answer = std::optional<std::vector<StaticVariable>>;
  const auto* statics = state_->answer(&ResolvedNames::statics, module.identity, [&] {
    ModuleFile* file = state_->file_of(module);
    return file != nullptr ? Answer(file->statics()) : Answer();
  });
  return statics != nullptr ? *statics : std::vector<StaticVariable>();
}

std::string Symbols::label_of_static(const ModuleInfo& module, std::uint64_t offset,
                                     const std::string& symbol) {
  const auto label = [&](const SourceVariable& variable) {
    std::string where = variable.file.empty() ? module.name : variable.file;
    if (variable.line > 0) where += ":" + std::to_string(variable.line);
    return variable.name + " (" + where + ")";
  };
  using Answer = std::optional<std::string>;
  const std::string* found = state_->answer(
      &ResolvedNames::static_labels, {{module.identity, offset}, symbol}, [&] {
        ModuleFile* file = state_->file_of(module);
        return file != nullptr ? Answer(label(file->variable(offset, symbol))) : Answer();
      });
  return found != nullptr ? *found : label({plain_name(symbol), "", 0});
}

SiteName Symbols::name_of(const std::vector<ModulePlace>& stack,
                          const std::vector<SourceLocation>& locations, std::size_t own) {
  const auto* names = state_->answer(&ResolvedNames::sites, stack, [&] {
    return std::optional(names_of_site(state_->sources, locations));
  });
  const auto behind = std::ranges::upper_bound(*names, own, {}, &SiteNameFrom::own);
  const SiteName& name = std::prev(behind)->name;
  // In a damaged profile a name may refer to other locations.
  return name.last < std::max<std::size_t>(locations.size(), 1) ? name : SiteName();
}

bool Symbols::is_as_compiled(const SourceLocation& location) const {
  if (location.changed) return false;
  const auto then = state_->held.sources.find(location.file);
  return then == state_->held.sources.end() || then->second == source_time(location.file);
}

void Symbols::hold(const ResolvedNames& names) {
  State& state = *state_;
  state.held.sources.insert(names.sources.begin(), names.sources.end());
  state.held.frames.insert(names.frames.begin(), names.frames.end());
  state.held.statics.insert(names.statics.begin(), names.statics.end());
  state.held.static_labels.insert(names.static_labels.begin(), names.static_labels.end());
  state.held.sites.insert(names.sites.begin(), names.sites.end());
}

ResolvedNames Symbols::take_answers() {
  ResolvedNames answers = std::exchange(state_->answers, {});
  hold(answers);
  for (const auto& [place, frame] : answers.frames)
    for (const SourceLocation& location : frame.locations)
      if (!location.changed && !answers.sources.contains(location.file))
        if (const auto time = source_time(location.file)) answers.sources[location.file] = *time;
  // Names of stacks through a module that cannot be read here might differ elsewhere.
  std::erase_if(answers.sites, [&](const auto& site) {
    return !std::ranges::all_of(
        site.first, [&](const ModulePlace& at) { return answers.frames.contains(at); });
  });
  return answers;
}

namespace {

std::vector<const NamedCall*> calls_of_callee(Functions& functions, const NamedFunction& function,
                                              const std::string& callee) {
  std::vector<const NamedCall*> calls;
  for (const NamedCall& call : functions.calls_of(function))
    if (call.callee == callee) calls.push_back(&call);
  return calls;
}

// The call that returns to the address. A part or copy has the function's name if it alone makes
// such calls.
void name_call(Functions& functions, const NamedFunction& function, std::uint64_t behind,
               ResolvedFrame& resolved) {
  PortableFrame& frame = resolved.portable;
  frame.function = function.name;
  const auto& all = functions.calls_of(function);
  const auto call = std::ranges::find(all, behind, &NamedCall::behind);
  if (call == all.end()) return; // no instruction that is known as a call: nothing to be found by
  frame.callee = call->callee;
  resolved.runs = call->runs;
  const auto calls = calls_of_callee(functions, function, call->callee);
  frame.calls = static_cast<std::uint32_t>(calls.size());
  frame.ordinal = static_cast<std::uint32_t>(std::ranges::find(calls, &*call) - calls.begin());
  for (const NamedFunction& other : functions.named(function.name))
    if (other.begin != function.begin && !calls_of_callee(functions, other, frame.callee).empty())
      frame.function = function.part;
}

std::string title_of_callee(const PortableFrame& wanted) {
  return wanted.callee.empty() ? "by address" : "of " + wanted.callee;
}

// Compilers number these names in order of the source: another function may have the number now.
bool is_numbered(const std::string& function) {
  for (const char* mark : {"._omp_fn.", ".omp_outlined", "lambda", "$_", "{unnamed"})
    if (function.find(mark) != std::string::npos) return true;
  return false;
}

// Of the functions with the wanted name the one that makes such calls.
Parsed<NamedFunction> find_function(Functions& functions, const PortableFrame& wanted,
                                    std::uint64_t called) {
  std::vector<NamedFunction> found = functions.named(wanted.function);
  if (found.empty())
    return Parsed<NamedFunction>::failure("there is no function " + wanted.function + " now");
  // If several have the name (static ones in several files), the caller's call decides.
  if (const auto meant = std::ranges::find(found, called, &NamedFunction::begin);
      meant != found.end()) {
    const auto part = meant->part;
    const auto begin = meant->begin;
    std::erase_if(found,
                  [&](const NamedFunction& f) { return f.part == part && f.begin != begin; });
  }
  std::erase_if(found, [&](const NamedFunction& f) {
    return calls_of_callee(functions, f, wanted.callee).empty();
  });
  if (found.empty())
    return Parsed<NamedFunction>::failure(wanted.function + " makes no call " +
                                          title_of_callee(wanted) + " now");
  if (found.size() > 1)
    std::erase_if(found, [&](const NamedFunction& f) { return f.part != wanted.function; });
  if (found.size() != 1)
    return Parsed<NamedFunction>::failure("several functions are called " + wanted.function +
                                          " now");
  return found.front();
}

// "dot(double*) [clone ._omp_fn.0]": "dot(double*)"; "" for other code than a region's, and clang's.
std::string function_of_region(const std::string& code) {
  const auto at = code.find("._omp_fn.");
  if (at == std::string::npos) return {};
  const std::string function = code.substr(0, at);
  return function.substr(0, function.find(" [clone "));
}

// The call that begins a parallel region stands in the function whose part the region's code is.
// gcc may give the call the place of inlined code that it moved in front of it.
void leave_moved_code(std::vector<SourceLocation>& locations, const std::string& function,
                      const SourceLocation& code) {
  if (function.empty()) return;
  const auto own = std::ranges::find_if(locations, [&](const SourceLocation& at) {
    return !at.function.empty() && // a static function's has no parameters
           (at.function == function || function.starts_with(at.function + "("));
  });
  if (own != locations.end()) {
    locations.erase(locations.begin(), own);
  } else if (code.line > 0 && locations.size() > 1 &&
             fortran_form(code.file) == FortranForm::none) { // the region's function is inlined
    locations.front() = code;
    locations.front().function = function;
  }
}

// Of a language's library only the function: its lines are no place where a user looks, and need
// tens of milliseconds where debug files of the system are installed.
ResolvedFrame resolve_in(ModuleFile& file, std::uint64_t offset, bool function_only) {
  ResolvedFrame frame;
  if (offset == 0) return frame;
  if (const std::optional<NamedFunction> function = file.functions().at(offset - 1)) {
    frame.known = true;
    name_call(file.functions(), *function, offset, frame);
  }
  if (function_only) {
    SourceLocation& location = frame.locations.emplace_back();
    location.function = frame.portable.function;
    location.changed = true; // there is no file
    return frame;
  }
  frame.locations = file.locations_at(offset - 1, frame.portable.function);
  // gcc gives calls of several regions the line of the first; the regions' code has the right one.
  if (frame.runs != 0) {
    const auto code = file.locations_at(frame.runs, "").back();
    const auto function = file.functions().at(frame.runs);
    leave_moved_code(frame.locations, function ? function_of_region(function->part) : "", code);
    if (code.file == frame.locations.front().file && code.line > 0)
      frame.locations.front().line = code.line;
  }
  if (fortran_form(frame.locations.front().file) != FortranForm::none) {
    std::vector<std::uint64_t> calls;
    if (const auto function = file.functions().at(offset - 1))
      for (const NamedCall* call :
           calls_of_callee(file.functions(), *function, frame.portable.callee))
        calls.push_back(call->behind - 1);
    frame.locations.front().order = file.order_of(offset - 1, calls);
  }
  frame.portable.variable = file.variable_at(offset - 1);
  frame.portable.file = std::filesystem::path(frame.locations.front().file).filename().string();
  frame.portable.line = frame.locations.front().line;
  if (!frame.known && !frame.locations.back().function.empty()) {
    frame.known = true; // no symbol, but debug information
    frame.portable.function = frame.locations.back().function;
  }
  return frame;
}

} // namespace

ResolvedFrame Symbols::resolve(const ModuleInfo& module, std::uint64_t offset) {
  using Answer = std::optional<ResolvedFrame>;
  const ResolvedFrame* frame =
      state_->answer(&ResolvedNames::frames, {module.identity, offset}, [&] {
        ModuleFile* file = state_->file_of(module);
        const bool library = module.system && is_language_name(module.name.c_str());
        return file != nullptr ? Answer(resolve_in(*file, offset, library)) : Answer();
      });
  return frame != nullptr ? *frame : ResolvedFrame();
}

Parsed<FoundCall> Symbols::find_call(const ModuleInfo& module, const PortableFrame& wanted,
                                     std::uint64_t called) {
  using Failure = Parsed<FoundCall>;
  ModuleFile* file = state_->file_of(module);
  if (file == nullptr) return Failure::failure(module.name + " cannot be read");
  if (wanted.function.empty() || (wanted.callee.empty() && wanted.calls == 0))
    return Failure::failure("the plan does not say which call it is");
  const auto function = find_function(file->functions(), wanted, called);
  if (!function) return Failure::failure(function.error());
  const auto calls = calls_of_callee(file->functions(), *function, wanted.callee);
  const auto found = [&](std::size_t number) {
    return FoundCall{calls[number]->behind, calls[number]->target};
  };

  std::vector<std::string> variables;
  if (!wanted.variable.empty())
    for (const NamedCall* call : calls)
      variables.push_back(file->variable_at(call->behind - 1));
  const bool variables_known =
      std::ranges::any_of(variables, [](const std::string& name) { return !name.empty(); });
  const bool same_count = wanted.calls == 0 || wanted.calls == calls.size();
  const bool in_place = same_count && wanted.ordinal < calls.size();

  if (variables_known) {
    if (in_place && variables[wanted.ordinal] == wanted.variable) return found(wanted.ordinal);
    if (std::ranges::count(variables, wanted.variable) == 1)
      return found(static_cast<std::size_t>(std::ranges::find(variables, wanted.variable) -
                                            variables.begin()));
  }
  if (!in_place)
    return Failure::failure(wanted.function + " makes " + (same_count ? "only " : "") +
                            std::to_string(calls.size()) +
                            (calls.size() == 1 ? " call " : " calls ") + title_of_callee(wanted) +
                            " now" + (same_count ? "" : ", not " + std::to_string(wanted.calls)));
  if (variables_known)
    return Failure::failure("call " + std::to_string(wanted.ordinal + 1) + " " +
                            title_of_callee(wanted) + " in " + wanted.function +
                            " is no longer assigned to " + wanted.variable);
  if (is_numbered(wanted.function))
    return Failure::failure(wanted.function +
                            " is a name that the compiler numbers, and debug information that "
                            "would confirm it is missing");
  return found(wanted.ordinal);
}

} // namespace omptier
