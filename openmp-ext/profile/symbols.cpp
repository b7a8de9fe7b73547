// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See symbols.hpp. Each module is reported to its own libdwfl session, so addresses of different
// modules never meet; "vaddr" below is the address in the file, which is what a frame's offset is.
#include "profile/symbols.hpp"

#include "objects/modules.hpp"
#include "profile/elf_calls.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
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

std::string hex_of(const unsigned char* bytes, std::size_t count) {
  static constexpr char k_digits[] = "0123456789abcdef";
  std::string text;
  for (std::size_t i = 0; i < count && i < 32; ++i) {
    text += k_digits[bytes[i] >> 4];
    text += k_digits[bytes[i] & 15];
  }
  return text;
}

std::string demangle(const char* name) {
  int status = 0;
  char* plain = abi::__cxa_demangle(name, nullptr, nullptr, &status);
  std::string text = status == 0 && plain != nullptr ? plain : name;
  std::free(plain);
  return text;
}

std::string without_folders(const std::string& path) {
  const auto slash = path.rfind('/');
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

std::string segments_identity(Elf* elf) {
  std::size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return "";
  std::uint64_t hash = 0;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf, static_cast<int>(i), &segment) == nullptr) return "";
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    Elf_Data* data = elf_getdata_rawchunk(elf, static_cast<std::int64_t>(segment.p_offset),
                                          segment.p_filesz, ELF_T_BYTE);
    if (data == nullptr) return "";
    hash = hash_bytes(hash, data->d_buf, data->d_size);
  }
  unsigned char bytes[8];
  for (unsigned i = 0; i < 8; ++i)
    bytes[i] = static_cast<unsigned char>(hash >> (56 - 8 * i));
  return "segments:" + hex_of(bytes, sizeof bytes);
}

struct Function {
  std::string name; // demangled
  std::uint64_t begin = 0, bytes = 0;
};

// One module's file, opened.
class ModuleFile {
public:
  explicit ModuleFile(const std::string& path) {
    static constexpr Dwfl_Callbacks k_callbacks = {dwfl_build_id_find_elf,
                                                   dwfl_standard_find_debuginfo,
                                                   dwfl_offline_section_address, nullptr};
    session_ = dwfl_begin(&k_callbacks);
    if (session_ == nullptr) return;
    dwfl_report_begin(session_);
    module_ = dwfl_report_offline(session_, path.c_str(), path.c_str(), -1);
    dwfl_report_end(session_, nullptr, nullptr);
    if (module_ != nullptr) elf_ = dwfl_module_getelf(module_, &bias_);
  }
  ~ModuleFile() {
    if (session_ != nullptr) dwfl_end(session_);
  }
  ModuleFile(const ModuleFile&) = delete;
  ModuleFile& operator=(const ModuleFile&) = delete;

  bool usable() const { return elf_ != nullptr; }

  std::optional<Function> function_at(std::uint64_t vaddr) {
    GElf_Sym symbol;
    GElf_Off offset = 0;
    const char* name =
        dwfl_module_addrinfo(module_, vaddr + bias_, &offset, &symbol, nullptr, nullptr, nullptr);
    if (name == nullptr) return std::nullopt;
    return Function{demangle(name), vaddr - offset,
                    symbol.st_size > offset ? symbol.st_size : offset + 1};
  }

  // All functions of that (demangled) name.
  std::vector<Function> functions_named(const std::string& name) {
    std::vector<Function> found;
    const int count = dwfl_module_getsymtab(module_);
    for (int i = 0; i < count; ++i) {
      GElf_Sym symbol;
      GElf_Addr address = 0;
      const char* raw =
          dwfl_module_getsym_info(module_, i, &symbol, &address, nullptr, nullptr, nullptr);
      if (raw == nullptr || GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_size == 0)
        continue;
      // Demangling is dear: the plain name occurs in the mangled one.
      if (std::strncmp(raw, "_Z", 2) != 0 ? name != raw : name != demangle(raw)) continue;
      const Function function{name, address - bias_, symbol.st_size};
      if (std::none_of(found.begin(), found.end(),
                       [&](const Function& f) { return f.begin == function.begin; }))
        found.push_back(function);
    }
    return found;
  }

