// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See aggregate.hpp. One profile is swept once in the order of time: objects come and go, regions
// begin and end, and every sample is given to the object its address lies in at that moment and to
// the outermost region that is running. The sweeps' results are joined site by site.
#include "profile/aggregate.hpp"

#include "objects/live.hpp"
#include "profile/bootstrap.hpp"
#include "profile/format.hpp"
#include "profile/ranks.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

namespace omptier {

void AccessWeights::add(const AccessSample& sample, double weight) {
  if (sample.kind == AccessKind::load)
    (sample.streamed ? streamed_load : scattered_load) += weight;
  else if (sample.kind == AccessKind::store)
    (sample.streamed ? streamed_store : scattered_store) += weight;
  else
    unknown += weight;
}

AccessWeights& AccessWeights::operator+=(const AccessWeights& other) {
  scattered_load += other.scattered_load;
  streamed_load += other.streamed_load;
  scattered_store += other.scattered_store;
  streamed_store += other.streamed_store;
  unknown += other.unknown;
  return *this;
}

AccessWeights& AccessWeights::operator*=(double factor) {
  scattered_load *= factor;
  streamed_load *= factor;
  scattered_store *= factor;
  streamed_store *= factor;
  unknown *= factor;
  return *this;
}

namespace {

// Gathers the modules and frame lists of several profiles under common numbers.
class Names {
public:
  explicit Names(ProfileSummary& summary) : summary_(summary) {}

  std::vector<Frame> translate(const Profile& profile, const std::vector<Frame>& frames) {
    std::vector<Frame> out;
    for (const Frame& frame : frames)
      out.push_back({module(profile.modules[frame.module]), frame.offset});
    return out;
  }

  std::uint32_t site(const std::vector<Frame>& frames) {
    return number(frames, sites_, summary_.sites);
  }
  std::uint32_t region(const std::vector<Frame>& frames) {
    return number(frames, regions_, summary_.regions);
  }

private:
  using Key = std::vector<std::pair<std::uint32_t, std::uint64_t>>;

  std::uint32_t module(const ModuleInfo& info) {
    const auto [at, fresh] =
        modules_.emplace(info.identity, static_cast<std::uint32_t>(summary_.modules.size()));
    if (fresh) summary_.modules.push_back(info);
    return at->second;
  }

  template <typename T>
  static std::uint32_t number(const std::vector<Frame>& frames, std::map<Key, std::uint32_t>& known,
                              std::vector<T>& list) {
    Key key;
    for (const Frame& frame : frames)
      key.emplace_back(frame.module, frame.offset);
    const auto [at, fresh] = known.emplace(key, static_cast<std::uint32_t>(list.size()));
    if (fresh) {
      list.emplace_back();
      list.back().frames = frames;
    }
    return at->second;
  }

  ProfileSummary& summary_;
  std::map<std::string, std::uint32_t> modules_;
  std::map<Key, std::uint32_t> sites_, regions_;
};

constexpr std::uint32_t k_no_site = MoveSummary::k_no_site;
constexpr std::uint32_t k_small = k_no_site - 1;

// Where one sample fell.
struct Attribution {
  std::uint32_t site = k_no_site;
  std::uint32_t region = 0;
  float weight = 1;
};

// What instructions did to the objects of one site, all profiles together.
struct SiteEvidence {
  PatternEvidence pattern;
  std::map<std::uint32_t, double> through; // bytes by the site of their indices
};

// What only one profile knows of a site, before the profiles are joined.
struct SiteInProfile {
  std::uint64_t objects = 0, bytes_total = 0, bytes_largest = 0, bytes_peak = 0;
  std::vector<LiveStep> live;
  std::vector<InstanceSummary> instances;
  double latency_sum = 0, latency_weight = 0;
  double cache_weight = 0, level_weight = 0;
};

class Sweep {
public:
  Sweep(ProfileSummary& summary, Names& names, const Profile& profile,
        std::vector<SiteEvidence>& evidence)
      : summary_(summary), profile_(profile), evidence_(evidence) {
    for (const SiteRecord& site : profile.sites)
      site_numbers_.push_back(names.site(names.translate(profile, site.frames)));
    for (const RegionDefinition& region : profile.region_definitions)
      region_numbers_.push_back(names.region(names.translate(profile, region.frames)));
    sites.resize(summary.sites.size());
    evidence.resize(summary.sites.size());
  }

