// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One line per memory space, with the tiers of the function that allocations use too.
#include "allocators/choices_text.hpp"

#include "allocators/allocation.hpp"
#include "base/options.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace omptier {
namespace {

// Lines in a buffer of fixed size, cut before the first line that does not fit.
class Lines {
public:
  Lines(char* text, std::size_t size) : text_(text), size_(size) { text_[0] = '\0'; }
  void add(const char* format, ...) __attribute__((format(printf, 2, 3))) {
    if (full_) return;
    va_list arguments;
    va_start(arguments, format);
    const int length = std::vsnprintf(text_ + used_, size_ - used_, format, arguments);
    va_end(arguments);
    full_ = length < 0 || static_cast<std::size_t>(length) >= size_ - used_;
    if (full_)
      text_[used_] = '\0';
    else
      used_ += static_cast<std::size_t>(length);
  }
  std::size_t used() const { return used_; }

private:
  char* text_;
  std::size_t size_;
  std::size_t used_ = 0;
  bool full_ = false;
};

struct Words {
  char text[512] = "";
};

// "HBM, nodes 1+3"
Words tier_in_words(const Placer& placer, std::size_t tier) {
  Words words;
  const std::vector<unsigned>& nodes = placer.platform().tiers[tier].nodes;
  int at = std::snprintf(words.text, sizeof words.text, "%s, %s%s",
                         title_of(placer.kind_of_tier(tier)).data(),
                         nodes.empty() ? "a folder" : "node", nodes.size() > 1 ? "s" : "");
  const char* between = " ";
  for (const unsigned node : nodes) {
    if (at > static_cast<int>(sizeof words.text) - 16) break;
    at += std::snprintf(words.text + at, sizeof words.text - static_cast<std::size_t>(at), "%s%u",
                        between, node);
    between = "+";
  }
  return words;
}

const char* meaning_of(Space space) {
  switch (space) {
  case Space::high_bw:
    return "the highest bandwidth from here";
  case Space::low_lat:
    return "the lowest read latency from here";
  case Space::large_cap:
    return "the largest capacity";
  case Space::constant:
    return "the best for reading from here";
  case Space::automatic:
    return "first of all kinds, by bandwidth";
  default:
    return "";
  }
}

const char* rule_of(const Placer& placer, std::size_t tier) {
  const std::vector<unsigned>& nodes = placer.platform().tiers[tier].nodes;
  if (nodes.empty()) return "the folder of OMPTIER_PMEM";
  const Node* node = placer.platform().node(nodes.front());
  return node != nullptr ? node->rule.c_str() : "";
}

void describe_space(Lines& out, Placer& placer, const Allocator& allocator, const char* name) {
  const TierOrder tiers = tiers_of(placer, allocator);
  if (tiers.empty()) return out.add("%s='none on this machine: the fallback is taken'\n", name);
  const bool by_kind = kind_of(allocator.space).has_value();
  out.add("%s='%s: %s'\n", name, tier_in_words(placer, tiers.front()).text,
          by_kind ? rule_of(placer, tiers.front()) : meaning_of(allocator.space));
}

const char* fallback_in_words(OmpValue fallback) {
  return fallback == value::null_fb        ? "null"
         : fallback == value::abort_fb     ? "the program is aborted"
         : fallback == value::allocator_fb ? "another allocator"
                                           : "default memory";
}

void describe_default(Lines& out, Placer& placer, const Allocator& allocator) {
  const std::string_view space = space_name(allocator.space);
  if (allocator.space == Space::standard_default && !allocator.places_default_space())
    return out.add("def-allocator-var='%.*s: memory of the runtime itself'\n",
                   static_cast<int>(space.size()), space.data());
  const TierOrder tiers = tiers_of(placer, allocator);
  out.add("def-allocator-var='%.*s, %s: %s, else %s'\n", static_cast<int>(space.size()),
          space.data(), allocator.required() ? "required" : "preferred",
          !tiers.empty() ? tier_in_words(placer, tiers.front()).text : "none on this machine",
          fallback_in_words(allocator.traits.fallback));
}

bool in_use() {
  Runtime& state = runtime();
  if (state.environment_allocator.load() != k_null_allocator) return true;
  if (state.placer_if_ready() != nullptr || state.places_everything.load()) return true;
  for (const OptionInfo& option : all_options())
    if (option_is_set(option.id)) return true;
  return false;
}

} // namespace

std::size_t describe_choices(char* text, std::size_t size) {
  Lines out(text, size);
  if (!in_use()) return 0;
  Runtime& state = runtime();
  Placer* placer = state.placer();
  if (placer == nullptr) {
    out.add("ompx_mem_space='none: memory is not placed here'\n");
    return out.used();
  }
  constexpr OmpValue k_shown[] = {2, 3, 4, 5, 500, 501, 502, 503, 504};
  for (const OmpValue handle : k_shown)
    if (const Allocator* allocator = state.allocators.find(handle))
      describe_space(out, *placer, *allocator, space_name(allocator->space).data());
  if (const Allocator* allocator = state.allocators.find(state.environment_allocator.load()))
    describe_default(out, *placer, *allocator);
  for (const OptionInfo& option : all_options())
    if (option_is_set(option.id)) out.add("%s='%s'\n", option.name, option_text(option.id));
  return out.used();
}

} // namespace omptier
