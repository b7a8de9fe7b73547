// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See trace_text.hpp. Complete events ("X") of one track may contain each other, but not overlap:
// what overlaps (stretches of regions that several threads begin, moves by several threads) goes to
// further tracks of the same name. A counter ("C") holds its value up to the next event.
#include "cli/trace_text.hpp"

#include "cli/phases_text.hpp"
#include "cli/utf8.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <vector>

namespace omptier {
namespace {

constexpr std::size_t k_most_counters = 10; // objects with a counter of their own
constexpr double k_least_step = 0.001;      // of a counter's peak; smaller steps are left out

// A summand of the bytes that are live at a time.
struct ByteStep {
  std::uint64_t time = 0;
  std::int64_t bytes = 0;
};

// A level of detail of the run. Each event lies on its first track that is free again.
class Lanes {
public:
  Lanes(std::string name, std::uint64_t first_track)
      : name_(std::move(name)), first_(first_track) {}

  std::uint64_t track_for(double begin, double end) {
    auto lane = std::ranges::find_if(ends_, [&](double busy) { return busy <= begin; });
    if (lane == ends_.end()) lane = ends_.insert(lane, 0);
    *lane = end;
    return first_ + static_cast<std::uint64_t>(lane - ends_.begin());
  }
  const std::string& name() const { return name_; }
  std::uint64_t first() const { return first_; }
  std::size_t count() const { return ends_.size(); }

private:
  std::string name_;
  std::uint64_t first_;
  std::vector<double> ends_; // of the last event, by track
};

class Trace {
public:
  Trace(const ProfileSummary& summary, const ProfileNames& names)
      : summary_(summary), names_(names), run_(summary.runs.front()) {}

  std::string text() {
    event("\"ph\":\"M\",\"name\":\"process_name\"", 0, named(run_.program));
    add_phases();
    add_regions();
    add_moves();
    add_counters();
    for (const Lanes* lanes : {&phases_, &regions_, &stretches_, &moves_})
      add_names(*lanes);
    return "{\"displayTimeUnit\":\"ms\",\"otherData\":" + origin() + ",\"traceEvents\":[\n" +
           events_ + "\n]}\n";
  }

private:
  static std::string named(const std::string& name) { return "{\"name\":" + json_text(name) + "}"; }

