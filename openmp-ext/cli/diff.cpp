// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omptier diff: what a second plan places elsewhere than a first one. With profiles of the program,
// also what each difference is worth under the advisor's model, and both plans as a whole. Two
// profiles are compared by diff_profiles.cpp.
#include "advisor/advice.hpp"
#include "advisor/curve.hpp"
#include "advisor/earlier_plan.hpp"
#include "advisor/together.hpp"
#include "cli/advice_input.hpp"
#include "cli/advice_text.hpp"
#include "cli/command.hpp"
#include "cli/diff_profiles.hpp"
#include "cli/html_page.hpp"
#include "cli/plan_pairs.hpp"

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
  std::string page, pictures; // as diff_profiles.hpp has them
  bool json = false;
};

struct Difference {
  std::string label, region; // region: "" if always
  std::uint64_t bytes = 0;   // 0: not known
  std::string in_a, in_b;    // where it lies
  std::string reason;          // of the second plan
  std::optional<double> saves; // nanoseconds of thread time that this change alone saves
  bool is_object = true;       // not an object's entry for a region, or what is not named
  bool at_barrier = false;     // the region's name is that of a function with a barrier
};

struct PlanTimes { // nanoseconds of thread time
  double a = 0, b = 0, slowest = 0, threads = 1;
  // Where what the plan does not name is taken to lie; none if it names all.
  std::optional<MemoryKind> unnamed_in_a, unnamed_in_b;
  bool tells_time = true;
};

struct Differences {
  std::vector<Difference> all;
  std::size_t objects = 0; // that either plan names
  std::optional<PlanTimes> times;

  std::size_t objects_moved() const {
    return static_cast<std::size_t>(std::ranges::count(all, true, &Difference::is_object));
  }
};

using KindName = std::string_view (*)(MemoryKind); // title_of for people, name_of for JSON

std::string kinds_text(const std::vector<MemoryKind>& kinds, KindName name) {
  std::string text;
  for (const MemoryKind kind : kinds)
    text += (text.empty() ? "" : ", then ") + std::string(name(kind));
  return text;
}

// As --capacity would have it: "DRAM, then NVM"; of each block's ranges how much lies elsewhere.
std::string where_text(const PlanEntry* entry, KindName name) {
  if (!entry) return "not named";
  std::string text = entry->kinds.empty() ? "anywhere" : kinds_text(entry->kinds, name);
  std::map<MemoryKind, std::uint64_t> parts;
  for (const PlanPart& part : entry->parts)
    parts[part.kind] += part.end - part.begin;
  for (const auto& [kind, bytes] : parts)
    text += ", " + format_size(bytes) + " of each block in " + std::string(name(kind));
  if (entry->share < 1)
    text += ", " + format_percent(1 - entry->share, 0) + " of the small blocks in " +
            std::string(name(entry->kinds[1]));
  if (entry->least_block != k_least_large)
    text += ", blocks from " + format_size(entry->least_block);
  return text;
}

constexpr double k_same_share = 0.005; // less is not shown

bool same_place(const PlanEntry& one, const PlanEntry& other) {
  const auto sorted = [](std::vector<PlanPart> parts) {
    std::vector<std::tuple<std::uint64_t, std::uint64_t, MemoryKind>> ranges;
    for (const PlanPart& part : parts)
      ranges.emplace_back(part.begin, part.end, part.kind);
    std::ranges::sort(ranges);
    return ranges;
  };
  return one.kinds == other.kinds && one.least_block == other.least_block &&
         std::abs(one.share - other.share) < k_same_share &&
         sorted(one.parts) == sorted(other.parts);
}

std::string region_of(const PlanEntry& entry) {
  if (entry.region.empty()) return {};
  const std::string& function = entry.region.front().portable.function;
  return function.empty() ? "a region" : function;
}

Difference difference_of(const PlanPair& pair, KindName name) {
  const PlanEntry& entry = pair.either();
  return {entry.label,
          region_of(entry),
          entry.bytes,
          where_text(pair.a, name),
          where_text(pair.b, name),
          entry.reason,
          {},
          entry.region.empty(),
          !entry.region.empty() && !entry.region.front().portable.callee.empty() &&
              !begins_a_region(entry.region.front())};
}

std::string when_text(const Difference& one) {
  if (one.region.empty()) return {};
  return one.at_barrier ? " from a barrier of " + one.region + " on"
                        : " while " + one.region + " runs";
}

bool differs(const PlanPair& pair) {
  return !pair.a || !pair.b || !same_place(*pair.a, *pair.b);
}

void add_rest(const Plan& a, const Plan& b, KindName name, Differences& made) {
  if (a.rest == b.rest) return;
  const auto where = [&](const Plan& plan) {
    return plan.rest.empty() ? "untouched" : kinds_text(plan.rest, name);
  };
  made.all.push_back({"what the plan does not name", "", 0, where(a), where(b), "", {}, false});
}

Differences differences_of(const Plan& a, const Plan& b, KindName name) {
  Differences made;
  for (const PlanPair& pair : pairs_of(a, b)) {
    if (pair.either().region.empty()) ++made.objects;
    if (differs(pair)) made.all.push_back(difference_of(pair, name));
  }
  add_rest(a, b, name, made);
  return made;
}

