// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See areas.hpp. Of overlapping variables (aliases, Fortran's EQUIVALENCE) the largest counts.
#include "analysis/areas.hpp"

#include <algorithm>
#include <map>
#include <utility>

namespace omptier {
namespace {

class Adder {
public:
  Adder(Profile& profile, const StaticsOf& statics_of)
      : profile_(profile), statics_of_(statics_of) {
    for (std::size_t i = 0; i < profile.areas.size(); ++i)
      if (const AreaRecord& area = profile.areas[i]; area.kind == AreaKind::statics)
        statics_[{area.number, area.begin}] = i;
  }

  void add(const AreaRecord& area) {
    switch (area.kind) {
    case AreaKind::module:
      add_module(area);
      break;
    case AreaKind::statics: // with its module
      break;
    case AreaKind::stack:
      object(area, site_of(stacks_, SiteKind::stacks), area.address, area.bytes);
      break;
    case AreaKind::thread_data:
      object(area, site_of(stacks_, SiteKind::stacks), area.address, area.bytes);
      profile_.objects.back().allocator = ObjectRecord::k_rest;
      break;
    case AreaKind::heap:
      object(area, site_of(heap_, SiteKind::heap), area.address, area.bytes);
      break;
    }
  }

private:
  static constexpr std::uint32_t k_none = ~std::uint32_t{0};

  std::uint32_t new_site(SiteKind kind, std::vector<Frame> frames, std::string symbol = {}) {
    const auto site = static_cast<std::uint32_t>(profile_.sites.size());
    profile_.sites.push_back({site, std::move(frames), kind, std::move(symbol)});
    return site;
  }
  std::uint32_t site_of(std::uint32_t& known, SiteKind kind) {
    if (known == k_none) known = new_site(kind, {});
    return known;
  }

  void object(const AreaRecord& area, std::uint32_t site, std::uint64_t address,
              std::uint64_t bytes) {
    ObjectRecord object;
    object.time = std::max(area.begin, profile_.run.start_time);
    object.address = address;
    object.bytes = bytes;
    object.site = site;
    object.allocator = ObjectRecord::k_area;
    object.released = std::max(area.end, object.time);
    profile_.objects.push_back(object);
  }

  AreaRecord statics_in(const AreaRecord& module) const {
    const auto at = statics_.find({module.number, module.begin});
    if (at == statics_.end()) return {};
    const AreaRecord& area = profile_.areas[at->second];
    const bool inside = area.address >= module.address &&
                        area.address + area.bytes <= module.address + module.bytes;
    return inside ? area : AreaRecord();
  }

  std::vector<StaticVariable> variables_of(const AreaRecord& area) const {
    std::vector<StaticVariable> all, kept;
    const ModuleInfo& module = profile_.modules[area.number];
    if (statics_of_) all = statics_of_(module);
    std::erase_if(all, [&](const StaticVariable& variable) {
      const std::uint64_t begin = module.bias + variable.offset, end = begin + variable.bytes;
      return end < begin || begin < area.address || end > area.address + area.bytes;
    });
    std::ranges::sort(all, [](const StaticVariable& a, const StaticVariable& b) {
      return a.offset != b.offset ? a.offset < b.offset
             : a.bytes != b.bytes ? a.bytes > b.bytes
                                  : a.symbol < b.symbol;
    });
    for (StaticVariable& variable : all)
      if (kept.empty() || variable.offset >= kept.back().offset + kept.back().bytes)
        kept.push_back(std::move(variable));
    return kept;
  }

  void add_module(const AreaRecord& area) {
    const AreaRecord statics = statics_in(area);
    const std::uint64_t bias = profile_.modules[area.number].bias;
    const std::uint32_t rest = new_site(SiteKind::statics, {{area.number, 0}});
    const std::uint32_t constants = new_site(SiteKind::constants, {{area.number, 0}});
    std::uint64_t at = area.address;
    const auto fill = [&](std::uint64_t end, std::uint32_t site) {
      if (at < end) object(area, site, at, end - at);
      at = std::max(at, end);
    };
    const auto fill_gap = [&](std::uint64_t end) {
      fill(std::min(end, statics.address), constants);
      fill(std::min(end, statics.address + statics.bytes), rest);
      fill(end, constants);
    };
    for (const StaticVariable& variable : variables_of(area)) {
      fill_gap(bias + variable.offset);
      fill(at + variable.bytes,
           new_site(SiteKind::variable, {{area.number, variable.offset}}, variable.symbol));
    }
    fill_gap(area.address + area.bytes);
  }

  Profile& profile_;
  const StaticsOf& statics_of_;
  std::map<std::pair<std::uint32_t, std::uint64_t>, std::size_t> statics_; // by module and begin
  std::uint32_t stacks_ = k_none, heap_ = k_none;
};

} // namespace

void add_areas(Profile& profile, const StaticsOf& statics_of) {
  Adder adder(profile, statics_of);
  for (const AreaRecord& area : profile.areas)
    adder.add(area);
  std::ranges::stable_sort(profile.objects, {}, &ObjectRecord::time);
  for (std::size_t i = 0; i < profile.objects.size(); ++i)
    profile.objects[i].object = i;
}

} // namespace omptier
