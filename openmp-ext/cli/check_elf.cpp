// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads headers and tables only; nothing is loaded or run. libelf checks every range against the
// file's size, so a truncated or hostile file yields fewer facts, not a crash.
#include "cli/check_elf.hpp"

#include "base/file.hpp"
#include "base/hex.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <elfutils/libdwelf.h>
#include <fcntl.h>
#include <gelf.h>
#include <memory>
#include <unistd.h>

namespace omptier {
namespace {

struct EndElf {
  void operator()(Elf* elf) const { ::elf_end(elf); }
};

std::string text_at(Elf* elf, std::size_t strings, std::size_t offset) {
  const char* text = ::elf_strptr(elf, strings, offset);
  return text != nullptr ? text : "";
}

bool of_this_machine(const GElf_Ehdr& header) {
#if defined(__x86_64__)
  return header.e_machine == EM_X86_64 && header.e_ident[EI_CLASS] == ELFCLASS64;
#elif defined(__aarch64__)
  return header.e_machine == EM_AARCH64 && header.e_ident[EI_CLASS] == ELFCLASS64;
#else
  return header.e_ident[EI_CLASS] == (sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32);
#endif
}

void read_dynamic(Elf* elf, const GElf_Shdr& section, Elf_Data* data, ElfFacts& facts) {
  const std::size_t count = section.sh_entsize != 0 ? section.sh_size / section.sh_entsize : 0;
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Dyn entry;
    if (::gelf_getdyn(data, static_cast<int>(i), &entry) == nullptr) break;
    if (entry.d_tag == DT_NEEDED)
      facts.needed.push_back(text_at(elf, section.sh_link, entry.d_un.d_val));
    if (entry.d_tag == DT_RPATH) facts.rpath = text_at(elf, section.sh_link, entry.d_un.d_val);
    if (entry.d_tag == DT_RUNPATH)
      facts.runpath = text_at(elf, section.sh_link, entry.d_un.d_val);
    if (entry.d_tag == DT_FLAGS_1 && (entry.d_un.d_val & DF_1_PIE) != 0) facts.executable = true;
  }
  if (!facts.runpath.empty()) facts.rpath.clear();
}

void read_needed_versions(Elf* elf, const GElf_Shdr& section, Elf_Data* data, ElfFacts& facts) {
  std::size_t at = 0;
  for (unsigned file = 0; file < section.sh_info; ++file) {
    GElf_Verneed need;
    if (::gelf_getverneed(data, static_cast<int>(at), &need) == nullptr) return;
    std::size_t aux = at + need.vn_aux;
    for (unsigned i = 0; i < need.vn_cnt; ++i) {
      GElf_Vernaux version;
      if (::gelf_getvernaux(data, static_cast<int>(aux), &version) == nullptr) break;
      if ((version.vna_flags & VER_FLG_WEAK) == 0)
        facts.needed_versions.push_back({text_at(elf, section.sh_link, need.vn_file),
                                         text_at(elf, section.sh_link, version.vna_name)});
      if (version.vna_next == 0) break;
      aux += version.vna_next;
    }
    if (need.vn_next == 0) return;
    at += need.vn_next;
  }
}

void read_defined_versions(Elf* elf, const GElf_Shdr& section, Elf_Data* data, ElfFacts& facts) {
  std::size_t at = 0;
  for (unsigned i = 0; i < section.sh_info; ++i) {
    GElf_Verdef definition;
    if (::gelf_getverdef(data, static_cast<int>(at), &definition) == nullptr) return;
    GElf_Verdaux name; // the first is the version itself, the others its parents
    if (::gelf_getverdaux(data, static_cast<int>(at + definition.vd_aux), &name) != nullptr)
      facts.defined_versions.insert(text_at(elf, section.sh_link, name.vda_name));
    if (definition.vd_next == 0) return;
    at += definition.vd_next;
  }
}

void read_symbols(Elf* elf, const GElf_Shdr& section, Elf_Data* data, ElfFacts& facts) {
  const std::size_t count = section.sh_entsize != 0 ? section.sh_size / section.sh_entsize : 0;
  for (std::size_t i = 1; i < count; ++i) {
    GElf_Sym symbol;
    if (::gelf_getsym(data, static_cast<int>(i), &symbol) == nullptr) break;
    if (GELF_ST_TYPE(symbol.st_info) == STT_SECTION || GELF_ST_TYPE(symbol.st_info) == STT_FILE)
      continue;
    const std::string name = text_at(elf, section.sh_link, symbol.st_name);
    const bool defined = symbol.st_shndx != SHN_UNDEF;
    if (section.sh_type == SHT_SYMTAB) {
      if (defined) facts.own_symbols.insert(name);
    } else if (defined) {
      facts.defined_symbols.insert(name);
    } else if (GELF_ST_BIND(symbol.st_info) != STB_WEAK) {
      facts.undefined_symbols.insert(name);
    }
  }
}

void read_section(Elf* elf, Elf_Scn* section, std::size_t names, ElfFacts& facts) {
  GElf_Shdr header;
  if (::gelf_getshdr(section, &header) == nullptr) return;
  const std::string name = text_at(elf, names, header.sh_name);
  if (name == ".debug_line" || name == ".zdebug_line") facts.debug_lines = true;
  Elf_Data* data = ::elf_getdata(section, nullptr);
  if (data == nullptr || data->d_buf == nullptr) return;
  switch (header.sh_type) {
  case SHT_DYNAMIC:
    return read_dynamic(elf, header, data, facts);
  case SHT_GNU_verneed:
    return read_needed_versions(elf, header, data, facts);
  case SHT_GNU_verdef:
    return read_defined_versions(elf, header, data, facts);
  case SHT_SYMTAB:
  case SHT_DYNSYM:
    return read_symbols(elf, header, data, facts);
  default:
    return;
  }
}

} // namespace