  void run() {
    object_weights_.assign(profile_.objects.size(), 0);
    for (const ObjectRecord& object : profile_.objects)
      by_release_.push_back(object.object);
    std::stable_sort(by_release_.begin(), by_release_.end(), [&](auto a, auto b) {
      return profile_.objects[a].released < profile_.objects[b].released;
    });
    attributions.reserve(profile_.samples.size());
    for (const AccessSample& sample : profile_.samples) {
      attribute_patterns(sample.time);
      advance(sample.time);
      attribute(sample);
    }
    attribute_patterns(ObjectRecord::k_never - 1);
    advance(ObjectRecord::k_never - 1);
    close_region(profile_.last_time);
    for (SiteInProfile& site : sites) {
      for (const LiveStep& step : site.live)
        site.bytes_peak = std::max(site.bytes_peak, step.bytes);
    }
    keep_instances();
  }

  // The moves of this profile with what was moved and for which region. Needs no sweep: an object
  // cannot be released while it is moved, and the region's begin is the next to be recorded.
  std::vector<MoveSummary> moves() const {
    std::vector<MoveSummary> moves;
    for (const MoveRecord& record : profile_.moves) {
      MoveSummary& move = moves.emplace_back();
      const double taken = record.seconds * 1e9; // whatever a damaged file says
      const bool sane = taken >= 0 && taken <= static_cast<double>(record.time);
      move.begin = relative(record.time - (sane ? static_cast<std::uint64_t>(taken) : 0));
      move.bytes = record.bytes;
      move.from = record.from;
      move.to = record.to;
      move.seconds = record.seconds;
      for (const ObjectRecord& object : profile_.objects)
        if (object.address == record.address && object.time <= record.time &&
            record.time < object.released)
          move.site = site_numbers_[object.site];
      const auto next = std::ranges::find_if(profile_.regions, [&](const RegionRecord& region) {
        return region.begin && region.time >= record.time;
      });
      if (next != profile_.regions.end()) move.region = region_numbers_[next->region];
    }
    std::ranges::stable_sort(moves, {}, &MoveSummary::begin);
    return moves;
  }

  std::vector<SiteInProfile> sites; // by summary number
  std::vector<Attribution> attributions;
  std::vector<WeightedSample> accesses; // bytes by site, k_no_site for no object

private:
  std::uint64_t relative(std::uint64_t time) const {
    return time > profile_.run.start_time ? time - profile_.run.start_time : 0;
  }

  // Everything that happened up to this moment, in order; a release before what takes its place.
  void advance(std::uint64_t now) {
    for (;;) {
      const std::uint64_t born = next_object_ < profile_.objects.size()
                                     ? profile_.objects[next_object_].time
                                     : ObjectRecord::k_never;
      const std::uint64_t gone = next_release_ < by_release_.size()
                                     ? profile_.objects[by_release_[next_release_]].released
                                     : ObjectRecord::k_never;
      const std::uint64_t region = next_region_ < profile_.regions.size()
                                       ? profile_.regions[next_region_].time
                                       : ObjectRecord::k_never;
      const std::uint64_t first = std::min({born, gone, region});
      if (first > now || first == ObjectRecord::k_never) return;
      if (gone == first && by_release_[next_release_] < next_object_)
        release_next();
      else if (born == first)
        begin_next();
      else if (region == first)
        step_region(profile_.regions[next_region_++]);
      else
        ++next_release_; // released before it was born: a damaged clock; never counted
    }
  }

