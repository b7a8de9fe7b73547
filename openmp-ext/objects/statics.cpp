// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads ELF symbol tables. Offsets and counts are checked: a damaged file finds nothing.
#include "objects/statics.hpp"

#include "base/os.hpp"

#include <cstdio>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/mman.h>
#include <sys/stat.h>

namespace omptier {
namespace {

using Header = ElfW(Ehdr);
using Section = ElfW(Shdr);
using Symbol = ElfW(Sym);

class MappedFile {
public:
  explicit MappedFile(const char* path) {
    const int fd = os().open(path, O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return;
    struct stat status{};
    if (::fstat(fd, &status) == 0 && status.st_size > 0) {
      bytes_ = static_cast<std::size_t>(status.st_size);
      void* pages = os().map(nullptr, bytes_, PROT_READ, MAP_PRIVATE, fd, 0);
      if (pages != MAP_FAILED) begin_ = static_cast<const unsigned char*>(pages);
    }
    os().close(fd);
  }
  ~MappedFile() {
    if (begin_ != nullptr) os().unmap(const_cast<unsigned char*>(begin_), bytes_);
  }
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  template <typename T> const T* at(std::uint64_t offset, std::uint64_t count) const {
    if (begin_ == nullptr || offset % alignof(T) != 0 || offset > bytes_ ||
        count > (bytes_ - offset) / sizeof(T))
      return nullptr;
    return reinterpret_cast<const T*>(begin_ + offset);
  }

private:
  const unsigned char* begin_ = nullptr;
  std::size_t bytes_ = 0;
};

struct Table {
  const Symbol* symbols = nullptr;
  std::size_t count = 0;
  const char* names = nullptr;
  std::size_t name_bytes = 0;
};

class SymbolFile {
public:
  explicit SymbolFile(const char* path) : file_(path) {
    const auto* header = file_.at<Header>(0, 1);
    if (header == nullptr || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
        header->e_ident[EI_CLASS] != (sizeof(void*) == 8 ? ELFCLASS64 : ELFCLASS32) ||
        header->e_shentsize != sizeof(Section))
      return;
    sections_ = file_.at<Section>(header->e_shoff, header->e_shnum);
    section_count_ = sections_ != nullptr ? header->e_shnum : 0;
  }

  // SHT_SYMTAB or SHT_DYNSYM; a table without symbols when the file has none.
  Table table(unsigned type) const {
    Table table;
    for (unsigned i = 0; i < section_count_; ++i) {
      const Section& section = sections_[i];
      if (section.sh_type != type || section.sh_link >= section_count_) continue;
      const Section& names = sections_[section.sh_link];
      const std::size_t count = section.sh_size / sizeof(Symbol);
      const auto* symbols = file_.at<Symbol>(section.sh_offset, count);
      const auto* text = file_.at<char>(names.sh_offset, names.sh_size);
      // The last name must end inside the section.
      if (symbols == nullptr || text == nullptr || names.sh_size == 0 ||
          text[names.sh_size - 1] != '\0')
        continue;
      return {symbols, count, text, names.sh_size};
    }
    return table;
  }

  bool is_in_file(const Symbol& symbol) const {
    return symbol.st_shndx < section_count_ && sections_[symbol.st_shndx].sh_type != SHT_NOBITS;
  }

  bool is_writable(const Symbol& symbol) const {
    return symbol.st_shndx < section_count_ &&
           (sections_[symbol.st_shndx].sh_flags & SHF_WRITE) != 0;
  }

private:
  MappedFile file_;
  const Section* sections_ = nullptr;
  unsigned section_count_ = 0;
};

bool is_static(const Symbol& symbol) {
  const unsigned type = symbol.st_info & 15; // the same in both ELF classes
  return (type == STT_OBJECT || type == STT_COMMON) && symbol.st_shndx != SHN_UNDEF &&
         symbol.st_size != 0;
}

StaticSearch search(const SymbolFile& file, const Table& table, const LoadedModule& module,
                    const char* name, StaticObject& found) {
  StaticSearch result = StaticSearch::unknown;
  for (std::size_t i = 0; i < table.count; ++i) {
    const Symbol& symbol = table.symbols[i];
    if (!is_static(symbol) || symbol.st_name >= table.name_bytes ||
        std::strcmp(table.names + symbol.st_name, name) != 0)
      continue;
    const std::uintptr_t begin = module.bias + symbol.st_value;
    if (begin < module.begin || begin + symbol.st_size > module.end) continue;
    if (result == StaticSearch::found && begin != found.begin) return StaticSearch::several;
    found = {begin, symbol.st_size, file.is_in_file(symbol)};
    result = StaticSearch::found;
  }
  return result;
}

StaticSearch search_file(const char* path, const LoadedModule& module, const char* name,
                         StaticObject& found) {
  const SymbolFile file(path);
  StaticSearch result = StaticSearch::no_symbols;
  for (const unsigned type : {SHT_SYMTAB, SHT_DYNSYM}) {
    const Table table = file.table(type);
    if (table.count == 0) continue;
    result = search(file, table, module, name, found);
    if (result != StaticSearch::unknown) return result;
    if (type == SHT_SYMTAB) return result; // a superset of SHT_DYNSYM
    result = StaticSearch::no_symbols;     // exported names only
  }
  return result;
}

} // namespace

bool list_statics(const char* path, std::uint64_t least_bytes,
                  void (*visit)(void* argument, const NamedStatic& named), void* argument) {
  const SymbolFile file(path);
  Table table = file.table(SHT_SYMTAB);
  if (table.count == 0) table = file.table(SHT_DYNSYM);
  for (std::size_t i = 0; i < table.count; ++i) {
    const Symbol& symbol = table.symbols[i];
    if (is_static(symbol) && symbol.st_size >= least_bytes && symbol.st_name < table.name_bytes &&
        file.is_writable(symbol))
      visit(argument, {table.names + symbol.st_name, symbol.st_size});
  }
  return table.count != 0;
}

StaticSearch find_static(const LoadedModule& module, const char* symbol, StaticObject& found) {
  const StaticSearch own = search_file(module.path, module, symbol, found);
  if (own != StaticSearch::no_symbols) return own;
  constexpr char prefix[] = "build-id:";
  const char* identity = identity_of(module);
  if (std::strncmp(identity, prefix, sizeof prefix - 1) != 0) return own;
  const char* id = identity + sizeof prefix - 1;
  char path[160];
  std::snprintf(path, sizeof path, "/usr/lib/debug/.build-id/%.2s/%s.debug", id, id + 2);
  return search_file(path, module, symbol, found);
}

} // namespace omptier
