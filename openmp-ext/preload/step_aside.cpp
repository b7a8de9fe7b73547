// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See step_aside.hpp. Each module's relocations list the words with addresses of symbols; one that
// holds an address of ours is overwritten, whatever its name. Our own symbols lie in the read-only
// dynamic symbol table: an entry with neither section nor value counts as undefined.
#include "preload/step_aside.hpp"

#include "base/module_symbols.hpp"

#include <cstring>

namespace omptier::preload {
namespace {

// Makes the module's symbols writable for its lifetime.
class WritableSymbols {
public:
  WritableSymbols(const ModuleSymbols& module, const dl_phdr_info& info) {
    const auto begin = reinterpret_cast<std::uintptr_t>(module.symbols);
    const int protection = protection_at(info, begin);
    if (begin == 0 || module.strings <= begin || protection != PROT_READ) return;
    if (!pages_.open({begin, module.strings}, protection)) return;
    begin_ = module.symbols + 1;
    end_ = module.symbols + (module.strings - begin) / sizeof(ElfW(Sym));
  }
  ElfW(Sym) * begin() const { return begin_; }
  ElfW(Sym) * end() const { return end_; }

private:
  WritablePages pages_;
  ElfW(Sym) *begin_ = nullptr, *end_ = nullptr;
};

struct Pass {
  Interposed* functions;
  std::size_t count;
  ModulePart ours = {~std::uintptr_t{0}, 0}; // range of all functions found
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

// Finds the addresses of our functions in this library, and hides their symbols.
void hide_symbols(Pass& pass, const ModuleSymbols& module, const dl_phdr_info& info) {
  for (ElfW(Sym) & symbol : WritableSymbols(module, info)) {
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
  hide_symbols(*static_cast<Pass*>(argument), ModuleSymbols(*info), *info);
  return 1;
}

int visit_module(dl_phdr_info* info, std::size_t, void* argument) {
  auto& pass = *static_cast<Pass*>(argument);
  const ModuleSymbols module(*info);
  module.for_each_reference([&](std::uintptr_t* word, std::uint64_t, auto&& writable) {
    const Interposed* function = pass.at(*word);
    if (function == nullptr || !writable()) return;
    __atomic_store_n(word, function->next, __ATOMIC_RELAXED);
    ++pass.changed;
  });
  return 0;
}

struct Names {
  const Interposed* functions;
  std::size_t count;
  std::size_t changed = 0;
};

int visit_owner(dl_phdr_info* info, std::size_t, void* argument) {
  auto& names = *static_cast<Names*>(argument);
  if (protection_at(*info, names.functions[0].next) < 0) return 0;
  const ModuleSymbols module(*info);
  for (ElfW(Sym) & symbol : WritableSymbols(module, *info))
    for (std::size_t i = 0; i < names.count; ++i) {
      const Interposed& function = names.functions[i];
      if (symbol.st_shndx == SHN_UNDEF || module.bias + symbol.st_value != function.next) continue;
      __atomic_store_n(&symbol.st_value, function.ours - module.bias, __ATOMIC_RELAXED);
      ++names.changed;
      break;
    }
  return 1;
}

} // namespace

std::size_t lead_to_ours(const Interposed* functions, std::size_t count) {
  Names names{functions, count};
  ::dl_iterate_phdr(visit_owner, &names);
  return names.changed;
}

std::size_t step_aside(Interposed* functions, std::size_t count) {
  Pass pass{functions, count};
  ::dl_iterate_phdr(visit_ourselves, &pass);
  ::dl_iterate_phdr(visit_module, &pass);
  return pass.changed;
}

} // namespace omptier::preload
