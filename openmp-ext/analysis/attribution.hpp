// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One profile in the order of time: objects come and go, regions begin and end, and every sample is
// given to the object in which its address lies at that moment and to the outermost running region.
// What several profiles have in common (sites, regions, modules) gets common numbers from Names and
// goes into the summary at once; the rest stays in the sweep until the profiles are joined.
#pragma once

#include "analysis/aggregate.hpp"
#include "analysis/cache.hpp"
#include "analysis/loop_advance.hpp"
#include "analysis/loop_nests.hpp"
#include "analysis/miss_steps.hpp"
#include "analysis/object_pattern.hpp"
#include "analysis/share_intervals.hpp"
#include "analysis/streams.hpp"
#include "objects/live.hpp"

#include <map>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace omptier {

// Common numbers for the modules and frame lists of several profiles.
class Names {
public:
  Names(ProfileSummary& summary, const PlaceInSource& place_of)
      : summary_(summary), place_of_(place_of) {}

  std::vector<Frame> translate(const Profile& profile, const std::vector<Frame>& frames) {
    std::vector<Frame> out;
    for (const Frame& frame : frames)
      out.push_back({module(profile.modules[frame.module]), frame.offset});
    return out;
  }

  std::uint32_t site(const Profile& profile, const SiteRecord& record) {
    const std::size_t before = summary_.sites.size();
    const std::vector<Frame> frames = translate(profile, record.frames);
    const std::uint32_t site = number(record.kind, frames, sites_, summary_.sites);
    if (site == before) {
      summary_.sites[site].kind = record.kind;
      summary_.sites[site].symbol = record.symbol;
    }
    return site;
  }
  // frames: with the summary's numbers.
  std::uint32_t region(const std::vector<Frame>& frames) {
    const auto known = regions_.find(key_of(SiteKind::allocation, frames));
    if (known != regions_.end()) return known->second;
    const std::string place =
        place_of_ && !frames.empty() ? place_of_(summary_.modules, frames) : std::string();
    const auto same = place.empty() ? region_places_.end() : region_places_.find(place);
    if (same != region_places_.end()) {
      regions_.emplace(key_of(SiteKind::allocation, frames), same->second);
      summary_.regions[same->second].also.push_back(frames);
      return same->second;
    }
    const std::uint32_t region = number(SiteKind::allocation, frames, regions_, summary_.regions);
    if (!place.empty()) region_places_.emplace(place, region);
    return region;
  }
  CodeSummary& code(const Profile& profile, const Frame& at) {
    const std::uint32_t module_number = module(profile.modules[at.module]);
    const auto [known, fresh] = code_.emplace(std::pair(module_number, at.offset),
                                              static_cast<std::uint32_t>(summary_.code.size()));
    if (fresh) summary_.code.emplace_back().at = {module_number, at.offset};
    return summary_.code[known->second];
  }

private:
  using Key = std::pair<SiteKind, std::vector<std::pair<std::uint32_t, std::uint64_t>>>;

  std::uint32_t module(const ModuleInfo& info) {
    const auto [at, fresh] =
        modules_.emplace(info.identity, static_cast<std::uint32_t>(summary_.modules.size()));
    if (fresh) summary_.modules.push_back(info);
    return at->second;
  }

  static Key key_of(SiteKind kind, const std::vector<Frame>& frames) {
    Key key{kind, {}};
    for (const Frame& frame : frames)
      key.second.emplace_back(frame.module, frame.offset);
    return key;
  }

  template <typename T>
  static std::uint32_t number(SiteKind kind, const std::vector<Frame>& frames,
                              std::map<Key, std::uint32_t>& known, std::vector<T>& list) {
    const auto [at, fresh] =
        known.emplace(key_of(kind, frames), static_cast<std::uint32_t>(list.size()));
    if (fresh) {
      list.emplace_back();
      list.back().frames = frames;
    }
    return at->second;
  }

  ProfileSummary& summary_;
  std::map<std::string, std::uint32_t> modules_;
  const PlaceInSource& place_of_;
  std::map<Key, std::uint32_t> sites_, regions_;
  std::map<std::string, std::uint32_t> region_places_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::uint32_t> code_;
};

// Values of Attribution::site other than a site's number.
inline constexpr std::uint32_t k_no_site = MoveSummary::k_no_site;
inline constexpr std::uint32_t k_small_objects = k_no_site - 1;

struct Attribution {
  std::uint32_t site = k_no_site;
  std::uint32_t region = 0;
  float weight = 1;
  float position = 0; // in the object, of its length; below 0: not known
  std::uint64_t object = ~std::uint64_t{0}; // as Place::object
};

struct Place {
  static constexpr std::uint64_t k_none = ~std::uint64_t{0};
  std::uint32_t site = k_no_site;      // as Attribution::site
  std::uint64_t object = k_none;       // of the profile; none: a counted one
  std::uint64_t offset = 0, bytes = 0; // in it, of it
  bool is_exact = true;                // the offset is known; else only the object
};

struct PatternAt {
  const LoggedPattern* pattern;
  std::uint32_t site, through; // summary numbers, k_no_site
  std::uint32_t region;
  std::uint32_t beside = k_no_site; // of one with an unknown address: what its sample was blamed on
  std::uint32_t nest = 0;           // of AdvanceRates
  double fresh = 1; // part of accesses through indices that no core's cache serves, if it is known

  bool is_lost() const { return pattern->address == 0 && site == k_no_site; }
};

