// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See gathered.hpp. From a load on, what depends on its value is marked twice around the loop. A
// load whose own address is marked is a link of a chain. Marks of values that an instruction
// replaces are taken away if it always runs, so a branch errs on the side of the chain.
#include "emulation/gathered.hpp"

#include "emulation/loops.hpp"

#include <set>
#include <utility>
#include <vector>
#if defined(__x86_64__)
#include "emulation/effects.hpp"
#include "emulation/registers.hpp"
#endif

namespace omptier {

#if defined(__x86_64__)

namespace {

constexpr std::uint32_t k_largest_loop = 600; // instructions
constexpr Parts k_arguments = general_part(k_rdi) | general_part(k_rsi) | general_part(k_rdx) |
                              general_part(k_rcx) | general_part(8) | general_part(9) |
                              vector_part(0) | vector_part(1);
constexpr Parts k_results = general_part(k_rax) | vector_part(0);

using StackPlace = std::pair<std::int8_t, std::int64_t>; // register and displacement

class Body {
public:
  Body(const Function& function, const Loop& loop);
  bool is_load(std::size_t at) const;
  // Whether the address of `user` depends on what `source` loaded, within two iterations.
  bool leads_to(std::size_t source, std::size_t user) const;
  std::size_t size() const { return effects_.size(); }

private:
  struct Marked {
    Parts parts = 0;
    std::set<StackPlace> places;
  };
  const Instruction& instruction(std::size_t at) const {
    return function_.instructions[first_ + at];
  }
  void step(std::size_t at, Marked& marked) const;

  const Function& function_;
  const std::size_t first_;
  std::vector<Effect> effects_;
  std::vector<bool> always_; // runs in each iteration
};

Body::Body(const Function& function, const Loop& loop) : function_(function), first_(loop.first) {
  std::size_t behind = 0; // of the branches so far, the last instruction that one leads to
  for (std::size_t number = loop.first; number <= loop.last; ++number) {
    const Instruction& here = function.instructions[number];
    effects_.push_back(effect_of(function, here));
    always_.push_back(number >= behind);
    const bool branches = here.flow == Flow::conditional || here.flow == Flow::jump;
    const int target = branches && here.target != 0 ? function.at(here.target) : -1;
    if (target > static_cast<int>(number) && target <= static_cast<int>(loop.last))
      behind = std::max(behind, static_cast<std::size_t>(target));
    if (target == static_cast<int>(loop.first)) behind = loop.last + 1; // begins the next iteration
  }
}

bool is_on_stack(const MemoryOperand& memory) {
  return memory.index == k_no_register && !memory.thread_local_base &&
         (memory.base == static_cast<std::int8_t>(k_rsp) ||
          memory.base == static_cast<std::int8_t>(k_rbp));
}

// What is loaded from the stack was a register's: only its place counts.
bool Body::is_load(std::size_t at) const {
  const Instruction& here = instruction(at);
  return here.has_memory && here.memory.reads && here.flow == Flow::next &&
         !(is_on_stack(here.memory) && here.memory.base == static_cast<std::int8_t>(k_rsp));
}

void Body::step(std::size_t at, Marked& marked) const {
  const Instruction& here = instruction(at);
  const Effect& effect = effects_[at];
  if (here.flow == Flow::call || here.flow == Flow::kernel) {
    const bool depends = (marked.parts & k_arguments) != 0;
    marked.parts &= ~Parts{k_caller_saved} & ~vector_part(0);
    if (depends) marked.parts |= k_results;
    return;
  }
  const StackPlace place{here.memory.base, here.memory.displacement};
  const bool on_stack = here.has_memory && is_on_stack(here.memory);
  const bool from_memory = here.has_memory && here.memory.reads;
  const bool depends = (effect.reads & ~k_stack_part & marked.parts) != 0 ||
                       (from_memory && (effect.asks & marked.parts) != 0) ||
                       (from_memory && on_stack && marked.places.contains(place));
  if (on_stack && here.memory.writes) {
    if (depends)
      marked.places.insert(place);
    else if (always_[at])
      marked.places.erase(place);
  }
  if (depends)
    marked.parts |= effect.writes & ~k_stack_part;
  else if (always_[at])
    marked.parts &= ~effect.replaces;
}

bool Body::leads_to(std::size_t source, std::size_t user) const {
  Marked marked;
  marked.parts = effects_[source].loaded & ~k_stack_part;
  for (std::size_t i = 1; i <= 2 * size(); ++i) {
    const std::size_t at = (source + i) % size();
    if (at == user && (effects_[at].asks & marked.parts) != 0) return true;
    step(at, marked);
  }
  return false;
}

enum class Dependence { none, chained, loaded };

// Of the address of the load, on loads in the loop.
Dependence dependence(const Function& function, const Loop& loop, int number) {
  const Body body(function, loop);
  const std::size_t user = static_cast<std::size_t>(number) - loop.first;
  Dependence found = Dependence::none;
  for (std::size_t source = 0; source < body.size(); ++source) {
    if (!body.is_load(source) || !body.leads_to(source, user)) continue;
    if (source == user || body.leads_to(source, source)) return Dependence::chained;
    found = Dependence::loaded;
  }
  return found;
}

} // namespace

bool is_gathered(const Function& function, int number) {
  bool in_loop = false;
  for (const Loop* loop = loop_repeating(function, number); loop != nullptr;
       loop = loop_repeating_around(function, *loop, number)) {
    if (loop->last - loop->first >= k_largest_loop) return false;
    in_loop = true;
    const Dependence found = dependence(function, *loop, number);
    if (found != Dependence::none) return found == Dependence::loaded;
  }
  return in_loop; // then by counters alone
}

#else

bool is_gathered(const Function&, int) {
  return false;
}

#endif

} // namespace omptier
