// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A profile's summary as JSON (declared in report_text.hpp).
#include "analysis/enough_samples.hpp"
#include "cli/access_lines.hpp"
#include "cli/blocks_text.hpp"
#include "cli/code_text.hpp"
#include "cli/loops_text.hpp"
#include "cli/moves_text.hpp"
#include "cli/over_time_json.hpp"
#include "cli/ranks_text.hpp"
#include "cli/report_text.hpp"

#include <nlohmann/json.hpp>

namespace omptier {
namespace {

nlohmann::json json_of(const Share& share) {
  return {{"share", share.value}, {"low", share.low}, {"high", share.high}};
}

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
          {"unknown", accesses.unknown},
          {"stored_back", accesses.stored_back},
          {"gathered", accesses.gathered}};
}

// Hottest first, as fractions of the object.
nlohmann::json json_of(const OffsetHistogram& offsets) {
  nlohmann::json list = nlohmann::json::array();
  for (const HotRange& range : offsets.hot_ranges())
    list.push_back({{"begin", range.begin}, {"end", range.end}, {"share", range.share}});
  return list;
}

nlohmann::json json_of(const Sampled& sampled) {
  nlohmann::json json = json_of(sampled.share);
  json["samples"] = sampled.samples;
  json["accesses"] = json_of(sampled.accesses);
  json["accesses"]["first_touch"] = sampled.first_touch.total();
  return json;
}

nlohmann::json json_of(const std::vector<SitePart>& parts, const char* of) {
  nlohmann::json list;
  for (const SitePart& part : parts) {
    nlohmann::json& json = list.emplace_back(json_of(part));
    json[of] = part.of;
    json["hot_ranges"] = json_of(part.offsets);
    if (part.hot_part) json["hot_part"] = *part.hot_part;
    add_rate(json, part.access_rate);
  }
  return list;
}

nlohmann::json json_of(const RunRecord& run) {
  return {{"host", run.host},
          {"program", run.program},
          {"command_line", run.command_line},
          {"process", run.process},
          {"rank", run.rank},
          {"job", run.job},
          {"source", run.source},
          {"source_description", run.source_description},
          {"wall_clock_start", run.wall_clock_start}};
}

class ProfileJson {
public:
  ProfileJson(const ProfileSummary& summary, const ProfileNames& names, Symbols& symbols,
              Details details)
      : summary_(summary), names_(names), symbols_(symbols), details_(details) {}

  nlohmann::json all() {
    nlohmann::json json = totals();
    for (const RunRecord& run : summary_.runs)
      json["runs"].push_back(json_of(run));
    json["sites"] = json["phases"] = nlohmann::json::array();
    for (std::size_t i = 0; i < summary_.sites.size(); ++i)
      json["sites"].push_back(site(i));
    const nlohmann::json lines = access_lines_json(summary_, access_lines(summary_, symbols_));
    for (std::size_t i = 0; i < lines.size(); ++i)
      json["sites"][i]["lines"] = lines[i];
    for (std::size_t i = 0; i < summary_.regions.size(); ++i)
      json["regions"].push_back(region(i));
    for (std::size_t i = 0; i < summary_.phases.size(); ++i)
      json["phases"].push_back(phase(i));
    json["functions"] = code_json(functions_of(summary_, symbols_));
    json["ranks"] = ranks_json(summary_, details_ == Details::all);
    json["moves"] = moves_json(summary_);
    json["all_moves"] = all_moves_json(summary_);
    json["densest"] = densest_json(summary_);
    json["over_time"] = over_time_json(summary_);
    return json;
  }

private:
  nlohmann::json totals() const {
    nlohmann::json json = {{"version", 1},
                           {"measure", title_of(summary_.measure)},
                           {"samples", summary_.samples},
                           {"samples_lost", summary_.samples_lost},
                           {"samples_waiting", summary_.samples_waiting},
                           {"waiting_share", summary_.waiting_share},
                           {"samples_without_address", summary_.unknown_address},
                           {"samples_without_operand", summary_.no_operand},
                           {"samples_outside_objects", summary_.outside_objects},
                           {"worst_error", summary_.worst_error},
                           {"nanoseconds", summary_.nanoseconds},
                           {"threads", summary_.threads},
                           {"notes", summary_.notes},
                           {"running", summary_.running},
                           {"small_objects", json_of(summary_.small.share)},
                           {"other", json_of(summary_.other.share)},
                           {"other_accesses", json_of(summary_.other_access_share)}};
    json["other"]["samples"] = summary_.other.samples;
    json["too_few_samples"] = !too_few_samples(summary_).empty();
    json["small_objects"].update({{"objects", summary_.small_objects.objects},
                                  {"bytes_total", summary_.small_objects.bytes},
                                  {"sites", summary_.small_sites},
                                  {"samples", summary_.small.samples}});
    json["loops"] = loops_json(summary_.loops);
    if (summary_.patterns == 0) return json;
    json["accesses_weighed_by"] = "accesses";
    json["paced_share"] = summary_.paced;
    return json;
  }

