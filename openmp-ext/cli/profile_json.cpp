// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A profile's summary for programs (declared in profile_text.hpp).
#include "cli/moves_text.hpp"
#include "cli/profile_text.hpp"
#include "cli/ranks_text.hpp"

#include <nlohmann/json.hpp>

namespace omptier {
namespace {

nlohmann::json json_of(const Share& share) {
  return {{"share", share.value}, {"low", share.low}, {"high", share.high}};
}

// Nothing where no loop's pace is known.
void add_rate(nlohmann::json& json, const AccessRate& rate) {
  if (rate.pairs == 0) return;
  json["access_rate"] = {{"per_second", rate.value},  {"low", rate.low},
                         {"high", rate.high},         {"bytes_per_second", rate.bytes},
                         {"known_share", rate.known}, {"pairs", rate.pairs}};
}

nlohmann::json json_of(const AccessWeights& accesses) {
  return {{"scattered_load", accesses.scattered_load},
          {"streamed_load", accesses.streamed_load},
          {"scattered_store", accesses.scattered_store},
          {"streamed_store", accesses.streamed_store},
          {"unknown", accesses.unknown}};
}

// The ranges that 9 of 10 accesses go to, hottest first, as fractions of the object.
nlohmann::json json_of(const OffsetHistogram& offsets) {
  nlohmann::json list = nlohmann::json::array();
  for (const HotRange& range : offsets.hot_ranges())
    list.push_back({{"begin", range.begin}, {"end", range.end}, {"share", range.share}});
  return list;
}

nlohmann::json json_of(const std::vector<Frame>& frames, const ProfileSummary& summary,
                       Symbols& symbols) {
  nlohmann::json list = nlohmann::json::array();
  for (const Frame& frame : frames) {
    const ModuleInfo& module = summary.modules[frame.module];
    const ResolvedFrame resolved = symbols.resolve(module, frame.offset);
    nlohmann::json json = {{"module", module.name}, {"offset", frame.offset}};
    if (resolved.known) {
      json["function"] = resolved.portable.function;
      if (!resolved.portable.callee.empty()) json["callee"] = resolved.portable.callee;
      json["ordinal"] = resolved.portable.ordinal;
      if (resolved.portable.calls != 0) json["of"] = resolved.portable.calls;
      if (!resolved.portable.variable.empty()) json["variable"] = resolved.portable.variable;
    }
    if (resolved.portable.line > 0) {
      json["file"] = resolved.portable.file;
      json["line"] = resolved.portable.line;
    }
    for (std::size_t i = 0; i + 1 < resolved.places.size(); ++i)
      json["inlined"].push_back(resolved.places[i].function);
    list.push_back(std::move(json));
  }
  return list;
}

nlohmann::json json_of(const Sampled& sampled) {
  nlohmann::json json = json_of(sampled.share);
  json["samples"] = sampled.samples;
  json["accesses"] = json_of(sampled.accesses);
  return json;
}

nlohmann::json json_of(const std::vector<SitePart>& parts, const char* of) {
  nlohmann::json list;
  for (const SitePart& part : parts) {
    nlohmann::json& json = list.emplace_back(json_of(part));
    json[of] = part.of;
    json["hot_ranges"] = json_of(part.offsets);
    add_rate(json, part.access_rate);
  }
  return list;
}

nlohmann::json json_of(const PhaseSummary& phase, const std::string& label,
                       const ProfileSummary& summary, Symbols& symbols) {
  nlohmann::json json = json_of(phase);
  json["label"] = label;
  json["entries"] = phase.entries;
  json["nanoseconds"] = phase.nanoseconds;
  switch (phase.kind) {
  case PhaseSummary::Kind::named:
    json["kind"] = "named";
    break;
  case PhaseSummary::Kind::to_barrier:
    json["kind"] = "to_barrier";
    json["region"] = phase.region;
    json["frames"] = json_of(phase.frames, summary, symbols);
    break;
  case PhaseSummary::Kind::to_end:
    json["kind"] = "to_end";
    json["region"] = phase.region;
    break;
  case PhaseSummary::Kind::serial:
    json["kind"] = "serial";
    json["after_region"] = phase.region;
    json["before_region"] = phase.next_region;
    break;
  }
  return json;
}

} // namespace

nlohmann::json profile_json(const ProfileSummary& summary, const ProfileNames& names,
                            Symbols& symbols) {
  nlohmann::json json = {{"version", 1},
                         {"measure", title_of(summary.measure)},
                         {"samples", summary.samples},
                         {"samples_lost", summary.samples_lost},
                         {"samples_waiting", summary.samples_waiting},
                         {"waiting_share", summary.waiting_share},
                         {"samples_without_address", summary.unknown_address},
                         {"samples_without_operand", summary.no_operand},
                         {"samples_outside_objects", summary.outside_objects},
                         {"worst_error", summary.worst_error},
                         {"nanoseconds", summary.nanoseconds},
                         {"threads", summary.threads},
                         {"notes", summary.notes},
                         {"small_objects", json_of(summary.small_share)},
                         {"other", json_of(summary.other_share)},
                         {"other_accesses", json_of(summary.other_access_share)}};
  if (summary.patterns > 0) {
    json["accesses_weighed_by"] =
        summary.shares_count_accesses || summary.measure != Measure::time ? "accesses" : "time";
    json["paced_share"] = summary.paced;
  }
  json["small_objects"]["objects"] = summary.small_objects.objects;
  json["small_objects"]["bytes_total"] = summary.small_objects.bytes;
  json["small_objects"]["sites"] = summary.small_sites;
  json["small_objects"]["samples"] = summary.small_samples;
  for (const RunRecord& run : summary.runs)
    json["runs"].push_back({{"host", run.host},
                            {"program", run.program},
                            {"command_line", run.command_line},
                            {"process", run.process},
                            {"rank", run.rank},
                            {"job", run.job},
                            {"source", run.source},
                            {"source_description", run.source_description},
                            {"wall_clock_start", run.wall_clock_start}});
  json["sites"] = nlohmann::json::array();
  for (std::size_t i = 0; i < summary.sites.size(); ++i) {
    const SiteSummary& site = summary.sites[i];
    nlohmann::json one = json_of(site);
    one["label"] = names.sites[i];
    one["kind"] = name_of(site.kind);
    if (!site.symbol.empty()) one["symbol"] = site.symbol;
    one["frames"] = json_of(site.frames, summary, symbols);
    one["objects"] = site.objects;
    one["bytes_total"] = site.bytes_total;
    one["bytes_peak"] = site.bytes_peak;
    one["bytes_largest"] = site.bytes_largest;
    if (summary.patterns > 0) {
      one["access_share"] = json_of(site.access_share);
      add_rate(one, site.access_rate);
      one["write_share"] = site.write_share;
      one["pattern"] = name_of(site.pattern.kind);
      one["stride"] = site.pattern.stride;
      one["indirect"] = site.pattern.indirect;
      if (site.through != SiteSummary::k_nothing) one["through"] = names.sites[site.through];
    }
    one["mean_latency"] = site.mean_latency;
    one["cache_share"] = site.cache_share;
    one["level_share"] = site.level_share;
    one["hot_ranges"] = json_of(site.offsets);
    if (!site.by_region.empty()) one["regions"] = json_of(site.by_region, "region");
    if (!site.by_phase.empty()) one["phases"] = json_of(site.by_phase, "phase");
    json["sites"].push_back(std::move(one));
  }
  for (std::size_t i = 0; i < summary.regions.size(); ++i) {
    const RegionSummary& region = summary.regions[i];
    nlohmann::json one = json_of(region.share);
    one["label"] = names.regions[i];
    one["frames"] = json_of(region.frames, summary, symbols);
    one["entries"] = region.entries;
    one["entered_anew"] = region.entered_anew;
    one["nanoseconds"] = region.nanoseconds;
    one["threads"] = region.threads;
    one["samples"] = region.samples;
    json["regions"].push_back(std::move(one));
  }
  json["phases"] = nlohmann::json::array();
  for (std::size_t i = 0; i < summary.phases.size(); ++i)
    json["phases"].push_back(json_of(summary.phases[i], names.phases[i], summary, symbols));
  json["ranks"] = ranks_json(summary);
  json["moves"] = moves_json(summary);
  return json;
}

} // namespace omptier