  void begin_next() {
    const ObjectRecord& object = profile_.objects[next_object_++];
    live_.insert(object.address, object.bytes, object.object);
    SiteInProfile& site = sites[site_numbers_[object.site]];
    if (object.allocator == 0) summary_.sites[site_numbers_[object.site]].by_malloc = true;
    ++site.objects;
    site.bytes_total += object.bytes;
    site.bytes_largest = std::max(site.bytes_largest, object.bytes);
    step_live(site, object.time, static_cast<std::int64_t>(object.bytes));
  }

  void release_next() {
    const ObjectRecord& object = profile_.objects[by_release_[next_release_++]];
    if (const auto there = live_.find(object.address); there && *there == object.object)
      live_.erase(object.address);
    step_live(sites[site_numbers_[object.site]], object.released,
              -static_cast<std::int64_t>(object.bytes));
  }

  void step_live(SiteInProfile& site, std::uint64_t time, std::int64_t change) {
    const std::uint64_t before = site.live.empty() ? 0 : site.live.back().bytes;
    const LiveStep step{relative(time), before + static_cast<std::uint64_t>(change)};
    if (!site.live.empty() && site.live.back().time == step.time)
      site.live.back() = step;
    else
      site.live.push_back(step);
  }

  void step_region(const RegionRecord& record) {
    RegionSummary& region = summary_.regions[region_numbers_[record.region]];
    if (record.begin) {
      ++region.entries;
      region.threads = std::max(region.threads, record.threads);
      if (running_.empty()) {
        if (region_numbers_[record.region] != last_region_) ++region.entered_anew;
        last_region_ = region_numbers_[record.region];
        region_begin_ = record.time;
      }
      running_.push_back({region_numbers_[record.region], record.thread});
      return;
    }
    // The innermost one of that thread ends.
    for (std::size_t i = running_.size(); i-- > 0;) {
      if (running_[i].thread != record.thread ||
          running_[i].region != region_numbers_[record.region])
        continue;
      if (i == 0) close_region(record.time);
      running_.erase(running_.begin() + static_cast<std::ptrdiff_t>(i));
      if (i == 0) region_begin_ = record.time;
      return;
    }
  }

  void close_region(std::uint64_t time) {
    if (running_.empty() || time < region_begin_) return;
    summary_.regions[running_.front().region].nanoseconds += time - region_begin_;
  }

  void attribute(const AccessSample& sample) {
    Attribution at;
    at.weight = sample.weight;
    at.region = running_.empty() ? 0 : running_.front().region;
    const double weight = sample.weight;
    RegionSummary& region = summary_.regions[at.region];
    region.accesses.add(sample, weight);
    ++region.samples;
    ++summary_.samples;
    const auto object = sample.address != 0 ? live_.find(sample.address) : std::nullopt;
    if (object) {
      at.site = site_numbers_[profile_.objects[*object].site];
      object_weights_[*object] += weight;
      SiteSummary& site = summary_.sites[at.site];
      ++site.samples;
      site.accesses.add(sample, weight);
      const ObjectRecord& record = profile_.objects[*object];
      site.offsets.add(sample.address - record.address, record.bytes, weight);
      note_region(site, at.region, sample, weight)
          .offsets.add(sample.address - record.address, record.bytes, weight);
      note_service(sites[at.site], sample, weight);
    } else if (profile_.small_areas.contains(sample.address / k_small_area)) {
      at.site = k_small;
      ++summary_.small_samples;
      summary_.small.add(sample, weight);
    } else {
      ++(sample.address == 0 ? summary_.unknown_address : summary_.outside_objects);
      summary_.other.add(sample, weight);
    }
    attributions.push_back(at);
  }

  std::uint32_t site_at(std::uint64_t address) const {
    const auto object = address != 0 ? live_.find(address) : std::nullopt;
    return object ? site_numbers_[profile_.objects[*object].site] : k_no_site;
  }