bool is_allocator_symbol(const std::string& name) {
  if (name.starts_with("ompx_")) return true;
  const bool openmp =
      name.starts_with("omp_") || name.starts_with("__kmpc_") || name.starts_with("GOMP_");
  return openmp && name.find("alloc") != std::string::npos;
}

Parsed<ElfFacts> read_elf(const std::string& path) {
  const auto refuse = [&](const std::string& why) {
    return Parsed<ElfFacts>::failure(path + ": " + why);
  };
  ::elf_version(EV_CURRENT);
  const File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file) return refuse(std::strerror(errno));
  const std::unique_ptr<Elf, EndElf> elf(::elf_begin(file.get(), ELF_C_READ, nullptr));
  GElf_Ehdr header;
  if (!elf || ::elf_kind(elf.get()) != ELF_K_ELF || ::gelf_getehdr(elf.get(), &header) == nullptr) {
    char begin[2] = {};
    const bool script = ::pread(file.get(), begin, 2, 0) == 2 && std::memcmp(begin, "#!", 2) == 0;
    return refuse(script ? "a script, not a program; check the program that it starts"
                         : "not an ELF file");
  }
  ElfFacts facts;
  facts.same_machine = of_this_machine(header);
  facts.executable = header.e_type == ET_EXEC;
  std::size_t count = 0;
  ::elf_getphdrnum(elf.get(), &count);
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (::gelf_getphdr(elf.get(), static_cast<int>(i), &segment) == nullptr) break;
    if (segment.p_type == PT_DYNAMIC) facts.dynamic = true;
    if (segment.p_type == PT_INTERP) facts.interpreter = true;
  }
  facts.executable = facts.executable || facts.interpreter;
  std::size_t names = 0;
  ::elf_getshdrstrndx(elf.get(), &names);
  for (Elf_Scn* section = nullptr; (section = ::elf_nextscn(elf.get(), section)) != nullptr;)
    read_section(elf.get(), section, names, facts);
  const void* id = nullptr;
  if (const ssize_t bytes = ::dwelf_elf_gnu_build_id(elf.get(), &id); bytes > 0)
    facts.build_id = hex_of(id, static_cast<std::size_t>(bytes));
  return facts;
}

} // namespace omptier