  nlohmann::json site(std::size_t number) {
    const SiteSummary& site = summary_.sites[number];
    nlohmann::json json = json_of(site);
    json["label"] = names_.sites[number];
    json["kind"] = name_of(site.kind);
    if (!site.symbol.empty()) json["symbol"] = site.symbol;
    json["frames"] = frames(site.frames);
    json["objects"] = site.objects;
    json["bytes_total"] = site.bytes_total;
    json["bytes_peak"] = site.bytes_peak;
    json["bytes_largest"] = site.bytes_largest;
    json["bytes_growing"] = site.bytes_growing;
    json["nanoseconds_growing"] = site.nanoseconds_growing;
    if (summary_.patterns > 0) {
      json["access_share"] = json_of(site.access_share);
      add_rate(json, site.access_rate);
      if (site.knows_writes()) json["write_share"] = site.write_share.value;
      json["write_interval"] = {{"low", site.write_share.low}, {"high", site.write_share.high}};
      json["pattern"] = name_of(site.pattern.kind);
      json["stride"] = site.pattern.stride;
      json["indirect"] = site.pattern.indirect;
      json["mixed"] = site.pattern.mixed && site.objects > 1;
      if (site.through != SiteSummary::k_nothing) json["through"] = names_.sites[site.through];
    }
    json["mean_latency"] = site.mean_latency;
    json["cache_share"] = site.cache.value;
    json["cache_low"] = site.cache.low;
    json["cache_high"] = site.cache.high;
    json["level_share"] = site.level_share;
    json["hot_ranges"] = json_of(site.offsets);
    if (site.hot_part) json["hot_part"] = *site.hot_part;
    if (site.blocks > 0 && details_ == Details::all) json.update(blocks_json(summary_, site));
    if (!site.by_region.empty()) json["regions"] = json_of(site.by_region, "region");
    if (!site.by_phase.empty()) json["phases"] = json_of(site.by_phase, "phase");
    return json;
  }

  nlohmann::json region(std::size_t number) {
    const RegionSummary& region = summary_.regions[number];
    nlohmann::json json = json_of(region.share);
    json["label"] = names_.regions[number];
    json["frames"] = frames(region.frames);
    json["entries"] = region.entries;
    json["entered_anew"] = region.entered_anew;
    json["nanoseconds"] = region.nanoseconds;
    json["threads"] = region.threads;
    json["samples"] = region.samples;
    return json;
  }

  nlohmann::json phase(std::size_t number) {
    static constexpr const char* k_kinds[] = {"named", "to_barrier", "to_end", "serial"};
    using Kind = PhaseSummary::Kind;
    const PhaseSummary& phase = summary_.phases[number];
    nlohmann::json json = json_of(phase);
    json["label"] = names_.phases[number];
    json["kind"] = k_kinds[static_cast<unsigned>(phase.kind)];
    json["entries"] = phase.entries;
    json["nanoseconds"] = phase.nanoseconds;
    if (phase.kind == Kind::serial) {
      json["after_region"] = phase.region;
      json["before_region"] = phase.next_region;
    } else if (phase.kind != Kind::named) {
      json["region"] = phase.region;
    }
    if (phase.kind == Kind::to_barrier) json["frames"] = frames(phase.frames);
    return json;
  }

  nlohmann::json frames(const std::vector<Frame>& frames) {
    nlohmann::json list = nlohmann::json::array();
    for (const Frame& frame : frames) {
      const ModuleInfo& module = summary_.modules[frame.module];
      const ResolvedFrame resolved = symbols_.resolve(module, frame.offset);
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
      for (std::size_t i = 0; i + 1 < resolved.locations.size(); ++i)
        json["inlined"].push_back(resolved.locations[i].function);
      list.push_back(std::move(json));
    }
    return list;
  }

  const ProfileSummary& summary_;
  const ProfileNames& names_;
  Symbols& symbols_;
  Details details_;
};

} // namespace

nlohmann::json profile_json(const ProfileSummary& summary, const ProfileNames& names,
                            Symbols& symbols, Details details) {
  return ProfileJson(summary, names, symbols, details).all();
}

} // namespace omptier
