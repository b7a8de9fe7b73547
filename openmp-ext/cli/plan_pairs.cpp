// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See plan_pairs.hpp.
#include "cli/plan_pairs.hpp"

#include "cli/named_site.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace omptier {
namespace {

// What the runtime knows an entry by.
class EntryKey {
public:
  EntryKey(const PlanEntry& entry, const Plan& plan)
      : symbol_(entry.symbol.empty()
                    ? ""
                    : plan.modules[entry.symbol_module].identity + ":" + entry.symbol),
        frames_(places(entry.frames, plan)), region_(places(entry.region, plan)) {
    for (const InstanceRange& range : entry.instances)
      instances_.emplace_back(range.first, range.last);
  }
  bool operator<(const EntryKey& other) const {
    return std::tie(symbol_, frames_, region_, instances_) <
           std::tie(other.symbol_, other.frames_, other.region_, other.instances_);
  }

private:
  using Places = std::vector<std::pair<std::string, std::uint64_t>>; // module's identity, offset
  static Places places(const std::vector<PlanFrame>& frames, const Plan& plan) {
    Places made;
    for (const PlanFrame& frame : frames)
      made.emplace_back(plan.modules[frame.module].identity, frame.offset);
    return made;
  }

  std::string symbol_;
  Places frames_, region_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> instances_;
};

// Of the program; "" if the plan does not tell.
std::string build_of(const Plan& plan) {
  const auto program = std::ranges::find(plan.modules, plan.program, &PlanModule::name);
  return program != plan.modules.end() ? program->identity : "";
}

class Pairing {
public:
  Pairing(const Plan& a, const Plan& b) : a_(a), b_(b) {}

  // By what the runtime knows them by; what is left, such as entries of another build, by name.
  std::vector<PlanPair> run() {
    by_key();
    by_label();
    if (build_of(a_).empty() || build_of(a_) != build_of(b_)) by_label_without_lines();
    for (const PlanEntry* entry : left_)
      pairs_.push_back({nullptr, entry});
    return std::move(pairs_);
  }

private:
  void by_key() {
    std::map<EntryKey, std::size_t> known;
    for (const PlanEntry& entry : a_.entries) {
      known.try_emplace(EntryKey(entry, a_), pairs_.size());
      pairs_.push_back({&entry, nullptr});
    }
    for (const PlanEntry& entry : b_.entries)
      if (const auto at = known.find(EntryKey(entry, b_));
          at != known.end() && !pairs_[at->second].b)
        pairs_[at->second].b = &entry;
      else
        left_.push_back(&entry);
  }

  void by_label() {
    std::erase_if(left_, [&](const PlanEntry* entry) {
      const auto same = std::ranges::find_if(pairs_, [&](const PlanPair& pair) {
        return !pair.b && pair.a->label == entry->label && same_form(*pair.a, *entry);
      });
      if (same == pairs_.end()) return false;
      same->b = entry;
      return true;
    });
  }

  // Where the name is unique in both plans.
  void by_label_without_lines() {
    std::map<std::string, std::vector<PlanPair*>> in_a;
    std::map<std::string, std::size_t> in_b;
    for (PlanPair& pair : pairs_)
      if (!pair.b) in_a[without_lines(pair.a->label)].push_back(&pair);
    for (const PlanEntry* entry : left_)
      ++in_b[without_lines(entry->label)];
    std::erase_if(left_, [&](const PlanEntry* entry) {
      const std::string name = without_lines(entry->label);
      const auto found = in_a.find(name);
      if (found == in_a.end() || found->second.size() != 1 || in_b[name] != 1 ||
          !same_form(*found->second[0]->a, *entry))
        return false;
      found->second[0]->b = entry;
      return true;
    });
  }

  static bool same_form(const PlanEntry& one, const PlanEntry& other) {
    return one.region.size() == other.region.size() &&
           one.instances.size() == other.instances.size();
  }

  const Plan &a_, &b_;
  std::vector<PlanPair> pairs_;
  std::vector<const PlanEntry*> left_; // of the second plan
};

} // namespace

std::vector<PlanPair> pairs_of(const Plan& a, const Plan& b) {
  return Pairing(a, b).run();
}

} // namespace omptier
