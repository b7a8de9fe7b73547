// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omptier diff: what a second plan places elsewhere than a first one. With profiles of the program,
// also what each difference is worth under the advisor's model, and both plans as a whole.
#include "advisor/advice.hpp"
#include "advisor/earlier_plan.hpp"
#include "advisor/together.hpp"
#include "cli/advice_input.hpp"
#include "cli/advice_text.hpp"
#include "cli/command.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <tuple>

namespace omptier {
namespace {

constexpr double k_least_part = 0.005; // of a site's bytes, or of the time: less is the same

struct DiffArguments : AdviceArguments {
  std::string a, b;
  bool json = false;
};

struct Difference {
  std::string label, region; // region: "" if always
  std::uint64_t bytes = 0;
  std::string in_a, in_b;      // where it lies
  std::string reason;          // of the second plan
  std::optional<double> saves; // nanoseconds of thread time that this change alone saves
};

struct PlanTimes { // nanoseconds of thread time
  double a = 0, b = 0, slowest = 0, threads = 1;
  std::string unnamed_kind; // where what a plan does not name is taken to lie; "" if all is named
  bool tells_time = true;
};

struct Differences {
  std::vector<Difference> all;
  std::size_t objects = 0; // that either plan names
  std::optional<PlanTimes> times;
};

// As --capacity would have it: "DRAM, then NVM"; of each block's ranges how much lies elsewhere.
std::string where_text(const PlanEntry* entry) {
  if (!entry) return "not named";
  std::string text;
  for (const MemoryKind kind : entry->kinds)
    text += (text.empty() ? "" : ", then ") + std::string(title_of(kind));
  std::map<MemoryKind, std::uint64_t> parts;
  for (const PlanPart& part : entry->parts)
    parts[part.kind] += part.end - part.begin;
  for (const auto& [kind, bytes] : parts)
    text += ", " + format_size(bytes) + " of each block in " + std::string(title_of(kind));
  if (entry->kinds.empty()) text = "anywhere" + text;
  return text;
}

bool same_place(const PlanEntry& one, const PlanEntry& other) {
  const auto sorted = [](std::vector<PlanPart> parts) {
    std::vector<std::tuple<std::uint64_t, std::uint64_t, MemoryKind>> ranges;
    for (const PlanPart& part : parts)
      ranges.emplace_back(part.begin, part.end, part.kind);
    std::ranges::sort(ranges);
    return ranges;
  };
  return one.kinds == other.kinds && sorted(one.parts) == sorted(other.parts);
}

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

struct Pair {
  const PlanEntry *a = nullptr, *b = nullptr;
  const PlanEntry& either() const { return b ? *b : *a; }
};

// By what the runtime knows them by; what is left, such as entries of another build, by name.
std::vector<Pair> pairs_of(const Plan& a, const Plan& b) {
  std::vector<Pair> pairs;
  std::map<EntryKey, std::size_t> by_key;
  for (const PlanEntry& entry : a.entries) {
    by_key.try_emplace(EntryKey(entry, a), pairs.size());
    pairs.push_back({&entry, nullptr});
  }
  std::vector<const PlanEntry*> rest;
  for (const PlanEntry& entry : b.entries)
    if (const auto at = by_key.find(EntryKey(entry, b)); at != by_key.end() && !pairs[at->second].b)
      pairs[at->second].b = &entry;
    else
      rest.push_back(&entry);
  for (const PlanEntry* entry : rest) {
    const auto same = std::ranges::find_if(pairs, [&](const Pair& pair) {
      return !pair.b && pair.a->label == entry->label &&
             pair.a->region.size() == entry->region.size() &&
             pair.a->instances.size() == entry->instances.size();
    });
    if (same != pairs.end())
      same->b = entry;
    else
      pairs.push_back({nullptr, entry});
  }
  return pairs;
}

std::string region_of(const PlanEntry& entry) {
  if (entry.region.empty()) return {};
  const std::string& function = entry.region.front().portable.function;
  return function.empty() ? "a region" : function;
}

Differences differences_of(const Plan& a, const Plan& b) {
  Differences made;
  for (const Pair& pair : pairs_of(a, b)) {
    ++made.objects;
    if (pair.a && pair.b && same_place(*pair.a, *pair.b)) continue;
    const PlanEntry& entry = pair.either();
    made.all.push_back({entry.label,
                        region_of(entry),
                        entry.bytes,
                        where_text(pair.a),
                        where_text(pair.b),
                        entry.reason,
                        {}});
  }
  return made;
}

// A plan's placement of the profile's sites.
struct Priced {
  Workload workload;
  std::vector<std::size_t> tier_of_site;
  bool all_named = true;