// A plan's placement of the profile's sites.
struct Priced {
  Workload workload;
  std::vector<std::size_t> tier_of_site;
  std::optional<MemoryKind> unnamed_in; // none if all is named

  double time(const std::vector<TierChoice>& tiers) const {
    return predicted_time(workload, tiers, tier_of_site) + workload.rest;
  }
  std::vector<double> parts(std::size_t site, std::size_t tiers) const {
    return parts_by_tier(workload, tier_of_site, tiers, site).parts;
  }
};

Priced priced(const Plan& plan, EarlierPlacement placed, const std::vector<TierChoice>& tiers) {
  const std::size_t unnamed = tier_of_unnamed(plan, tiers);
  Priced made{{}, placed.completed(unnamed), {}};
  for (std::size_t site = 0; site < placed.workload.sites.size(); ++site)
    if (!placed.tier_of_site[site] && placed.workload.sites[site].is_free())
      made.unnamed_in = tiers[unnamed].kind;
  made.workload = std::move(placed.workload);
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

std::string parts_text(const std::vector<double>& parts, const std::vector<TierChoice>& tiers,
                       KindName name) {
  std::string text;
  for (std::size_t tier = 0; tier < tiers.size(); ++tier)
    if (parts[tier] >= k_least_part)
      text += (text.empty() ? "" : ", ") + std::string(name(tiers[tier].kind)) +
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

struct PlanPriced {
  const Plan& plan;
  Priced priced;
};

Differences differences_priced(const PlanPriced& a, const PlanPriced& b, const Workload& whole,
                               const std::vector<TierChoice>& tiers, KindName name) {
  const double time = a.priced.time(tiers);
  Differences made;
  for (const SiteDemand& demand : whole.sites) {
    if (!demand.is_free()) continue;
    ++made.objects;
    const auto before = a.priced.parts(demand.site, tiers.size());
    const auto after = b.priced.parts(demand.site, tiers.size());
    const bool same = std::ranges::equal(before, after, [](double one, double other) {
      return std::abs(one - other) < k_least_part;
    });
    if (same) continue;
    made.all.push_back({demand.label, "", demand.peak_bytes(), parts_text(before, tiers, name),
                        parts_text(after, tiers, name), reason_by_label(b.plan, demand.label),
                        time - with_site_of(a.priced, b.priced, demand.site).time(tiers)});
  }
  std::ranges::stable_sort(made.all, std::greater{},
                           [](const Difference& one) { return std::abs(*one.saves); });
  for (const PlanPair& pair : pairs_of(a.plan, b.plan))
    if (!pair.either().region.empty() && differs(pair))
      made.all.push_back(difference_of(pair, name));
  add_rest(a.plan, b.plan, name, made);
  const Workload& workload = a.priced.workload;
  const std::vector<std::size_t> slow(workload.sites.size(), tiers.size() - 1);
  made.times = PlanTimes{time,
                         b.priced.time(tiers),
                         predicted_time(workload, tiers, slow) + workload.rest,
                         double(workload.threads.most()),
                         a.priced.unnamed_in,
                         b.priced.unnamed_in,
                         workload.measure == Measure::time};
  return made;
}

bool is_same_time(double saves, double time) {
  return std::abs(saves / time) < k_least_part / 10;
}

std::string saved_text(double saves, double time) {
  const double part = saves / time;
  if (is_same_time(saves, time)) return "the same time";
  return (part > 0 ? "saves " : "costs ") + format_percent(std::abs(part)) + " of the time";
}

std::string unnamed_text(const char* plan, const std::optional<MemoryKind>& kind) {
  if (!kind) return {};
  return std::string("What ") + plan + " does not name is taken to lie in " +
         std::string(title_of(*kind)) + ".\n";
}

std::string times_text(const PlanTimes& times) {
  char text[160];
  std::snprintf(text, sizeof text, "%.2f and %.2f times", times.slowest / times.a,
                times.slowest / times.b);
  const std::string what = times.tells_time ? "the program is" : "waits for memory are";
  const bool same = is_same_time(times.a - times.b, times.a);
  return "\nUnder the model, with A and with B " + what + " " + text +
         (times.tells_time ? " as fast as" : " shorter than") +
         " with everything in the slowest kind: " +
         (same ? "both take the same time"
               : "B " + saved_text(times.a - times.b, times.a) + " against A") +
         ". (Each change above: alone, from A on. Moves per region are not in it.)\n" +
         unnamed_text("A", times.unnamed_in_a) + unnamed_text("B", times.unnamed_in_b);
}

std::string moved_text(const Differences& made) {
  if (made.all.empty())
    return "Both place all " + std::to_string(made.objects) + " objects alike.\n";
  const std::size_t others = made.all.size() - made.objects_moved();
  return "\n" + std::to_string(made.objects_moved()) + " of " + std::to_string(made.objects) +
         " objects are placed differently" +
         (others > 0 ? "; while a region runs, or for what is not named: " +
                           std::to_string(others) + (others == 1 ? " difference" : " differences")
                     : "") +
         ".\n";
}

std::string diff_text(const DiffArguments& arguments, const Differences& made) {
  std::string text = "A: " + arguments.a + "\nB: " + arguments.b + "\n\n";
  for (const Difference& one : made.all) {
    text += "  " + one.label + when_text(one) +
            (one.bytes > 0 ? ", " + format_size(one.bytes) : "") + "\n          " + one.in_a +
            " -> " + one.in_b +
            (one.saves ? ": alone, " + saved_text(*one.saves, made.times->a) : "") + "\n";
    if (!one.reason.empty()) text += "          " + one.reason + "\n";
  }
  text += moved_text(made);
  return text + (made.times ? times_text(*made.times) : "");
}

using Json = nlohmann::ordered_json;

std::string diff_json(const Differences& made) {
  Json all = Json::array();
  const double threads = made.times ? made.times->threads : 1;
  const auto or_null = [](const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
  };
  const auto or_no_kind = [](const std::optional<MemoryKind>& kind) {
    return kind ? Json(name_of(*kind)) : Json(nullptr);
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
             {"unnamed_in",
              {{"a", or_no_kind(made.times->unnamed_in_a)},
               {"b", or_no_kind(made.times->unnamed_in_b)}}}};
  const Json whole = {{"version", 1},
                      {"objects", made.objects},
                      {"differences", std::move(all)},
                      {"predicted_time", std::move(times)}};
  return whole.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

int diff_plans(const DiffArguments& arguments) {
  const auto print = [&](const Differences& made) {
    return write_file("diff", "-", arguments.json ? diff_json(made) : diff_text(arguments, made));
  };
  const KindName name = arguments.json ? KindName(name_of) : KindName(title_of);
  if (arguments.profiles.empty()) {
    const auto a = read_plan(arguments.a), b = read_plan(arguments.b);
    for (const auto* plan : {&a, &b})
      if (!*plan) return fail("diff", 2, plan->error());
    return print(differences_of(*a, *b, name));
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
  const Workload workload = *workload_for(arguments, *input);
  auto in_a = placed_by_plan(*a, arguments.a, *input, workload);
  auto in_b = placed_by_plan(*b, arguments.b, *input, workload);
  for (const auto* placed : {&in_a, &in_b})
    if (!*placed) return fail("diff", 2, placed->error() + "; leave the profile out");
  print_limits("diff", arguments, *input, *whole);
  return print(differences_priced({*a, priced(*a, std::move(*in_a), input->tiers)},
                                  {*b, priced(*b, std::move(*in_b), input->tiers)}, *whole,
                                  input->tiers, name));
}

int diff_command(const DiffArguments& arguments) {
  const bool is_a = is_profile(arguments.a), is_b = is_profile(arguments.b);
  if (is_a != is_b) {
    const std::string &profile = is_a ? arguments.a : arguments.b,
                      &other = is_a ? arguments.b : arguments.a;
    const auto plan = read_plan(other);
    return fail("diff", 2,
                plan ? profile + " is a profile, " + other +
                           " a plan: give two plans, and behind them profiles, or two profiles"
                     : plan.error());
  }
  if (is_a && !arguments.profiles.empty())
    return fail("diff", 2, arguments.a + " is a profile: two profiles are compared, no more");
  if (is_a)
    return diff_profiles({arguments.a, arguments.b, arguments.page, arguments.pictures,
                          arguments.json, arguments.force, arguments.resolve});
  if (!arguments.page.empty())
    return fail("diff", 2, "--html: pictures are of two profiles, and these are plans");
  if (arguments.profiles.empty() && (arguments.force || arguments.resolve))
    return fail("diff", 2, "--force and --resolve are about profiles, and none was given");
  return diff_plans(arguments);
}

} // namespace

void add_diff(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand(
      "diff", "Compare two plans: what moves, and with a profile what it is worth; or two "
              "profiles: what changed");
  auto arguments = std::make_shared<DiffArguments>();
  command->add_option("a", arguments->a, "The first plan or profile")
      ->type_name("FILE")
      ->required();
  command->add_option("b", arguments->b, "The second plan or profile")
      ->type_name("FILE")
      ->required();
  add_advice_options(
      *command, *arguments,
      "Kinds to price, with bytes: dram:64M,nvm:16G (plans are not checked for room)");
  auto* profiles = command->get_option("profiles")->required(false);
  for (const char* option : {"--capacity", "--xml", "--nodes", "--machine", "--machine-file",
                             "--threads", "--keep", "--tuned"})
    command->get_option(option)->needs(profiles);
  auto* json =
      command->add_flag("--json", arguments->json, "The differences as JSON instead of text");
  command
      ->add_option("--html", arguments->page,
                   "Of two profiles: writes a page with pictures that a browser shows")
      ->type_name("FILE")
      ->excludes(json);
  arguments->pictures = pictures_folder(context.self);
  command->callback([&context, arguments] { context.status = diff_command(*arguments); });
}

} // namespace omptier