  std::vector<std::uint64_t> calls_of(const Function& function) {
    std::size_t count = 0;
    if (elf_getphdrnum(elf_, &count) != 0) return {};
    for (std::size_t i = 0; i < count; ++i) {
      GElf_Phdr segment;
      if (gelf_getphdr(elf_, static_cast<int>(i), &segment) == nullptr) return {};
      if (segment.p_type != PT_LOAD || function.begin < segment.p_vaddr ||
          function.begin + function.bytes > segment.p_vaddr + segment.p_filesz)
        continue;
      Elf_Data* data = elf_getdata_rawchunk(
          elf_, static_cast<std::int64_t>(segment.p_offset + function.begin - segment.p_vaddr),
          function.bytes, ELF_T_BYTE);
      if (data == nullptr) return {};
      return calls_in({static_cast<const std::uint8_t*>(data->d_buf), data->d_size},
                      function.begin);
    }
    return {};
  }

  // Innermost inlined function first. vaddr: of the call itself.
  std::vector<SourcePlace> places_at(std::uint64_t vaddr, const std::string& linked) {
    std::vector<SourcePlace> places(1);
    Dwarf_Addr debug_bias = 0;
    Dwarf_Die* unit = unit_at(vaddr + bias_, debug_bias);
    const Dwarf_Addr address = vaddr + bias_ - debug_bias;
    Dwarf_Die* scopes = nullptr;
    if (unit != nullptr) fill_line(unit, address, places[0]);
    const int count = unit != nullptr ? dwarf_getscopes(unit, address, &scopes) : 0;
    if (count > 0) {
      Dwarf_Die* chain = nullptr; // the lexical scopes of the inlined code's concrete place
      const int depth = dwarf_getscopes_die(&scopes[0], &chain);
      for (int i = 0; i < depth; ++i)
        add_scope(unit, &chain[i], places);
      std::free(chain);
    }
    std::free(scopes);
    if (places.back().function.empty()) places.back().function = linked;
    return places;
  }

private:
  // The compilation unit that holds the address. Some compilers (clang) write no table of address
  // ranges, so where libdw finds nothing every unit is asked.
  Dwarf_Die* unit_at(Dwarf_Addr address, Dwarf_Addr& debug_bias) {
    if (Dwarf_Die* unit = dwfl_module_addrdie(module_, address, &debug_bias)) return unit;
    for (Dwarf_Die* unit = nullptr;
         (unit = dwfl_module_nextcu(module_, unit, &debug_bias)) != nullptr;)
      if (dwarf_haspc(unit, address - debug_bias) == 1) return unit;
    return nullptr;
  }

  static void fill_line(Dwarf_Die* unit, Dwarf_Addr address, SourcePlace& place) {
    Dwarf_Line* line = dwarf_getsrc_die(unit, address);
    int number = 0;
    if (line == nullptr || dwarf_lineno(line, &number) != 0) return;
    const char* file = dwarf_linesrc(line, nullptr, nullptr);
    if (file == nullptr) return;
    place.file = with_folder(file, unit);
    place.line = static_cast<std::uint32_t>(std::max(number, 0));
    if (dwarf_linecol(line, &number) == 0)
      place.column = static_cast<std::uint32_t>(std::max(number, 0));
  }

  static std::string with_folder(const std::string& file, Dwarf_Die* unit) {
    Dwarf_Attribute attribute;
    const char* folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
    return file[0] == '/' || folder == nullptr ? file : folder + ("/" + file);
  }

