// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See profile_pairs.hpp.
#include "cli/profile_pairs.hpp"

#include "cli/named_site.hpp"

#include <algorithm>
#include <functional>
#include <unordered_map>

namespace omptier {
namespace {

std::string exact_place(const ModuleInfo& module, std::uint64_t offset) {
  return module.identity + "+" + std::to_string(offset) + "\n";
}

// Names do not change when a call is added elsewhere in the function, or lines move.
std::string portable_place(const ModuleInfo& module, const PortableFrame& frame) {
  return module.name + "|" + frame.function + "|" + frame.callee + "|" +
         (frame.variable.empty()
              ? std::to_string(frame.ordinal) + " of " + std::to_string(frame.calls)
              : frame.variable) +
         "\n";
}

class Places {
public:
  Places(const ProfileSummary& summary, Symbols& symbols) : summary_(summary), symbols_(symbols) {}

  PlaceKeys of_frames(std::span<const Frame> frames) {
    PlaceKeys keys;
    bool knows_names = true, in_main = true;
    for (const Frame& frame : frames) { // innermost first
      const ModuleInfo& module = summary_.modules[frame.module];
      keys.exact += exact_place(module, frame.offset);
      if (!in_main) continue; // the start code is the same for all
      const ResolvedFrame resolved = symbols_.resolve(module, frame.offset);
      keys.portable += portable_place(module, resolved.portable);
      knows_names = knows_names && resolved.known;
      in_main = resolved.portable.function != "main";
    }
    if (!knows_names) keys.portable.clear();
    return keys;
  }

  PlaceKeys of_site(const SiteSummary& site) {
    if (site.kind == SiteKind::allocation || site.kind == SiteKind::mapping)
      return of_frames(site.frames);
    const std::string kind = name_of(site.kind) + std::string("\n");
    if (site.frames.empty() || site.kind == SiteKind::runtime) return {kind, kind, {}};
    const Frame& frame = site.frames.front();
    const ModuleInfo& module = summary_.modules[frame.module];
    return {kind + exact_place(module, frame.offset) + site.symbol,
            kind + module.name + "\n" + site.symbol,
            {}};
  }

private:
  const ProfileSummary& summary_;
  Symbols& symbols_;
};

using KeyOf = std::function<std::string(const PlaceKeys&)>;

class ProfilePairing {
public:
  ProfilePairing(std::span<const PlaceKeys> a, std::span<const PlaceKeys> b)
      : a_(a), b_(b), of_a_(a.size()), taken_(b.size()) {}

  // Where exactly one on each side that is left has the key.
  void by(const KeyOf& key_of) {
    struct With {
      std::size_t a = 0, b = 0, count_a = 0, count_b = 0;
    };
    std::unordered_map<std::string, With> found;
    for (std::size_t i = 0; i < a_.size(); ++i)
      if (const std::string key = key_of(a_[i]); !of_a_[i] && !key.empty()) {
        With& with = found[key];
        with.a = i;
        ++with.count_a;
      }
    for (std::size_t i = 0; i < b_.size(); ++i)
      if (const std::string key = key_of(b_[i]); !taken_[i] && !key.empty()) {
        With& with = found[key];
        with.b = i;
        ++with.count_b;
      }
    for (const auto& [key, with] : found)
      if (with.count_a == 1 && with.count_b == 1) {
        of_a_[with.a] = static_cast<std::uint32_t>(with.b);
        taken_[with.b] = true;
      }
  }

  std::vector<ComparedPair> finish() const {
    std::vector<ComparedPair> pairs;
    for (std::uint32_t i = 0; i < a_.size(); ++i)
      pairs.push_back({i, of_a_[i]});
    for (std::uint32_t i = 0; i < b_.size(); ++i)
      if (!taken_[i]) pairs.push_back({std::nullopt, i});
    return pairs;
  }

private:
  std::span<const PlaceKeys> a_, b_;
  std::vector<std::optional<std::uint32_t>> of_a_; // which of b
  std::vector<bool> taken_;                        // of b
};

std::string build_of(const ProfileSummary& summary) {
  const auto program =
      std::ranges::find(summary.modules, summary.runs.front().program, &ModuleInfo::name);
  return program != summary.modules.end() ? program->identity : "";
}

} // namespace

ProfilePlaces places_of(const ProfileSummary& summary, const ProfileNames& names,
                        Symbols& symbols) {
  Places places(summary, symbols);
  ProfilePlaces made{build_of(summary), {}, {}};
  for (std::size_t i = 0; i < summary.sites.size(); ++i) {
    made.sites.push_back(places.of_site(summary.sites[i]));
    made.sites.back().label = names.sites[i];
  }
  for (std::size_t i = 0; i < summary.regions.size(); ++i) {
    made.regions.push_back(places.of_frames(summary.regions[i].frames));
    made.regions.back().label = names.regions[i];
  }
  return made;
}

std::vector<ComparedPair> pairs_of(std::span<const PlaceKeys> a, std::span<const PlaceKeys> b,
                                   bool same_build) {
  ProfilePairing pairing(a, b);
  pairing.by(&PlaceKeys::exact);
  pairing.by(&PlaceKeys::portable);
  pairing.by(&PlaceKeys::label);
  if (!same_build) pairing.by([](const PlaceKeys& keys) { return without_lines(keys.label); });
  return pairing.finish();
}

} // namespace omptier
