// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See functions.hpp. A call through a linkage stub or a slot of the global offset table is named by
// the dynamic relocation that fills the slot. The table of names is made at the first question by
// name: demangling a large program's symbols takes a tenth of a second.
#include "symbols/functions.hpp"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cxxabi.h>
#include <gelf.h>
#include <string_view>

namespace omptier {

namespace {

// flang: _QMsolverPsetup, _QMsolverEgrid, _QMsolverFsetupPinner; a capital gives each part's kind.
std::string from_flang(std::string_view name) {
  std::string text;
  for (const char letter : name.substr(2)) {
    if (std::isupper(static_cast<unsigned char>(letter)) == 0)
      text += letter;
    else if (!text.empty())
      text += "::";
  }
  return text;
}

// "module::name" for a Fortran module's procedure or variable, else "".
std::string demangle_fortran(std::string_view name) {
  if (name.starts_with("_QM")) return from_flang(name);
  const auto joined = [&](std::string_view mark, std::size_t front, std::size_t back) {
    const auto at = name.find(mark);
    if (at == std::string_view::npos || at <= front || at + mark.size() + back >= name.size())
      return std::string();
    const std::size_t begin = at + mark.size();
    return std::string(name.substr(front, at - front)) +
           "::" + std::string(name.substr(begin, name.size() - begin - back));
  };
  if (name.starts_with("__")) return joined("_MOD_", 2, 0); // gfortran
  if (name.ends_with("_")) return joined("_mp_", 0, 1);     // ifx
  return "";
}

} // namespace

std::string demangle(const std::string& name) {
  int status = -1; // "f" alone would be a type: float
  char* plain = name.starts_with("_Z")
                    ? abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status)
                    : nullptr;
  std::string text = status == 0 && plain != nullptr ? plain : demangle_fortran(name);
  std::free(plain);
  return text.empty() ? name : text;
}

std::string without_suffixes(std::string name) {
  name = name.substr(0, name.find('@'));
  static const std::string k_suffixes[] = {"cold", "part",     "constprop",  "isra",
                                           "llvm", "lto_priv", "localalias", "clone"};
  while (true) {
    // The last component, without a number after it.
    std::size_t end = name.size();
    while (end > 0 && std::isdigit(static_cast<unsigned char>(name[end - 1])) != 0)
      --end;
    if (end == name.size() || end == 0 || name[end - 1] != '.')
      end = name.size();
    else
      --end;
    const auto dot = end == 0 ? std::string::npos : name.rfind('.', end - 1);
    if (dot == std::string::npos || dot == 0) return name;
    if (std::ranges::find(k_suffixes, name.substr(dot + 1, end - dot - 1)) == std::end(k_suffixes))
      return name;
    name.resize(dot);
  }
}

Functions::Functions(Dwfl_Module* module, Elf* elf, std::uint64_t bias)
    : module_(module), elf_(elf), bias_(bias) {}

// The nearest symbol before the address, if it is the only one that begins there, and a function
// that contains the address. Else libdw chooses.
std::optional<NamedFunction> Functions::at(std::uint64_t address) {
  if (!starts_read_) read_starts();
  if (const auto behind = std::ranges::upper_bound(starts_, address, {}, &Start::begin);
      behind != starts_.begin()) {
    const Start& start = *std::prev(behind);
    if (address - start.begin < start.bytes)
      return NamedFunction{demangle(without_suffixes(start.name)), demangle(start.name),
                           start.begin, start.bytes};
  }
  const auto [asked, fresh] = asked_.try_emplace(address);
  if (!fresh) return asked->second;
  GElf_Sym symbol;
  GElf_Off offset = 0;
  const char* name =
      dwfl_module_addrinfo(module_, address + bias_, &offset, &symbol, nullptr, nullptr, nullptr);
  if (name != nullptr)
    asked->second = NamedFunction{demangle(without_suffixes(name)), demangle(name),
                                  address - offset,
                                  symbol.st_size > offset ? symbol.st_size : offset + 1};
  return asked->second;
}

std::vector<NamedFunction> Functions::named(const std::string& name) {
  if (!names_read_) read_names();
  std::vector<NamedFunction> found;
  const auto [begin, end] = by_name_.equal_range(name);
  for (auto at = begin; at != end; ++at) // several symbols may name one function
    if (std::ranges::find(found, at->second.begin, &NamedFunction::begin) == found.end())
      found.push_back(at->second);
  std::ranges::sort(found, {}, &NamedFunction::begin);
  return found;
}

void Functions::read_starts() {
  starts_read_ = true;
  for_each_symbol(module_, [&](const char* name, const GElf_Sym& symbol, GElf_Addr address) {
    const auto type = GELF_ST_TYPE(symbol.st_info);
    if (symbol.st_shndx == SHN_UNDEF || type == STT_SECTION || type == STT_FILE ||
        type == STT_TLS || *name == 0)
      return;
    starts_.push_back({address - bias_, type == STT_FUNC ? symbol.st_size : 0, name});
  });
  std::ranges::stable_sort(starts_, {}, &Start::begin);
  std::size_t kept = 0;
  for (std::size_t i = 0; i < starts_.size(); ++i)
    if (kept > 0 && starts_[kept - 1].begin == starts_[i].begin)
      starts_[kept - 1].bytes = 0;
    else
      starts_[kept++] = starts_[i];
  starts_.resize(kept);
}

