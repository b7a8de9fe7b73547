// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See blocks.hpp. All blocks of a site, one after the other in order of time, form a line of length
// 1. The line is cut into equal parts, finer and finer, and into its blocks. Too coarse or too fine
// a cut only enlarges the hot part, so the smallest counts.
#include "analysis/blocks.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

namespace omptier {
namespace {

constexpr double k_nearly_all = 0.9;        // of the samples
constexpr std::size_t k_least_to_tell = 64; // samples, to speak of a hot part or hot blocks
constexpr std::size_t k_fewest_parts = 8, k_most_parts = 256;
constexpr std::size_t k_least_in_a_part = 4;
constexpr double k_most_unknown = 0.1; // of the samples may lie in unknown blocks
constexpr double k_few_are_hot = 0.5;  // of a site's memory: the most that hot blocks may have
constexpr double k_as_hot = 0.25;      // of the hot blocks' samples per byte: hot, too

// Pseudo-random, because samples that alternate must not all be in one half; the same in each run.
unsigned half_of(std::size_t sample) {
  std::uint64_t mixed = (sample + 1) * 0xbf58476d1ce4e5b9u;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
  return static_cast<unsigned>(mixed >> 63);
}

// A part of the line, with the weight of each half of the samples.
struct Part {
  double size = 0;
  std::array<double, 2> weights{};

  double density(unsigned half) const { return weights[half] / size; }
};

// Part of the line with k_nearly_all of half `judge`'s weight, in the order of half `order`.
double hot_size(std::vector<Part>& parts, unsigned order, unsigned judge) {
  std::ranges::sort(parts, [&](const Part& one, const Part& other) {
    return one.density(order) > other.density(order);
  });
  double all = 0, held = 0, size = 0;
  for (const Part& part : parts)
    all += part.weights[judge];
  for (std::size_t begin = 0, end = 0; begin < parts.size(); begin = end) {
    Part alike; // no order among them is known
    do {
      alike.size += parts[end].size;
      alike.weights[judge] += parts[end].weights[judge];
      ++end;
    } while (end < parts.size() && parts[end].density(order) == parts[begin].density(order));
    if (held + alike.weights[judge] >= k_nearly_all * all && alike.weights[judge] > 0)
      return size + alike.size * (k_nearly_all * all - held) / alike.weights[judge];
    held += alike.weights[judge];
    size += alike.size;
  }
  return size;
}

double hot_size(std::vector<Part> parts) {
  return (hot_size(parts, 0, 1) + hot_size(parts, 1, 0)) / 2;
}

struct Sample {
  std::uint32_t block = 0, region = 0; // index among the site's blocks
  double weight = 0, position = 0;     // in the block, as a fraction; below 0: not known
};

class SiteBlocks {
public:
  void add_block(const ObjectRecord& object, std::uint64_t end) {
    const std::uint64_t life = end - std::min(end, object.time);
    const double size = double(std::max<std::uint64_t>(object.bytes, 1)) * double(life + 1);
    objects_.push_back(&object);
    begins_.push_back(begins_.empty() ? 0 : begins_.back() + sizes_.back());
    sizes_.push_back(size);
    by_one_thread_ = by_one_thread_ && object.thread == objects_.front()->thread;
    whole_ = whole_ && object.allocator != ObjectRecord::k_rest;
  }
  void add_sample(const Sample& sample) { samples_.push_back(sample); }
  void add_unknown(double weight) { unknown_ += weight; }

  std::uint32_t size() const { return static_cast<std::uint32_t>(objects_.size()); }

  std::optional<double> hot_part(std::optional<std::uint32_t> region = {}) const {
    std::vector<Sample> placed;
    for (const Sample& sample : samples_)
      if (sample.position >= 0 && (!region || sample.region == *region)) placed.push_back(sample);
    if (placed.size() < k_least_to_tell || !are_known()) return {};
    double least = blocks_hold(placed);
    for (std::size_t parts = k_fewest_parts;
         parts <= k_most_parts && parts * k_least_in_a_part <= placed.size(); parts *= 2)
      least = std::min(least, parts_hold(placed, parts));
    return least;
  }