  std::string origin() const {
    return nlohmann::json{{"made_by", "omptier report --trace"},
                          {"command_line", run_.command_line},
                          {"host", run_.host},
                          {"rank", run_.rank},
                          {"wall_clock_start", run_.wall_clock_start}}
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  void event(const std::string& what, std::uint64_t track, const std::string& arguments) {
    events_ += (events_.empty() ? "{" : ",\n{") + what +
               ",\"pid\":" + std::to_string(run_.process) + ",\"tid\":" + std::to_string(track) +
               ",\"args\":" + arguments + "}";
  }

  // As the format wants it: microseconds.
  static std::string microseconds(double nanoseconds) {
    char text[40];
    std::snprintf(text, sizeof text, "%.3f", nanoseconds / 1000);
    return text;
  }

  void slice(Lanes& lanes, const std::string& name, double begin, double end,
             const std::string& arguments) {
    event("\"ph\":\"X\",\"cat\":\"" + lanes.name() + "\",\"name\":" + json_text(name) +
              ",\"ts\":" + microseconds(begin) + ",\"dur\":" + microseconds(end - begin),
          lanes.track_for(begin, end), arguments);
  }

  void add_phases() {
    for (const PhaseVisit& visit : summary_.phase_visits) {
      const bool is_named = summary_.phases[visit.phase].kind == PhaseSummary::Kind::named;
      slice(is_named ? phases_ : stretches_, names_.phases[visit.phase],
            static_cast<double>(visit.begin), static_cast<double>(visit.end), "{}");
    }
  }

  void add_regions() {
    std::map<std::uint32_t, std::string> accessed; // by region
    for (const RegionVisit& visit : summary_.visits) {
      const auto [at, is_new] = accessed.try_emplace(visit.region);
      if (is_new) at->second = json_text(most_accessed(summary_, names_, visit.region));
      slice(regions_, names_.regions[visit.region], static_cast<double>(visit.begin),
            static_cast<double>(visit.end),
            "{\"region\":" + std::to_string(visit.region) +
                ",\"most accessed in all visits\":" + at->second + "}");
    }
  }

  void add_moves() {
    for (const MoveSummary& move : summary_.moves) {
      const std::string object = move.site != MoveSummary::k_no_site
                                     ? names_.sites[move.site]
                                     : "memory of no recorded object";
      const auto begin = static_cast<double>(move.begin);
      nlohmann::json arguments = {
          {"bytes", move.bytes}, {"from", name_of(move.from)}, {"to", name_of(move.to)}};
      if (move.region != 0) arguments["for"] = as_utf8(names_.regions[move.region]);
      slice(moves_,
            object + ": " + std::string(title_of(move.from)) + " > " +
                std::string(title_of(move.to)),
            begin, begin + std::max(move.seconds, 0.0) * 1e9, arguments.dump());
    }
  }

  void counter(const std::string& name, std::vector<ByteStep> changes) {
    std::ranges::stable_sort(changes, {}, &ByteStep::time);
    std::int64_t now = 0, peak = 0, shown = -1;
    for (const ByteStep& change : changes)
      peak = std::max(peak, now += change.bytes);
    const auto least = static_cast<std::int64_t>(k_least_step * static_cast<double>(peak));
    now = 0;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      now += changes[i].bytes;
      const bool last = i + 1 == changes.size();
      if (!last && (changes[i + 1].time == changes[i].time || std::abs(now - shown) <= least))
        continue;
      shown = now;
      event("\"ph\":\"C\",\"name\":" + json_text(name) +
                ",\"ts\":" + microseconds(static_cast<double>(changes[i].time)),
            0, "{\"bytes\":" + std::to_string(now) + "}");
    }
  }

  void add_counters() {
    std::vector<std::size_t> largest;
    std::vector<ByteStep> all;
    for (std::size_t i = 0; i < summary_.sites.size(); ++i) {
      const std::vector<ByteStep> own = changes_of(summary_.sites[i]);
      if (own.empty()) continue;
      largest.push_back(i);
      all.insert(all.end(), own.begin(), own.end());
    }
    counter("live bytes of all objects", std::move(all));
    std::ranges::stable_sort(largest, std::greater{},
                             [&](std::size_t i) { return summary_.sites[i].bytes_peak; });
    largest.resize(std::min(largest.size(), k_most_counters));
    for (const std::size_t i : largest)
      counter("live bytes of " + names_.sites[i], changes_of(summary_.sites[i]));
  }

  static std::vector<ByteStep> changes_of(const SiteSummary& site) {
    std::vector<ByteStep> changes;
    std::uint64_t before = 0;
    for (const LiveStep& step : site.live) {
      changes.push_back({step.time, static_cast<std::int64_t>(step.bytes - before)});
      before = step.bytes;
    }
    return changes;
  }

  void add_names(const Lanes& lanes) {
    for (std::uint64_t i = 0; i < lanes.count(); ++i) {
      const std::uint64_t track = lanes.first() + i;
      event("\"ph\":\"M\",\"name\":\"thread_name\"", track, named(lanes.name()));
      event("\"ph\":\"M\",\"name\":\"thread_sort_index\"", track,
            "{\"sort_index\":" + std::to_string(track) + "}");
    }
  }

  const ProfileSummary& summary_;
  const ProfileNames& names_;
  const RunRecord& run_;
  std::string events_;
  // Numbers of tracks, which are threads to the viewers; 0 is the process's own.
  Lanes phases_{"phases", 1}, regions_{"regions", 1000}, stretches_{"stretches", 2000},
      moves_{"moves", 1'000'000};
};

} // namespace

std::string trace_text(const ProfileSummary& summary, const ProfileNames& names) {
  return Trace(summary, names).text();
}

} // namespace omptier