  void attribute_patterns(std::uint64_t now) {
    for (; next_pattern_ < profile_.patterns.size(); ++next_pattern_) {
      const AccessPattern& pattern = profile_.patterns[next_pattern_];
      if (pattern.time > now) return;
      advance(pattern.time);
      ++summary_.patterns;
      const std::uint32_t site = site_at(pattern.address);
      accesses.push_back({site, pattern.bytes});
      if (site == k_no_site) continue;
      evidence_[site].pattern.add(pattern);
      if (const std::uint32_t through = site_at(pattern.through); through != k_no_site)
        evidence_[site].through[through] += double{pattern.bytes};
    }
  }

  static SiteInRegion& note_region(SiteSummary& site, std::uint32_t region,
                                   const AccessSample& sample, double weight) {
    auto at = std::find_if(site.by_region.begin(), site.by_region.end(),
                           [&](const SiteInRegion& r) { return r.region == region; });
    if (at == site.by_region.end()) {
      site.by_region.emplace_back();
      at = std::prev(site.by_region.end());
      at->region = region;
    }
    at->accesses.add(sample, weight);
    ++at->samples;
    return *at;
  }

  static void note_service(SiteInProfile& site, const AccessSample& sample, double weight) {
    if (sample.latency > 0) {
      site.latency_sum += weight * double{sample.latency};
      site.latency_weight += weight;
    }
    if (sample.level == AccessLevel::unknown) return;
    site.level_weight += weight;
    if (sample.level == AccessLevel::cache) site.cache_weight += weight;
  }

  void keep_instances() {
    for (const ObjectRecord& object : profile_.objects)
      sites[site_numbers_[object.site]].instances.push_back(
          {object.instance, relative(object.time),
           relative(std::min(object.released, profile_.last_time)), object.bytes,
           object_weights_[object.object]});
    for (SiteInProfile& site : sites) {
      if (site.instances.size() <= k_instances_kept) continue;
      std::nth_element(site.instances.begin(), site.instances.begin() + k_instances_kept,
                       site.instances.end(),
                       [](const InstanceSummary& a, const InstanceSummary& b) {
                         return a.bytes != b.bytes ? a.bytes > b.bytes : a.instance < b.instance;
                       });
      site.instances.resize(k_instances_kept);
      std::sort(site.instances.begin(), site.instances.end(),
                [](const InstanceSummary& a, const InstanceSummary& b) {
                  return a.instance < b.instance;
                });
    }
  }