  std::vector<std::uint32_t> regions() const {
    std::vector<std::uint32_t> found;
    for (const Sample& sample : samples_)
      found.push_back(sample.region);
    std::ranges::sort(found);
    const auto repeats = std::ranges::unique(found);
    found.erase(repeats.begin(), repeats.end());
    return found;
  }

  void tell(SiteInProfile& site, std::uint64_t start, std::uint64_t end) const {
    site.instances = instances(start, end);
    site.blocks = site.instances.size();
    site.blocks_by_one_thread = by_one_thread_ && whole_ && unknown_ == 0;
    site.sampled_weight = unknown_;
    for (const Sample& sample : samples_)
      site.sampled_weight += sample.weight;
    if (site.blocks > 1 && samples_.size() >= k_least_to_tell && are_known() &&
        blocks_hold(samples_) <= k_few_are_hot)
      site.hot_blocks = hot_blocks(site.instances);
    keep_most(site.instances);
  }

private:
  bool are_known() const {
    double known = 0;
    for (const Sample& sample : samples_)
      known += sample.weight;
    return unknown_ <= k_most_unknown * (known + unknown_);
  }
  double length() const { return begins_.back() + sizes_.back(); }

  double parts_hold(const std::vector<Sample>& samples, std::size_t count) const {
    std::vector<Part> parts(count, {1 / double(count)});
    for (std::size_t i = 0; i < samples.size(); ++i) {
      const Sample& sample = samples[i];
      const double at =
          (begins_[sample.block] + sample.position * sizes_[sample.block]) / length();
      const auto part = std::min(static_cast<std::size_t>(at * double(count)), count - 1);
      parts[part].weights[half_of(i)] += sample.weight;
    }
    return hot_size(std::move(parts));
  }

  double blocks_hold(const std::vector<Sample>& samples) const {
    std::map<std::uint32_t, Part> sampled;
    for (std::size_t i = 0; i < samples.size(); ++i) {
      Part& part = sampled[samples[i].block];
      part.size = sizes_[samples[i].block] / length();
      part.weights[half_of(i)] += samples[i].weight;
    }
    std::vector<Part> parts;
    double rest = 1;
    for (const auto& [block, part] : sampled) {
      parts.push_back(part);
      rest -= part.size;
    }
    if (sampled.size() < objects_.size() && rest > 0) parts.push_back({rest});
    return hot_size(std::move(parts));
  }

  // Pieces of one mapping count as one block.
  std::vector<InstanceSummary> instances(std::uint64_t start, std::uint64_t run_end) const {
    std::vector<InstanceSummary> list;
    std::vector<std::size_t> place(objects_.size());
    const auto relative = [&](std::uint64_t time) { return time - std::min(time, start); };
    for (std::size_t i = 0; i < objects_.size(); ++i) {
      const ObjectRecord& object = *objects_[i];
      const std::uint64_t end = relative(std::min(object.released, run_end));
      if (list.empty() || list.back().instance != object.instance)
        list.push_back({object.instance,
                        relative(object.time),
                        end,
                        object.bytes,
                        0,
                        0,
                        {},
                        object.address,
                        object.released == ObjectRecord::k_never});
      InstanceSummary& block = list.back();
      block.end = std::max(block.end, end);
      block.bytes = std::max(block.bytes, object.bytes);
      place[i] = list.size() - 1;
    }
    for (const Sample& sample : samples_) {
      InstanceSummary& block = list[place[sample.block]];
      ++block.samples;
      block.weight += sample.weight;
      const auto at = std::ranges::find(block.by_region, sample.region, &RegionWeight::region);
      if (at != block.by_region.end())
        at->weight += sample.weight;
      else
        block.by_region.push_back({sample.region, sample.weight});
    }
    return list;
  }

  static double density(const InstanceSummary& block) {
    const double life = double(block.end - std::min(block.end, block.begin)) + 1;
    return block.weight / (double(std::max<std::uint64_t>(block.bytes, 1)) * life);
  }