// Instruction 0: time given to the site's streams (streams.hpp).
struct BlamedAt {
  std::uint32_t site, region;
  std::uint64_t pc;
  auto operator<=>(const BlamedAt&) const = default;
};
using BlamedTime = std::map<BlamedAt, double>; // weights of samples

struct SiteEvidence {
  PatternEvidence pattern;
  double bytes = 0; // accessed, by the speed of the loops
  std::map<std::uint32_t, double> through; // bytes by the site of their indices
};

struct SiteInProfile {
  std::uint64_t objects = 0, bytes_total = 0, bytes_largest = 0, bytes_peak = 0;
  std::uint64_t bytes_growing = 0, nanoseconds_growing = 0;
  FreshBytes fresh;
  std::vector<LiveStep> live;
  std::vector<InstanceSummary> instances; // from here on as in SiteSummary
  std::uint64_t blocks = 0;
  std::vector<std::uint32_t> hot_blocks;
  bool blocks_by_one_thread = false;
  double sampled_weight = 0;
  std::optional<double> hot_part;
  double latency_sum = 0, latency_weight = 0;
  LinesOfBlock lines_of_block;
};

class Sweep {
public:
  Sweep(ProfileSummary& summary, Names& names, const Profile& profile);

  void run();

  std::vector<SiteInProfile> sites; // by summary number
  std::vector<Attribution> attributions;
  std::vector<PatternAt> patterns; // of the profile's
  AdvanceRates advances;
  BlamedTime blamed_time;
  std::vector<ReuseAt> reuses;     // those in sites
  std::vector<MoveSummary> moves;
  std::vector<RegionVisit> visits;

private:
  std::uint64_t relative(std::uint64_t time) const;

  // Takes all events up to this moment, in order; a release comes before a new object in its place.
  void advance(std::uint64_t now);
  static std::uint64_t bytes_of(const ObjectRecord& object);
  bool counts_bytes(const ObjectRecord& object) const;
  void begin_next();
  void release_next();
  void step_live(SiteInProfile& site, std::uint64_t time, std::int64_t change);
  bool counts_later_steps(SiteInProfile& site, std::uint64_t peak_time, std::int64_t to_peak,
                          std::int64_t to_end);
  void take_totals(const SiteTotals& totals);
  // Totals of all runs replace the sums over the logged ones.
  bool is_totalled(std::uint32_t region) const;
  void take_region_totals();
  std::uint64_t entries_between_copies(std::uint32_t region) const;
  void take_code();
  void take_advances();
  static double fresh_part(const AccessPattern& pattern, const Place& place, const Place& through);
  CodeSummary* code_at(std::uint64_t pc, std::uint64_t time);
  void step_region(const RegionRecord& record);
  void take_move(const MoveRecord& record);
  void close_region(std::uint64_t time);
  void add_to_site(const Place& place, const AccessSample& sample, std::uint32_t region);
  std::uint32_t region_now() const;
  void attribute(const LoggedSample& logged);
  // At the present moment. What the recorder knew has precedence over the log.
  Place place_of(std::uint64_t address, const BlockPlace& known) const;
  Layer layer_of(const ObjectRecord& object) const;
  void attribute_patterns(std::uint64_t now);
  void attribute_reuses(std::uint64_t now);
  // For accesses whose addresses the emulation lost: they belong to what samples were blamed on.
  void note_lost(const LoggedSample& sample, const Place& place);
  void find_lost();
  // A sample of time that is blamed on one stream may stand for another stream of the same loop.
  void learn_streams(const LoggedSample& sample);
  void share_among_streams(AccessSample& sample, Place& place, std::uint32_t region);
  Place beside(const Stream& stream, const AccessSample& sample, const Place& blamed) const;
  bool is_cached(std::uint32_t site) const;
  // The module whose code ran; null where the log does not say.
  const AreaRecord* module_of(std::uint64_t pc, std::uint64_t time) const;
  bool is_in_runtime(const AccessSample& sample) const;
  void take_runtimes_small_objects();
  SitePart& part_of(std::uint32_t site, std::uint32_t region);

  struct Running {
    std::uint32_t region; // of the profile
    std::uint32_t thread;
  };

  ProfileSummary& summary_;
  Names& names_;
  const Profile& profile_;
  std::unordered_map<std::uint64_t, std::uint64_t> loops_; // by instruction: its loop's first one
  std::size_t next_pattern_ = 0, next_reuse_ = 0;
  std::vector<std::uint32_t> site_numbers_, region_numbers_;
  std::uint32_t runtime_site_; // of the summary
  std::vector<const AreaRecord*> module_areas_;
  std::vector<std::uint64_t> by_release_; // objects
  std::size_t next_object_ = 0, next_release_ = 0, next_region_ = 0, next_totals_ = 0;
  std::vector<SiteTotals> counted_; // by number of the profile: totals already counted
  LiveMap live_; // of objects, Place::k_none for small ones
  std::vector<Running> running_;
  std::uint32_t last_region_ = 0;
  std::uint64_t region_begin_ = 0;
  StreamDealer streams_;
  MissSteps miss_steps_;
  LoopNests nests_;
  const AreaRecord* code_area_ = nullptr;   // of the instruction before
  std::vector<std::uint32_t> blamed_sites_; // of each sample, before streams share
  std::vector<RegionRun> region_runs_;      // of each sample
  std::vector<ObjectOfSite> objects_of_patterns_;
};

} // namespace omptier
