// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See code_facts.hpp.
#include "sampling/code_facts.hpp"

#include "emulation/gathered.hpp"
#include "emulation/loops.hpp"
#include "emulation/stored_back.hpp"

#include <link.h>

namespace omptier {
namespace {

// Of the library that the address is in. Empty if it is in the program itself.
CodeRange library_of(std::uint64_t address) {
  struct Search {
    std::uint64_t address;
    bool first = true;
    CodeRange found;
  } search = {address, true, {}};
  auto look = [](dl_phdr_info* object, std::size_t, void* to) {
    auto& wanted = *static_cast<Search*>(to);
    bool program = wanted.first; // the program is listed first
    wanted.first = false;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const auto& header = object->dlpi_phdr[i];
      std::uint64_t begin = object->dlpi_addr + header.p_vaddr, end = begin + header.p_memsz;
      if (header.p_type != PT_LOAD || wanted.address < begin || wanted.address >= end) continue;
      if (!program) wanted.found = {begin, end};
      return 1;
    }
    return 0;
  };
  dl_iterate_phdr(look, &search);
  return search.found;
}

} // namespace

CodeFacts::CodeFacts()
    : own_{library_of(reinterpret_cast<std::uint64_t>(&library_of)),
           library_of(decoder_address())} {
  code_.refresh();
}

void CodeFacts::refresh() {
  code_.refresh();
  if (generation_ != code_.generation()) facts_.clear();
  generation_ = code_.generation();
}

bool CodeFacts::is_programs(std::uint64_t pc) const {
  for (const CodeRange& own : own_)
    if (pc >= own.begin && pc < own.end) return false;
  return code_.map().is_code(pc);
}

CodeFacts::Facts CodeFacts::facts_of(std::uint64_t pc) {
  const auto [at, fresh] = facts_.try_emplace(pc);
  if (!fresh) return at->second;
  Facts& facts = at->second;
  if (const Function* function = code_.around(pc)) {
    const int number = function->at(pc);
    if (const Loop* const loop = loop_repeating(*function, number); loop != nullptr) {
      const Loop& nest = nest_around(*function, *loop, number);
      facts.loop = function->instructions[loop->first].address;
      facts.nest = function->instructions[nest.first].address;
    }
    facts.stored_back = is_stored_back(*function, number);
    facts.gathered = is_gathered(*function, number);
  }
  return facts;
}

void CodeFacts::add_to(AccessSample& sample) {
  const Facts facts = facts_of(sample.pc);
  sample.loop = facts.loop;
  sample.nest = facts.nest;
  sample.stored_back = sample.kind == AccessKind::load && facts.stored_back;
  sample.gathered = sample.kind == AccessKind::load && facts.gathered;
}

} // namespace omptier