void Functions::read_names() {
  names_read_ = true;
  for_each_symbol(module_, [&](const char* name, const GElf_Sym& symbol, GElf_Addr address) {
    if (GELF_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_size == 0 ||
        symbol.st_shndx == SHN_UNDEF)
      return;
    const NamedFunction function{demangle(without_suffixes(name)), demangle(name), address - bias_,
                                 symbol.st_size};
    by_name_.emplace(function.name, function);
    if (function.part != function.name) by_name_.emplace(function.part, function);
  });
}

std::vector<std::uint8_t> Functions::code(std::uint64_t begin, std::uint64_t bytes) const {
  std::size_t count = 0;
  if (elf_getphdrnum(elf_, &count) != 0) return {};
  for (std::size_t i = 0; i < count; ++i) {
    GElf_Phdr segment;
    if (gelf_getphdr(elf_, static_cast<int>(i), &segment) == nullptr) return {};
    const std::uint64_t end = segment.p_vaddr + segment.p_filesz;
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0 || begin < segment.p_vaddr ||
        begin >= end)
      continue;
    const Elf_Data* data = elf_getdata_rawchunk(
        elf_, static_cast<std::int64_t>(segment.p_offset + begin - segment.p_vaddr),
        std::min(bytes, end - begin), ELF_T_BYTE);
    if (data == nullptr) return {};
    const auto* first = static_cast<const std::uint8_t*>(data->d_buf);
    return {first, first + data->d_size};
  }
  return {};
}

const std::vector<NamedCall>& Functions::calls_of(const NamedFunction& function) {
  const auto [at, fresh] = calls_.try_emplace(function.begin);
  if (!fresh) return at->second;
  for (const Call& call : calls_in(code(function.begin, function.bytes), function.begin)) {
    NamedCall named;
    named.behind = call.behind;
    named.callee = callee_of(call, named.target);
    if (named.callee.starts_with("GOMP_parallel")) named.runs = call.first;
    if (named.callee.starts_with("__kmpc_fork_")) named.runs = call.third;
    if (named.runs != 0 && name_at(named.runs).empty()) named.runs = 0;
    at->second.push_back(std::move(named));
  }
  return at->second;
}

std::string Functions::callee_of(const Call& call, std::uint64_t& target) {
  if (call.goes == Call::Goes::elsewhere) return "";
  std::uint64_t slot = call.target;
  if (call.goes == Call::Goes::to_address) {
    if (std::string name = name_at(call.target); !name.empty()) {
      target = call.target;
      return name;
    }
    constexpr std::uint64_t k_stub_bytes = 16;
    const auto through = slot_of_stub(code(call.target, k_stub_bytes), call.target);
    if (!through) return "";
    slot = *through;
  }
  if (!slots_read_) read_slots();
  if (const auto symbol = slots_.find(slot); symbol != slots_.end()) return symbol->second;
  const auto own = own_slots_.find(slot);
  if (own == own_slots_.end()) return "";
  target = own->second;
  return name_at(target);
}

// "" if no function begins there.
std::string Functions::name_at(std::uint64_t address) {
  if (!starts_read_) read_starts();
  if (!std::ranges::binary_search(starts_, address, {}, &Start::begin)) return "";
  const std::optional<NamedFunction> function = at(address);
  return function && function->begin == address ? function->name : "";
}

void Functions::read_slots() {
  slots_read_ = true;
  for (Elf_Scn* section = nullptr; (section = elf_nextscn(elf_, section)) != nullptr;) {
    GElf_Shdr header;
    if (gelf_getshdr(section, &header) == nullptr || header.sh_type != SHT_RELA ||
        (header.sh_flags & SHF_ALLOC) == 0 || header.sh_entsize == 0)
      continue;
    Elf_Data* relocations = elf_getdata(section, nullptr);
    GElf_Shdr names;
    Elf_Scn* symbols = elf_getscn(elf_, header.sh_link); // section 0 in a static program
    Elf_Data* table = symbols != nullptr && gelf_getshdr(symbols, &names) != nullptr &&
                              names.sh_type == SHT_DYNSYM
                          ? elf_getdata(symbols, nullptr)
                          : nullptr;
    if (relocations == nullptr) continue;
    for (std::size_t i = 0; i < header.sh_size / header.sh_entsize; ++i) {
      GElf_Rela relocation;
      if (gelf_getrela(relocations, static_cast<int>(i), &relocation) == nullptr) break;
      GElf_Sym symbol;
      const auto number = GELF_R_SYM(relocation.r_info);
      if (number == 0) {
        own_slots_[relocation.r_offset] = static_cast<std::uint64_t>(relocation.r_addend);
      } else if (table != nullptr &&
                 gelf_getsym(table, static_cast<int>(number), &symbol) != nullptr) {
        if (const char* name = elf_strptr(elf_, names.sh_link, symbol.st_name))
          slots_[relocation.r_offset] = demangle(without_suffixes(name));
      }
    }
  }
}

} // namespace omptier
