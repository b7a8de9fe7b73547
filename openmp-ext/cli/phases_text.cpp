// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See phases_text.hpp. Stretches are indented under the region that they divide, and add up to it.
// Named phases have a table of their own: they and regions are two views of one run.
#include "cli/phases_text.hpp"

#include "base/text.hpp"
#include "cli/share_cells.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

namespace omptier {
namespace {

using Kind = PhaseSummary::Kind;

constexpr std::size_t k_most_stretches = 8; // rows under one region
constexpr std::size_t k_most_objects = 3;
constexpr double k_largest_hot_part = 0.5; // of an object, to be shown
constexpr double k_least_shown = 0.0005;   // share of a stretch

// Drops places in the source unless that would give two objects one name.
std::vector<std::string> short_names(const std::vector<std::string>& names) {
  std::vector<std::string> list;
  std::map<std::string, unsigned> count;
  for (const std::string& name : names)
    ++count[list.emplace_back(name.substr(0, name.rfind(" (")))];
  for (std::size_t i = 0; i < names.size(); ++i)
    if (count[list[i]] > 1) list[i] = names[i];
  return list;
}

class PhaseTables {
public:
  PhaseTables(const ProfileSummary& summary, const ProfileNames& names,
              const ProfileTextOptions& options)
      : summary_(summary), names_(names), options_(options), objects_(short_names(names.sites)) {}

  std::string text() { return (options_.region.empty() ? named() : "") + regions(); }
  std::string objects_of_region(std::uint32_t number) const {
    return objects(&SiteSummary::by_region, {number}, summary_.regions[number].accesses.total());
  }

private:
  std::vector<TableColumn> columns(const char* what) const {
    using Align = TableColumn::Align;
    std::vector<TableColumn> list = share_columns(summary_, what);
    list.insert(list.end(), {{"time", Align::right, 2},
                             {"entries", Align::right, 3},
                             {"threads", Align::right, 5},
                             {"most accessed objects", Align::left, 1,
                              TableColumn::Cut::end}});
    return list;
  }

  TableRow line(const Share& share, double nanoseconds, std::uint64_t entries,
                std::uint32_t threads, const std::string& name, const std::string& objects) const {
    TableRow cells = share_cells(summary_, name, share, options_.look());
    cells.push_back(nanoseconds > 0 ? format_duration(nanoseconds) : "-");
    cells.push_back(entries > 0 ? with_separators(entries) : "-");
    cells.push_back(threads > 0 ? std::to_string(threads) : "-");
    cells.push_back(objects.empty() ? "-" : objects);
    return cells;
  }

  static double hot_part(const SitePart& part, const SiteSummary& site) {
    if (part.hot_part) return *part.hot_part;
    return site.objects == 1 ? fraction_of(part.offsets.hot_ranges()) : 0;
  }

  // "a 62.0 % (in 12 % of it), b 20.1 %". numbers: of phases or regions; weight: all of theirs.
  std::string objects(std::vector<SitePart> SiteSummary::* parts,
                      const std::vector<std::uint32_t>& numbers, double weight) const {
    struct Object {
      std::size_t site;
      double weight, heaviest;
      const SitePart* part; // the heaviest
    };
    std::vector<Object> hottest;
    for (std::size_t site = 0; site < summary_.sites.size(); ++site) {
      Object object{site, 0, 0, nullptr};
      for (const SitePart& part : summary_.sites[site].*parts) {
        if (std::ranges::find(numbers, part.of) == numbers.end()) continue;
        object.weight += part.accesses.total();
        if (object.part != nullptr && part.accesses.total() <= object.heaviest) continue;
        object.part = &part;
        object.heaviest = part.accesses.total();
      }
      if (object.part != nullptr) hottest.push_back(object);
    }
    std::ranges::stable_sort(hottest, std::greater{}, &Object::weight);
    std::string text;
    for (std::size_t i = 0; i < std::min(k_most_objects, hottest.size()); ++i) {
      const Object& object = hottest[i];
      text += (i == 0 ? "" : ", ") + objects_[object.site] + " " +
              format_percent(weight > 0 ? object.weight / weight : 0);
      const double hot = hot_part(*object.part, summary_.sites[object.site]);
      if (hot > 0 && hot < k_largest_hot_part)
        text += " (in " + std::to_string(std::lround(100 * hot)) + " % of it)";
    }
    return text;
  }

  // Phases of one name are one: a compiler may have made two calls for one barrier.
  using Group = std::vector<std::uint32_t>;

  TableRow line_of(const Group& group, const std::string& indent, bool alone = false) const {
    PhaseSummary all;
    for (const std::uint32_t number : group) {
      const PhaseSummary& phase = summary_.phases[number];
      all.share += phase.share;
      all.nanoseconds += phase.nanoseconds;
      all.entries += phase.entries;
      all.accesses += phase.accesses;
    }
    return line(all.share, double(all.nanoseconds), all.entries, 0,
                indent + names_.phases[group.front()],
                alone ? "" // the line above has them
                      : objects(&SiteSummary::by_phase, group, all.accesses.total()));
  }