  // The fewest blocks that hold k_nearly_all of the weight, and those about as hot.
  static std::vector<std::uint32_t> hot_blocks(const std::vector<InstanceSummary>& blocks) {
    std::vector<const InstanceSummary*> order;
    double all = 0;
    for (const InstanceSummary& block : blocks) {
      if (block.weight > 0) order.push_back(&block);
      all += block.weight;
    }
    std::ranges::stable_sort(order, [](const auto* one, const auto* other) {
      return density(*one) > density(*other);
    });
    std::vector<std::uint32_t> hot;
    double held = 0, densities = 0; // the latter by weight
    for (const InstanceSummary* block : order) {
      if (held >= k_nearly_all * all && density(*block) * held < k_as_hot * densities) break;
      held += block->weight;
      densities += block->weight * density(*block);
      hot.push_back(block->instance);
    }
    std::ranges::sort(hot);
    return hot;
  }

  static void keep_most(std::vector<InstanceSummary>& blocks) {
    if (blocks.size() <= k_instances_kept) return;
    std::nth_element(blocks.begin(), blocks.begin() + k_instances_kept, blocks.end(),
                     [](const InstanceSummary& a, const InstanceSummary& b) {
                       return a.weight != b.weight ? a.weight > b.weight
                              : a.bytes != b.bytes ? a.bytes > b.bytes
                                                   : a.instance < b.instance;
                     });
    blocks.resize(k_instances_kept);
    std::ranges::sort(blocks, {}, &InstanceSummary::instance);
  }

  std::vector<const ObjectRecord*> objects_;
  std::vector<double> begins_, sizes_; // on the line, by block
  std::vector<Sample> samples_;        // in order of time
  double unknown_ = 0;                 // weight of samples in blocks that are only counted
  bool by_one_thread_ = true, whole_ = true;
};

} // namespace

void measure_blocks(const Profile& profile, std::span<const std::uint32_t> site_numbers,
                    const std::vector<Attribution>& attributions,
                    std::vector<SiteInProfile>& sites, std::vector<SiteSummary>& summaries) {
  std::vector<SiteBlocks> blocks(sites.size());
  std::vector<std::uint32_t> place(profile.objects.size()); // among the site's
  for (const ObjectRecord& object : profile.objects) {
    SiteBlocks& site = blocks[site_numbers[object.site]];
    place[object.object] = site.size();
    site.add_block(object, std::min(object.released, profile.last_time));
  }
  for (const Attribution& at : attributions) {
    if (at.site >= sites.size() || !std::isfinite(at.weight) || at.weight < 0) continue;
    if (at.object == Place::k_none)
      blocks[at.site].add_unknown(double{at.weight});
    else
      blocks[at.site].add_sample(
          {place[at.object], at.region, double{at.weight}, double{at.position}});
  }
  // An exact source gives one address for all accesses of an instruction between two readings.
  const bool has_places = profile.run.source != "exact";
  for (std::size_t i = 0; i < sites.size(); ++i) {
    const SiteKind kind = summaries[i].kind;
    if (blocks[i].size() == 0 || !has_bytes(kind) || kind == SiteKind::runtime) continue;
    if (kind == SiteKind::allocation || kind == SiteKind::mapping)
      blocks[i].tell(sites[i], profile.run.start_time, profile.last_time);
    if (!has_places) continue;
    sites[i].hot_part = blocks[i].hot_part();
    for (const std::uint32_t region : blocks[i].regions())
      for (SitePart& part : summaries[i].by_region)
        if (part.of == region && !part.hot_part) part.hot_part = blocks[i].hot_part(region);
  }
}

std::string blocks_in_words(std::span<const std::uint32_t> numbers) {
  constexpr std::size_t k_most = 6; // ranges
  std::string text = numbers.size() == 1 ? "block " : "blocks ";
  std::size_t ranges = 0;
  for (std::size_t begin = 0, end = 0; begin < numbers.size(); begin = end) {
    for (end = begin + 1; end < numbers.size() && numbers[end] == numbers[end - 1] + 1; ++end) {}
    if (ranges++ == k_most) return text + ", …";
    text += (begin > 0 ? ", " : "") + std::to_string(numbers[begin]);
    if (end - begin == 2) text += ", " + std::to_string(numbers[end - 1]);
    if (end - begin > 2) text += " to " + std::to_string(numbers[end - 1]);
  }
  return text;
}

} // namespace omptier
