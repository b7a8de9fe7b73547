// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See sample_resolver.hpp. Live blocks are searched first, then those that ended by that time: a
// block that ends in between is found twice, never missed.
#include "recorder/sample_resolver.hpp"

#include <algorithm>

namespace omptier {
namespace {

constexpr std::uint64_t k_live = ~std::uint64_t{0};
constexpr std::uint64_t k_ended_at_a_time = 256;

BlockPlace place_in(const LiveBlock& block, std::uint64_t address) {
  if (block.logged) return {}; // the log's reader finds it
  return {block.site, address - block.address, block.bytes};
}

} // namespace

bool SampleResolver::add(const AccessSample& sample) {
  return samples_.size() < k_most && patterns_.size() < k_most &&
         samples_.add({sample, {}, static_cast<std::uint32_t>(patterns_.size()), 0});
}

void SampleResolver::add(const AccessPattern& pattern) {
  if (!samples_.empty() && patterns_.add({pattern, {}, {}}))
    ++samples_[samples_.size() - 1].patterns;
}

void SampleResolver::add(const AddressReuse& reuse) {
  reuses_.add({reuse, {}});
}

void SampleResolver::clear() {
  samples_.clear();
  reuses_.clear();
  patterns_.clear();
  questions_.clear();
}

bool SampleResolver::ask() {
  questions_.clear();
  const auto add = [&](std::uint64_t address, std::uint64_t time, BlockPlace& place) {
    return address == 0 || questions_.add({address, time, k_live, &place});
  };
  bool good = true;
  for (LoggedSample& sample : samples_)
    good = good && add(sample.address, sample.time, sample.place);
  for (LoggedPattern& pattern : patterns_)
    good = good && add(pattern.address, pattern.time, pattern.place) &&
           add(pattern.through, pattern.time, pattern.through_place);
  for (LoggedReuse& reuse : reuses_)
    good = good && add(reuse.address, reuse.time, reuse.place);
  std::ranges::sort(questions_.all(), {}, &Question::address);
  return good;
}

void SampleResolver::look_at(const LiveBlocks::Ended& ended) {
  const auto all = questions_.all();
  Question* at = std::ranges::lower_bound(all, ended.block.address, {}, &Question::address).base();
  for (; at != questions_.end() && ended.block.holds(at->address); ++at) {
    if (at->time > ended.time || ended.time >= at->ended) continue;
    at->ended = ended.time;
    *at->place = place_in(ended.block, at->address);
  }
}

std::uint64_t SampleResolver::resolve(const LiveBlocks& blocks, std::mutex& lock,
                                   const omptier_small_spans* spans) {
  if (!ask()) return k_unknown;
  std::uint64_t oldest = k_live;
  for (const Question& question : questions_) {
    oldest = std::min(oldest, question.time);
    if (omptier_small_place in_span{};
        spans != nullptr && spans->find(question.address, question.time, &in_span) > 0) {
      *question.place = {in_span.site, in_span.offset, in_span.bytes};
      continue;
    }
    LiveBlock block;
    const std::lock_guard<std::mutex> guard(lock);
    if (blocks.find(question.address, block)) *question.place = place_in(block, question.address);
  }
  std::unique_lock<std::mutex> guard(lock);
  std::uint64_t next = blocks.next_ended();
  for (std::uint64_t looked = 0;; ++looked) {
    if (looked % k_ended_at_a_time == k_ended_at_a_time - 1) {
      guard.unlock();
      guard.lock();
    }
    if (next == 0) return 0;
    if (next <= blocks.oldest_ended()) // the ring was overwritten: what ended before is not known
      return blocks.ended(blocks.oldest_ended()).time;
    const LiveBlocks::Ended ended = blocks.ended(--next);
    if (ended.time < oldest) return 0;
    look_at(ended);
  }
}

} // namespace omptier