  template <typename Wanted> std::vector<Group> groups(Wanted&& wanted) const {
    std::vector<std::uint32_t> list;
    for (std::uint32_t i = 0; i < summary_.phases.size(); ++i)
      if (wanted(summary_.phases[i])) list.push_back(i);
    std::ranges::stable_sort(list, [&](std::uint32_t a, std::uint32_t b) {
      const PhaseSummary &one = summary_.phases[a], &other = summary_.phases[b];
      return one.share.value != other.share.value ? one.share.value > other.share.value
                                                  : one.nanoseconds > other.nanoseconds;
    });
    std::vector<Group> groups;
    for (const std::uint32_t phase : list) {
      const auto same = std::ranges::find_if(groups, [&](const Group& group) {
        return names_.phases[group.front()] == names_.phases[phase];
      });
      if (same == groups.end())
        groups.push_back({phase});
      else
        same->push_back(phase);
    }
    return groups;
  }

  std::string named() const {
    const std::vector<Group> list =
        groups([](const PhaseSummary& phase) { return phase.kind == Kind::named; });
    if (list.empty()) return "";
    std::vector<TableRow> rows;
    for (const Group& phase : list)
      if (rows.size() < options_.most_regions) rows.push_back(line_of(phase, ""));
    return "\n" +
           whole_table(columns("phase, as the program names it"), rows, options_.look()) +
           more(list.size(), options_.most_regions, "phases");
  }

  static std::string more(std::size_t all, std::size_t shown, const char* what) {
    return all > shown ? "  … " + std::to_string(all - shown) + " more " + what + "\n" : "";
  }

  double least_shown() const { return std::max(k_least_shown, options_.minimum.value_or(0)); }

  std::vector<Group> stretches_of(std::size_t region) const {
    std::vector<Group> list = groups([&](const PhaseSummary& phase) {
      if (phase.kind == Kind::named || (summary_.samples > 0 && phase.share.value < least_shown()))
        return false;
      return phase.kind == Kind::serial ? region == 0 : phase.region == region;
    });
    if (list.size() == 1 && region != 0) list.clear(); // it is the region
    return list;
  }

  void add_region(std::size_t number, std::vector<TableRow>& rows) const {
    const RegionSummary& region = summary_.regions[number];
    auto nanoseconds = double(region.nanoseconds);
    for (const PhaseSummary& phase : summary_.phases)
      if (number == 0 && phase.kind == Kind::serial) nanoseconds += double(phase.nanoseconds);
    rows.push_back(line(region.share, nanoseconds, region.entries, region.threads,
                        names_.regions[number],
                        objects_of_region(static_cast<std::uint32_t>(number))));
    const std::vector<Group> stretches = stretches_of(number);
    Share rest;
    for (std::size_t i = 0; i < stretches.size(); ++i)
      if (i < k_most_stretches)
        rows.push_back(line_of(stretches[i], "  ", stretches.size() == 1));
      else
        for (const std::uint32_t phase : stretches[i])
          rest += summary_.phases[phase].share;
    if (stretches.size() <= k_most_stretches) return;
    const std::size_t others = stretches.size() - k_most_stretches;
    rows.push_back(line(rest, 0, 0, 0, "  " + std::to_string(others) + " more", ""));
  }

  std::string regions() const {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < summary_.regions.size(); ++i)
      if ((summary_.regions[i].samples > 0 || summary_.regions[i].entries > 0) &&
          summary_.regions[i].share.value >= options_.minimum.value_or(0))
        order.push_back(i);
    if (order.empty() || (order.size() == 1 && order[0] == 0)) return "";
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
      const RegionSummary &one = summary_.regions[a], &other = summary_.regions[b];
      return one.share.value != other.share.value ? one.share.value > other.share.value
                                                  : one.nanoseconds > other.nanoseconds;
    });
    std::vector<TableRow> rows;
    for (std::size_t i = 0; i < std::min(order.size(), options_.most_regions); ++i)
      add_region(order[i], rows);
    return "\n" + whole_table(columns("region"), rows, options_.look()) +
           more(order.size(), options_.most_regions, "regions");
  }

  const ProfileSummary& summary_;
  const ProfileNames& names_;
  const ProfileTextOptions& options_;
  std::vector<std::string> objects_; // names
};

} // namespace

std::string phases_text(const ProfileSummary& summary, const ProfileNames& names,
                        const ProfileTextOptions& options) {
  return PhaseTables(summary, names, options).text();
}

std::string most_accessed(const ProfileSummary& summary, const ProfileNames& names,
                          std::uint32_t region) {
  return PhaseTables(summary, names, {}).objects_of_region(region);
}

} // namespace omptier