  struct Running {
    std::uint32_t region;
    std::uint32_t thread;
  };
  ProfileSummary& summary_;
  const Profile& profile_;
  std::vector<SiteEvidence>& evidence_;
  std::size_t next_pattern_ = 0;
  std::vector<std::uint32_t> site_numbers_, region_numbers_;
  std::vector<std::uint64_t> by_release_; // objects
  std::size_t next_object_ = 0, next_release_ = 0, next_region_ = 0;
  LiveMap live_;
  std::vector<Running> running_;
  std::uint32_t last_region_ = 0;
  std::uint64_t region_begin_ = 0;
  std::vector<double> object_weights_;
};

// Bytes and lifetimes come from the process where the site is largest; the rest is added up.
struct JoinedSite {
  bool seen = false;
  double latency_sum = 0, latency_weight = 0, cache_weight = 0, level_weight = 0;
};

void join(SiteSummary& site, JoinedSite& joined, SiteInProfile& part) {
  joined.latency_sum += part.latency_sum;
  joined.latency_weight += part.latency_weight;
  joined.cache_weight += part.cache_weight;
  joined.level_weight += part.level_weight;
  if (part.objects == 0 || (joined.seen && part.bytes_peak <= site.bytes_peak)) return;
  joined.seen = true;
  site.objects = part.objects;
  site.bytes_total = part.bytes_total;
  site.bytes_peak = part.bytes_peak;
  site.bytes_largest = part.bytes_largest;
  site.live = std::move(part.live);
  site.instances = std::move(part.instances);
}

double share_of(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

Share make_share(double value, Interval interval) {
  return {value, std::min(value, interval.low), std::max(value, interval.high)};
}

// Where every access was counted there is no sampling error: an interval is its share.
void close_intervals(ProfileSummary& summary) {
  const auto close = [](Share& share) { share.low = share.high = share.value; };
  close(summary.other_share);
  close(summary.other_access_share);
  for (SiteSummary& site : summary.sites) {
    close(site.share);
    close(site.access_share);
    for (SiteInRegion& part : site.by_region)
      close(part.share);
  }
  for (RegionSummary& region : summary.regions)
    close(region.share);
}

// Shares of all samples, by site and by region, and of each region's samples by site.
void add_intervals(ProfileSummary& summary, const std::vector<std::vector<Attribution>>& runs) {
  const std::size_t sites = summary.sites.size();
  double total = summary.other.total() + summary.small.total();
  for (const SiteSummary& site : summary.sites)
    total += site.accesses.total();
  std::vector<std::vector<WeightedSample>> by_site, by_region;
  std::vector<std::vector<std::vector<WeightedSample>>> in_region(summary.regions.size());
  for (const auto& run : runs) {
    by_site.emplace_back();
    by_region.emplace_back();
    for (auto& region : in_region)
      region.emplace_back();
    for (const Attribution& at : run) {
      const auto group = static_cast<std::uint32_t>(at.site == k_no_site ? sites
                                                    : at.site == k_small ? sites + 1
                                                                         : at.site);
      by_site.back().push_back({group, at.weight});
      by_region.back().push_back({at.region, at.weight});
      in_region[at.region].back().push_back({group, at.weight});
    }
  }
  const std::vector<Interval> of_sites = share_intervals(by_site, sites + 2);
  for (std::size_t i = 0; i < sites; ++i)
    summary.sites[i].share =
        make_share(share_of(summary.sites[i].accesses.total(), total), of_sites[i]);
  summary.other_share = make_share(share_of(summary.other.total(), total), of_sites[sites]);
  summary.small_share = make_share(share_of(summary.small.total(), total), of_sites[sites + 1]);
  const std::vector<Interval> of_regions = share_intervals(by_region, summary.regions.size());
  for (std::size_t i = 0; i < summary.regions.size(); ++i)
    summary.regions[i].share =
        make_share(share_of(summary.regions[i].accesses.total(), total), of_regions[i]);
  for (std::size_t region = 0; region < summary.regions.size(); ++region) {
    if (summary.regions[region].samples == 0) continue;
    const std::vector<Interval> intervals = share_intervals(in_region[region], sites + 2);
    for (std::size_t i = 0; i < sites; ++i)
      for (SiteInRegion& part : summary.sites[i].by_region)
        if (part.region == region)
          part.share =
              make_share(share_of(part.accesses.total(), summary.regions[region].accesses.total()),
                         intervals[i]);
  }
}

// Shares of the bytes accessed, and in which pattern.
void add_patterns(ProfileSummary& summary, const std::vector<SiteEvidence>& evidence,
                  std::vector<std::vector<WeightedSample>>& runs) {
  const auto sites = static_cast<std::uint32_t>(summary.sites.size());
  double total = 0, other = 0;
  for (auto& run : runs)
    for (WeightedSample& access : run) {
      if (access.group == k_no_site) access.group = sites;
      total += double{access.weight};
      if (access.group == sites) other += double{access.weight};
    }
  const std::vector<Interval> intervals = share_intervals(runs, sites + 1);
  summary.other_access_share = make_share(share_of(other, total), intervals[sites]);
  for (std::uint32_t i = 0; i < sites && i < evidence.size(); ++i) {
    SiteSummary& site = summary.sites[i];
    const PatternEvidence& pattern = evidence[i].pattern;
    site.access_share = make_share(share_of(pattern.bytes(), total), intervals[i]);
    site.write_share = share_of(pattern.stored(), pattern.bytes());
    site.pattern = pattern.decide();
    double most = 0;
    for (const auto& [through, bytes] : evidence[i].through)
      if (bytes > most) {
        most = bytes;
        site.through = through;
      }
  }
}

void count_small_objects(ProfileSummary& summary, const Profile& profile) {
  SmallObjects all;
  std::uint64_t sites = 0;
  for (const SmallObjects& site : profile.small_objects) {
    all.objects += site.objects;
    all.bytes += site.bytes;
    sites += site.objects != 0 ? 1 : 0;
  }
  if (all.objects <= summary.small_objects.objects) return;
  summary.small_objects = all;
  summary.small_sites = sites;
}

void average_over_profiles(ProfileSummary& summary, std::size_t profiles) {
  const double factor = 1 / static_cast<double>(profiles);
  for (SiteSummary& site : summary.sites) {
    site.accesses *= factor;
    for (SiteInRegion& part : site.by_region)
      part.accesses *= factor;
  }
  for (RegionSummary& region : summary.regions) {
    region.accesses *= factor;
    region.nanoseconds = static_cast<std::uint64_t>(double(region.nanoseconds) * factor);
    region.entries = (region.entries + profiles - 1) / profiles;
    region.entered_anew = (region.entered_anew + profiles - 1) / profiles;
  }
  summary.other *= factor;
  summary.small *= factor;
}

void sort_sites(ProfileSummary& summary) {
  std::vector<std::uint32_t> order(summary.sites.size());
  std::iota(order.begin(), order.end(), 0u);
  std::ranges::stable_sort(order, [&](std::uint32_t one, std::uint32_t other) {
    const SiteSummary &a = summary.sites[one], &b = summary.sites[other];
    return a.share.value != b.share.value ? a.share.value > b.share.value
                                          : a.bytes_peak > b.bytes_peak;
  });
  std::vector<SiteSummary> sorted;
  std::vector<std::uint32_t> place(order.size(), k_no_site);
  for (const std::uint32_t site : order) {
    const SiteSummary& here = summary.sites[site];
    if (here.objects == 0 && here.samples == 0) continue; // of small objects only
    place[site] = static_cast<std::uint32_t>(sorted.size());
    sorted.push_back(std::move(summary.sites[site]));
  }
  summary.sites = std::move(sorted);
  for (MoveSummary& move : summary.moves)
    if (move.site != k_no_site) move.site = place[move.site];
  for (SiteSummary& site : summary.sites)
    if (site.through != SiteSummary::k_nothing) site.through = place[site.through];
  for (SiteSummary& site : summary.sites)
    std::sort(site.by_region.begin(), site.by_region.end(),
              [](const SiteInRegion& a, const SiteInRegion& b) {
                return a.accesses.total() > b.accesses.total();
              });
}

} // namespace

Parsed<ProfileSummary> summarize(std::span<const Profile> profiles) {
  if (profiles.empty()) return Parsed<ProfileSummary>::failure("no profile given");
  ProfileSummary summary;
  Names names(summary);
  names.region({}); // [0] = outside of all regions
  summary.measure = profiles[0].run.measure;
  std::vector<std::vector<Attribution>> attributions;
  std::vector<JoinedSite> joined;
  std::vector<SiteEvidence> evidence;
  std::vector<std::vector<WeightedSample>> accesses;
  RankTable ranks;
  std::uint64_t weighted_samples = 0;
  double waiting = 0;
  for (const Profile& profile : profiles) {
    if (profile.run.measure != summary.measure && !profile.samples.empty() && weighted_samples > 0)
      return Parsed<ProfileSummary>::failure(
          profile.file + " and " + profiles[0].file +
          " measure different things (time, accesses or misses); give profiles of one source");
    if (!profile.samples.empty()) summary.measure = profile.run.measure;
    weighted_samples += profile.samples.size();
    summary.runs.push_back(profile.run);
    if (!profile.cut.empty()) summary.notes.push_back(profile.cut);
    Sweep sweep(summary, names, profile, evidence);
    sweep.run();
    joined.resize(summary.sites.size());
    std::vector<RankPart> parts(sweep.sites.size() + 1); // the last: in no object
    for (const Attribution& at : sweep.attributions)
      parts[std::min<std::size_t>(at.site, sweep.sites.size())].weight += double{at.weight};
    for (std::size_t i = 0; i < sweep.sites.size(); ++i) {
      parts[i].bytes_peak = sweep.sites[i].bytes_peak;
      join(summary.sites[i], joined[i], sweep.sites[i]);
    }
    ranks.add(profile, parts);
    attributions.push_back(std::move(sweep.attributions));
    accesses.push_back(std::move(sweep.accesses));
    if (&profile == &profiles[0]) summary.moves = sweep.moves();
    count_small_objects(summary, profile);
    summary.samples_lost += profile.samples_lost;
    summary.samples_waiting += profile.samples_waiting;
    waiting += profile.waiting;
    summary.worst_error = std::max(summary.worst_error, profile.run.worst_error);
    summary.log_bytes += profile.bytes;
    summary.nanoseconds =
        std::max(summary.nanoseconds, profile.last_time > profile.run.start_time
                                          ? profile.last_time - profile.run.start_time
                                          : 0);
  }
  summary.threads = 1;
  for (const RegionSummary& region : summary.regions)
    summary.threads = std::max(summary.threads, region.threads);
  for (std::size_t i = 0; i < joined.size(); ++i) {
    summary.sites[i].mean_latency = share_of(joined[i].latency_sum, joined[i].latency_weight);
    summary.sites[i].cache_share = share_of(joined[i].cache_weight, joined[i].level_weight);
    summary.sites[i].level_share =
        share_of(joined[i].level_weight, summary.sites[i].accesses.total());
  }
  ranks.finish(summary);
  double busy = summary.other.total();
  for (const SiteSummary& site : summary.sites)
    busy += site.accesses.total();
  summary.waiting_share = share_of(waiting, waiting + busy);
  average_over_profiles(summary, profiles.size());
  add_intervals(summary, attributions);
  add_patterns(summary, evidence, accesses);
  if (std::ranges::all_of(summary.runs, [](const RunRecord& run) { return run.source == "exact"; }))
    close_intervals(summary);
  sort_sites(summary);
  return summary;
}

Parsed<ProfileSummary> summarize_files(std::span<const std::string> paths) {
  std::vector<Profile> profiles;
  for (const std::string& path : paths) {
    Parsed<Profile> profile = read_profile(path);
    if (!profile) return Parsed<ProfileSummary>::failure(profile.error());
    profiles.push_back(std::move(*profile));
  }
  return summarize(profiles);
}

bool is_consistent(const ProfileSummary& summary, std::string& why_not) {
  double sum = summary.other_share.value + summary.small_share.value;
  for (const SiteSummary& site : summary.sites) {
    sum += site.share.value;
    if (site.share.low > site.share.value || site.share.high < site.share.value) {
      why_not = "an interval does not hold its share";
      return false;
    }
    for (std::size_t i = 1; i < site.live.size(); ++i)
      if (site.live[i].time <= site.live[i - 1].time) {
        why_not = "steps of live bytes are out of order";
        return false;
      }
    for (const LiveStep& step : site.live)
      if (step.bytes > site.bytes_peak || step.bytes > site.bytes_total) {
        why_not = "live bytes exceed the peak";
        return false;
      }
  }
  if (summary.samples > 0 && std::abs(sum - 1) > 1e-6) {
    why_not = "shares do not add up to 1";
    return false;
  }
  return true;
}

} // namespace omptier