  // An inlined function's scope names the function of the last place and opens the place of the
  // call.
  static void add_scope(Dwarf_Die* unit, Dwarf_Die* scope, std::vector<SourcePlace>& places) {
    const int tag = dwarf_tag(scope);
    if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_subprogram) return;
    Dwarf_Attribute attribute;
    const char* linkage =
        dwarf_formstring(dwarf_attr_integrate(scope, DW_AT_linkage_name, &attribute));
    const char* plain = dwarf_diename(scope);
    if (places.back().function.empty() && (linkage != nullptr || plain != nullptr))
      places.back().function = linkage != nullptr ? demangle(linkage) : plain;
    if (tag != DW_TAG_inlined_subroutine) return;
    SourcePlace outer;
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
    places.push_back(std::move(outer));
  }

  Dwfl* session_ = nullptr;
  Dwfl_Module* module_ = nullptr;
  Elf* elf_ = nullptr;
  GElf_Addr bias_ = 0;
};

} // namespace

std::string identity_of_file(const std::string& path) {
  elf_version(EV_CURRENT);
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return "";
  std::string identity;
  if (Elf* elf = elf_begin(fd, ELF_C_READ_MMAP, nullptr); elf != nullptr) {
    const void* bytes = nullptr;
    const ssize_t count = elf_kind(elf) == ELF_K_ELF ? dwelf_elf_gnu_build_id(elf, &bytes) : -1;
    if (count > 0)
      identity = "build-id:" +
                 hex_of(static_cast<const unsigned char*>(bytes), static_cast<std::size_t>(count));
    else if (elf_kind(elf) == ELF_K_ELF)
      identity = segments_identity(elf);
    elf_end(elf);
  }
  close(fd);
  return identity;
}

struct Symbols::State {
  std::map<std::string, std::unique_ptr<ModuleFile>> files; // by identity; null = unusable
  std::map<std::pair<std::string, std::uint64_t>, ResolvedFrame> resolved;
  std::vector<std::string> problems;

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
  // Debug information is looked for on this machine only: no report waits for a network.
  unsetenv("DEBUGINFOD_URLS");
}
Symbols::~Symbols() = default;

const std::vector<std::string>& Symbols::problems() const {
  return state_->problems;
}

ResolvedFrame Symbols::resolve(const ModuleInfo& module, std::uint64_t offset) {
  const auto key = std::make_pair(module.identity, offset);
  if (const auto at = state_->resolved.find(key); at != state_->resolved.end()) return at->second;
  ResolvedFrame frame;
  if (ModuleFile* file = state_->file_of(module); file != nullptr && offset > 0) {
    const std::optional<Function> function = file->function_at(offset - 1);
    if (function) {
      frame.known = true;
      frame.portable.function = function->name;
      const std::vector<std::uint64_t> calls = file->calls_of(*function);
      frame.portable.ordinal = static_cast<std::uint32_t>(
          std::lower_bound(calls.begin(), calls.end(), offset) - calls.begin());
    }
    frame.places = file->places_at(offset - 1, frame.portable.function);
    frame.portable.file = without_folders(frame.places.front().file);
    frame.portable.line = frame.places.front().line;
    if (!frame.known && !frame.places.back().function.empty()) {
      frame.known = true; // no symbol, but debug information
      frame.portable.function = frame.places.back().function;
    }
  }
  state_->resolved[key] = frame;
  return frame;
}

std::optional<std::uint64_t>
Symbols::find_call(const ModuleInfo& module, const std::string& function, std::uint32_t ordinal) {
  ModuleFile* file = state_->file_of(module);
  if (file == nullptr || function.empty()) return std::nullopt;
  const std::vector<Function> found = file->functions_named(function);
  if (found.size() != 1) return std::nullopt;
  const std::vector<std::uint64_t> calls = file->calls_of(found[0]);
  if (ordinal >= calls.size()) return std::nullopt;
  return calls[ordinal];
}

} // namespace omptier