  double time(const std::vector<TierChoice>& tiers) const {
    return predicted_time(workload, tiers, tier_of_site) + workload.rest;
  }
  // Of the site's bytes, by tier.
  std::vector<double> parts(std::size_t site, std::size_t tiers) const {
    std::vector<double> bytes(tiers);
    double all = 0;
    for (std::size_t at = 0; at < workload.sites.size(); ++at)
      if (workload.sites[at].site == site) {
        const auto peak = static_cast<double>(workload.sites[at].peak_bytes());
        bytes[tier_of_site[at]] += peak;
        all += peak;
      }
    for (double& of : bytes)
      of /= std::max(all, 1.0);
    return bytes;
  }
};

// What the plan does not name lies in DRAM, or in the slowest kind where there is none.
std::size_t tier_of_unnamed(const std::vector<TierChoice>& tiers) {
  const auto dram = std::ranges::find(tiers, MemoryKind::dram, &TierChoice::kind);
  return dram != tiers.end() ? static_cast<std::size_t>(dram - tiers.begin()) : tiers.size() - 1;
}

Priced priced(const Plan& plan, const Workload& workload, const AdviceInput& input) {
  EarlierPlacement placed = placed_by(plan, workload, input.summary, input.tiers);
  Priced made{std::move(placed.workload), {}, true};
  for (std::size_t site = 0; site < made.workload.sites.size(); ++site) {
    const SiteDemand& demand = made.workload.sites[site];
    const auto tier = demand.kept ? demand.kept : placed.tier_of_site[site];
    made.all_named = made.all_named && (tier || !demand.is_free());
    made.tier_of_site.push_back(tier.value_or(tier_of_unnamed(input.tiers)));
  }
  return made;
}

// The first, with a site as in the second.
Priced with_site_of(const Priced& a, const Priced& b, std::size_t site) {
  Priced made = a;
  made.workload.sites.clear();
  made.tier_of_site.clear();
  for (const Priced* from : {&a, &b})
    for (std::size_t at = 0; at < from->workload.sites.size(); ++at)
      if ((from->workload.sites[at].site == site) == (from == &b)) {
        made.workload.sites.push_back(from->workload.sites[at]);
        made.tier_of_site.push_back(from->tier_of_site[at]);
      }
  return made;
}

std::string parts_text(const std::vector<double>& parts, const std::vector<TierChoice>& tiers) {
  std::string text;
  for (std::size_t tier = 0; tier < tiers.size(); ++tier)
    if (parts[tier] >= k_least_part)
      text += (text.empty() ? "" : ", ") + std::string(title_of(tiers[tier].kind)) +
              (parts[tier] > 1 - k_least_part ? "" : " " + format_percent(parts[tier], 0));
  return text;
}

// A divided site's entry has more in its name: "grid (a.c:34), 25 % of it in 2 ranges".
std::string reason_by_label(const Plan& plan, const std::string& label) {
  const auto entry = std::ranges::find_if(plan.entries, [&](const PlanEntry& one) {
    return one.region.empty() && (one.label == label || one.label.starts_with(label + ", "));
  });
  return entry != plan.entries.end() ? entry->reason : std::string();
}

Differences differences_priced(const Plan& a, const Plan& b, const Workload& whole,
                               const Workload& workload, const AdviceInput& input) {
  const Priced in_a = priced(a, workload, input), in_b = priced(b, workload, input);
  const double time = in_a.time(input.tiers);
  Differences made;
  for (const SiteDemand& demand : whole.sites) {
    if (!demand.is_free()) continue;
    ++made.objects;
    const auto before = in_a.parts(demand.site, input.tiers.size());
    const auto after = in_b.parts(demand.site, input.tiers.size());
    const bool same = std::ranges::equal(before, after, [](double one, double other) {
      return std::abs(one - other) < k_least_part;
    });
    if (same) continue;
    made.all.push_back({demand.label, "", demand.peak_bytes(), parts_text(before, input.tiers),
                        parts_text(after, input.tiers), reason_by_label(b, demand.label),
                        time - with_site_of(in_a, in_b, demand.site).time(input.tiers)});
  }
  std::ranges::stable_sort(made.all, std::greater{},
                           [](const Difference& one) { return std::abs(*one.saves); });
  for (const Pair& pair : pairs_of(a, b))
    if (const PlanEntry& entry = pair.either(); !entry.region.empty()) {
      ++made.objects;
      if (!pair.a || !pair.b || !same_place(*pair.a, *pair.b))
        made.all.push_back({entry.label,
                            region_of(entry),
                            entry.bytes,
                            where_text(pair.a),
                            where_text(pair.b),
                            entry.reason,
                            {}});
    }
  const std::vector<std::size_t> slow(in_a.tier_of_site.size(), input.tiers.size() - 1);
  made.times =
      PlanTimes{time,
                in_b.time(input.tiers),
                predicted_time(in_a.workload, input.tiers, slow) + in_a.workload.rest,
                double(workload.threads.most()),
                in_a.all_named && in_b.all_named
                    ? ""
                    : std::string(title_of(input.tiers[tier_of_unnamed(input.tiers)].kind)),
                workload.measure == Measure::time};
  return made;
}

std::string saved_text(double saves, double time) {
  const double part = saves / time;
  if (std::abs(part) < k_least_part / 10) return "the same time";
  return (part > 0 ? "saves " : "costs ") + format_percent(std::abs(part)) + " of the time";
}

std::string times_text(const PlanTimes& times) {
  char text[160];
  std::snprintf(text, sizeof text, "%.2f and %.2f times", times.slowest / times.a,
                times.slowest / times.b);
  const std::string what = times.tells_time ? "the program is" : "waits for memory are";
  return "\nUnder the model, with A and with B " + what + " " + text +
         (times.tells_time ? " as fast as" : " shorter than") +
         " with everything in the slowest kind: B " + saved_text(times.a - times.b, times.a) +
         " against A. (Each change above: alone, from A on. Moves per region are not in it.)\n" +
         (times.unnamed_kind.empty()
              ? ""
              : "What a plan does not name is taken to lie in " + times.unnamed_kind + ".\n");
}

std::string diff_text(const DiffArguments& arguments, const Differences& made) {
  std::string text = "A: " + arguments.a + "\nB: " + arguments.b + "\n\n";
  for (const Difference& one : made.all) {
    text += "  " + one.label + (one.region.empty() ? "" : " while " + one.region + " runs") + ", " +
            format_size(one.bytes) + "\n          " + one.in_a + " -> " + one.in_b +
            (one.saves ? ": alone, " + saved_text(*one.saves, made.times->a) : "") + "\n";
    if (!one.reason.empty()) text += "          " + one.reason + "\n";
  }
  text += made.all.empty()
              ? "Both place all " + std::to_string(made.objects) + " objects alike.\n"
              : "\n" + std::to_string(made.all.size()) + " of " + std::to_string(made.objects) +
                    " objects are placed differently.\n";
  return text + (made.times ? times_text(*made.times) : "");
}

using Json = nlohmann::ordered_json;

std::string diff_json(const Differences& made) {
  Json all = Json::array();
  const double threads = made.times ? made.times->threads : 1;
  const auto or_null = [](const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
  };
  for (const Difference& one : made.all)
    all.push_back({{"label", one.label},
                   {"region", or_null(one.region)},
                   {"bytes", one.bytes},
                   {"a", one.in_a},
                   {"b", one.in_b},
                   {"saves", one.saves ? Json(*one.saves / threads) : Json(nullptr)},
                   {"reason", or_null(one.reason)}});
  Json times; // null: no profile
  if (made.times)
    times = {{"a", made.times->a / threads},
             {"b", made.times->b / threads},
             {"slowest", made.times->slowest / threads},
             {"unnamed_in", or_null(made.times->unnamed_kind)}};
  const Json whole = {{"version", 1},
                      {"objects", made.objects},
                      {"differences", std::move(all)},
                      {"predicted_time", std::move(times)}};
  return whole.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int diff_command(const DiffArguments& arguments) {
  const auto print = [&](const Differences& made) {
    return write_file("diff", "-", arguments.json ? diff_json(made) : diff_text(arguments, made));
  };
  if (arguments.profiles.empty()) {
    const auto a = read_plan(arguments.a), b = read_plan(arguments.b);
    for (const auto* plan : {&a, &b})
      if (!*plan) return fail("diff", 2, plan->error());
    return print(differences_of(*a, *b));
  }
  Symbols symbols;
  const auto input = read_advice_input(arguments, symbols);
  if (!input) return fail("diff", 2, input.error());
  const auto a = plan_for_recorded("diff", arguments.a, *input);
  const auto b = plan_for_recorded("diff", arguments.b, *input);
  for (const auto* plan : {&a, &b})
    if (!*plan) return fail("diff", 2, plan->error());
  const auto whole = whole_workload_for(arguments, *input);
  if (!whole) return fail("diff", 2, whole.error());
  if (const std::string why = nothing_to_decide(*whole, arguments, *input); !why.empty())
    return fail("diff", 2, why);
  print_limits("diff", arguments, *input, *whole);
  return print(differences_priced(*a, *b, *whole, *workload_for(arguments, *input), *input));
}

} // namespace

void add_diff(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand(
      "diff", "Compare two plans: what moves, and with a profile what it is worth");
  auto arguments = std::make_shared<DiffArguments>();
  command->add_option("a", arguments->a, "The first plan")->required();
  command->add_option("b", arguments->b, "The second plan")->required();
  add_advice_options(
      *command, *arguments,
      "Kinds to price, with bytes: dram:64M,nvm:16G (plans are not checked for room)");
  auto* profiles = command->get_option("profiles")->required(false);
  for (const char* option : {"--capacity", "--xml", "--nodes", "--machine", "--machine-file",
                             "--threads", "--keep", "--force", "--resolve"})
    command->get_option(option)->needs(profiles);
  command->add_flag("--json", arguments->json, "The differences as JSON instead of text");
  command->callback([&context, arguments] { context.status = diff_command(*arguments); });
}

} // namespace omptier
