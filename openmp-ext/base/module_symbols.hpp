// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The relocations of one loaded module: which of its words hold the addresses of which symbols.
// Writing such a word rebinds the module's references. Words that the loader made read-only (RELRO,
// down to whole pages) are made writable for the write. Needs only the C library.
#pragma once

#include <cstddef>
#include <cstdint>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>

namespace omptier {

// Relocations that leave a symbol's address in a word: calls, GOT entries, initialised pointers.
#if defined(__x86_64__)
constexpr bool holds_address(std::uint64_t type) {
  return type == R_X86_64_JUMP_SLOT || type == R_X86_64_GLOB_DAT || type == R_X86_64_64;
}
#elif defined(__aarch64__)
constexpr bool holds_address(std::uint64_t type) {
  return type == R_AARCH64_JUMP_SLOT || type == R_AARCH64_GLOB_DAT || type == R_AARCH64_ABS64;
}
#else
constexpr bool holds_address(std::uint64_t) {
  return false;
}
#endif

struct ModulePart {
  std::uintptr_t begin = 0, end = 0;
  bool holds(std::uintptr_t address) const { return address >= begin && address < end; }
};

inline std::uintptr_t page_begin(std::uintptr_t address) {
  return address & ~(::getauxval(AT_PAGESZ) - 1);
}

// Makes whole pages writable for its lifetime.
class WritablePages {
public:
  bool open(ModulePart part, int protection) {
    begin_ = page_begin(part.begin);
    bytes_ = page_begin(part.end - 1) + ::getauxval(AT_PAGESZ) - begin_;
    protection_ = protection;
    open_ = ::mprotect(reinterpret_cast<void*>(begin_), bytes_, PROT_READ | PROT_WRITE) == 0;
    return open_;
  }
  bool is_open() const { return open_; }
  ~WritablePages() {
    if (open_) ::mprotect(reinterpret_cast<void*>(begin_), bytes_, protection_);
  }
  WritablePages() = default;
  WritablePages(const WritablePages&) = delete;
  WritablePages& operator=(const WritablePages&) = delete;

private:
  std::uintptr_t begin_ = 0;
  std::size_t bytes_ = 0;
  int protection_ = PROT_READ;
  bool open_ = false;
};

// Protection of the segment that holds the address; -1 if none does.
inline int protection_at(const dl_phdr_info& info, std::uintptr_t address) {
  for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    const std::uintptr_t begin = info.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && ModulePart{begin, begin + segment.p_memsz}.holds(address))
      return ((segment.p_flags & PF_R) != 0 ? PROT_READ : 0) |
             ((segment.p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
             ((segment.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
  }
  return -1;
}

struct ModuleSymbols {
  explicit ModuleSymbols(const dl_phdr_info& info) : bias(info.dlpi_addr) {
    const ElfW(Dyn)* dynamic = nullptr;
    for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = info.dlpi_phdr[i];
      const std::uintptr_t begin = bias + segment.p_vaddr;
      if (segment.p_type == PT_DYNAMIC)
        dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
      else if (segment.p_type == PT_GNU_RELRO)
        relro = {page_begin(begin), page_begin(begin + segment.p_memsz)};
    }
    for (const ElfW(Dyn)* entry = dynamic; entry != nullptr && entry->d_tag != DT_NULL; ++entry)
      read(*entry);
  }

  std::uintptr_t bias;
  const ElfW(Rela) * relocations = nullptr;
  std::size_t relocation_count = 0, relative_count = 0; // relative ones come first
  const ElfW(Rela) * calls = nullptr;
  std::size_t call_count = 0;
  ElfW(Sym) * symbols = nullptr;
  std::uintptr_t strings = 0; // follow the symbols, as all linkers lay them out
  ModulePart relro; // what the loader makes read-only, without the page that it ends in

  // Calls visit(word, symbol's index, writable) for every word that holds a symbol's address;
  // writable() makes its page writable and returns whether it is.
  template <typename F> void for_each_reference(F&& visit) const {
    WritablePages pages;
    const auto list = [&](const ElfW(Rela) * first, std::size_t count) {
      for (std::size_t i = 0; i < count; ++i) {
        if (!holds_address(ELF64_R_TYPE(first[i].r_info)) || first[i].r_addend != 0) continue;
        auto* word = reinterpret_cast<std::uintptr_t*>(bias + first[i].r_offset);
        visit(word, ELF64_R_SYM(first[i].r_info), [&] {
          return !relro.holds(reinterpret_cast<std::uintptr_t>(word)) || pages.is_open() ||
                 pages.open(relro, PROT_READ);
        });
      }
    };
    if (relocations != nullptr && relative_count <= relocation_count)
      list(relocations + relative_count, relocation_count - relative_count);
    if (calls != nullptr) list(calls, call_count);
  }

private:
  // glibc has added the bias to most of them already.
  std::uintptr_t address(const ElfW(Dyn) & entry) const {
    return entry.d_un.d_ptr < bias ? entry.d_un.d_ptr + bias : entry.d_un.d_ptr;
  }
  void read(const ElfW(Dyn) & entry) {
    switch (entry.d_tag) {
    case DT_RELA:
      relocations = reinterpret_cast<const ElfW(Rela)*>(address(entry));
      break;
    case DT_RELASZ:
      relocation_count = entry.d_un.d_val / sizeof(ElfW(Rela));
      break;
    case DT_RELACOUNT:
      relative_count = entry.d_un.d_val;
      break;
    case DT_JMPREL:
      calls = reinterpret_cast<const ElfW(Rela)*>(address(entry));
      break;
    case DT_PLTRELSZ:
      call_count = entry.d_un.d_val / sizeof(ElfW(Rela));
      break;
    case DT_SYMTAB:
      symbols = reinterpret_cast<ElfW(Sym)*>(address(entry));
      break;
    case DT_STRTAB:
      strings = address(entry);
      break;
    default:
      break;
    }
  }
};

} // namespace omptier
