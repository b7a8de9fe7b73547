// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See step_aside.hpp. Every module's relocations tell where its references to symbols are; one that
// holds an address of ours is overwritten, whatever its name. Where the loader has made them
// read-only after relocation (RELRO), they are made writable meanwhile. Our own symbols lie in the
// dynamic symbol table, which is read-only too: an entry without section and value is none.
#include "preload/step_aside.hpp"

#include <cstring>
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>

namespace omptier::preload {
namespace {

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

struct Span {
  std::uintptr_t begin = 0, end = 0;
  bool holds(std::uintptr_t address) const { return address >= begin && address < end; }
};

// Whole pages, writable while this exists.
class Writable {
public:
  bool open(Span span, int protection) {
    const std::uintptr_t page = ::getauxval(AT_PAGESZ);
    begin_ = span.begin & ~(page - 1);
    bytes_ = ((span.end + page - 1) & ~(page - 1)) - begin_;
    protection_ = protection;
    open_ = ::mprotect(reinterpret_cast<void*>(begin_), bytes_, PROT_READ | PROT_WRITE) == 0;
    return open_;
  }
  bool is_open() const { return open_; }
  ~Writable() {
    if (open_) ::mprotect(reinterpret_cast<void*>(begin_), bytes_, protection_);
  }
  Writable() = default;
  Writable(const Writable&) = delete;
  Writable& operator=(const Writable&) = delete;

private:
  std::uintptr_t begin_ = 0;
  std::size_t bytes_ = 0;
  int protection_ = PROT_READ;
  bool open_ = false;
};

// What the loader knows of one module.
struct Module {
  explicit Module(const dl_phdr_info& info) : bias(info.dlpi_addr) {
    const ElfW(Dyn)* dynamic = nullptr;
    for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = info.dlpi_phdr[i];
      const std::uintptr_t begin = bias + segment.p_vaddr;
      if (segment.p_type == PT_DYNAMIC)
        dynamic = reinterpret_cast<const ElfW(Dyn)*>(begin);
      else if (segment.p_type == PT_GNU_RELRO)
        relro = {begin, begin + segment.p_memsz};
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
  Span relro;

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

struct Pass {
  Interposed* functions;
  std::size_t count;
  Span ours = {~std::uintptr_t{0}, 0}; // holds all that were found
  std::size_t changed = 0;

  Interposed* named(const char* name) const {
    for (std::size_t i = 0; i < count; ++i)
      if (std::strcmp(functions[i].name, name) == 0) return &functions[i];
    return nullptr;
  }
  const Interposed* at(std::uintptr_t address) const {
    if (!ours.holds(address)) return nullptr;
    for (std::size_t i = 0; i < count; ++i)
      if (functions[i].ours == address) return &functions[i];
    return nullptr;
  }
};

// Protection of the segment that holds an address, or -1.
int protection_at(const dl_phdr_info& info, std::uintptr_t address) {
  for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    const std::uintptr_t begin = info.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD && Span{begin, begin + segment.p_memsz}.holds(address))
      return ((segment.p_flags & PF_R) != 0 ? PROT_READ : 0) |
             ((segment.p_flags & PF_W) != 0 ? PROT_WRITE : 0) |
             ((segment.p_flags & PF_X) != 0 ? PROT_EXEC : 0);
  }
  return -1;
}

// Of this library: where its functions are; from now on nobody finds them.
void hide_symbols(Pass& pass, const Module& module, const dl_phdr_info& info) {
  const auto begin = reinterpret_cast<std::uintptr_t>(module.symbols);
  const int protection = protection_at(info, begin);
  if (begin == 0 || module.strings <= begin || protection != PROT_READ) return;
  Writable pages;
  if (!pages.open({begin, module.strings}, protection)) return;
  const std::size_t count = (module.strings - begin) / sizeof(ElfW(Sym));
  for (std::size_t i = 1; i < count; ++i) {
    ElfW(Sym)& symbol = module.symbols[i];
    if (symbol.st_shndx == SHN_UNDEF) continue;
    Interposed* function =
        pass.named(reinterpret_cast<const char*>(module.strings + symbol.st_name));
    if (function == nullptr) continue;
    function->ours = module.bias + symbol.st_value;
    if (function->ours < pass.ours.begin) pass.ours.begin = function->ours;
    if (function->ours >= pass.ours.end) pass.ours.end = function->ours + 1;
    symbol.st_shndx = SHN_UNDEF;
    symbol.st_value = 0;
  }
}

int visit_ourselves(dl_phdr_info* info, std::size_t, void* argument) {
  if (protection_at(*info, reinterpret_cast<std::uintptr_t>(&visit_ourselves)) < 0) return 0;
  hide_symbols(*static_cast<Pass*>(argument), Module(*info), *info);
  return 1;
}

void bind_again(Pass& pass, const Module& module, const ElfW(Rela) * first, std::size_t count,
                Writable& relro) {
  for (std::size_t i = 0; i < count; ++i) {
    if (!holds_address(ELF64_R_TYPE(first[i].r_info)) || first[i].r_addend != 0) continue;
    auto* word = reinterpret_cast<std::uintptr_t*>(module.bias + first[i].r_offset);
    const Interposed* function = pass.at(*word);
    if (function == nullptr) continue;
    if (module.relro.holds(reinterpret_cast<std::uintptr_t>(word)) && !relro.is_open() &&
        !relro.open(module.relro, PROT_READ))
      continue;
    __atomic_store_n(word, function->next, __ATOMIC_RELAXED);
    ++pass.changed;
  }
}

int visit_module(dl_phdr_info* info, std::size_t, void* argument) {
  auto& pass = *static_cast<Pass*>(argument);
  const Module module(*info);
  Writable relro;
  if (module.relocations != nullptr && module.relative_count <= module.relocation_count)
    bind_again(pass, module, module.relocations + module.relative_count,
               module.relocation_count - module.relative_count, relro);
  if (module.calls != nullptr) bind_again(pass, module, module.calls, module.call_count, relro);
  return 0;
}

} // namespace

std::size_t step_aside(Interposed* functions, std::size_t count) {
  Pass pass{functions, count};
  ::dl_iterate_phdr(visit_ourselves, &pass);
  ::dl_iterate_phdr(visit_module, &pass);
  return pass.changed;
}

} // namespace omptier::preload
