// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See sample_batch.hpp. What is live is asked first, then what has ended by that time: a block that
// ends in between is found twice, never missed.
#include "recorder/sample_batch.hpp"

#include <algorithm>

namespace omptier {
namespace {

constexpr std::uint64_t k_live = ~std::uint64_t{0};
constexpr std::uint64_t k_ended_at_a_time = 256;

BlockPlace place_in(const LiveBlock& block, std::uint64_t address) {
  if (block.told) return {}; // the log's reader finds it
  return {block.site, address - block.address, block.bytes};
}

} // namespace

bool SampleBatch::add(const AccessSample& sample) {
  return samples_.size() < k_most && samples_.add(sample);
}

bool SampleBatch::add(const AccessPattern& pattern) {
  return patterns_.size() < k_most && patterns_.add(pattern);
}

void SampleBatch::clear() {
  samples_.clear();
  patterns_.clear();
  questions_.clear();
}

bool SampleBatch::ask() {
  questions_.clear();
  in_order_.clear();
  bool good = true;
  for (const AccessSample& sample : samples_)
    good = good && questions_.add({sample.address, sample.time, k_live, {}});
  for (const AccessPattern& pattern : patterns_)
    for (const std::uint64_t address : {pattern.address, pattern.through})
      good = good && questions_.add({address, pattern.time, k_live, {}});
  for (std::uint32_t i = 0; good && i < questions_.size(); ++i)
    if (questions_[i].address != 0) good = in_order_.add(i);
  std::ranges::sort(in_order_.all(), {}, [&](std::uint32_t i) { return questions_[i].address; });
  return good;
}

void SampleBatch::look_at(const LiveBlocks::Ended& ended) {
  const auto* at =
      std::ranges::lower_bound(in_order_.all(), ended.block.address, {}, [&](std::uint32_t i) {
        return questions_[i].address;
      }).base();
  for (; at != in_order_.end() && ended.block.holds(questions_[*at].address); ++at) {
    Question& question = questions_[*at];
    if (question.time > ended.time || ended.time >= question.ended) continue;
    question.ended = ended.time;
    question.place = place_in(ended.block, question.address);
  }
}

std::uint64_t SampleBatch::resolve(const LiveBlocks& blocks, std::mutex& lock) {
  if (!ask()) return k_unknown;
  std::uint64_t oldest = k_live;
  for (const std::uint32_t i : in_order_) {
    Question& question = questions_[i];
    oldest = std::min(oldest, question.time);
    LiveBlock block;
    const std::lock_guard<std::mutex> guard(lock);
    if (blocks.find(question.address, block)) question.place = place_in(block, question.address);
  }
  std::unique_lock<std::mutex> guard(lock);
  std::uint64_t next = blocks.next_ended();
  for (std::uint64_t looked = 0;; ++looked) {
    if (looked % k_ended_at_a_time == k_ended_at_a_time - 1) {
      guard.unlock();
      guard.lock();
    }
    if (next == 0) return 0;
    if (next <= blocks.oldest_ended()) // gone round: what ended before this is not known
      return blocks.ended(blocks.oldest_ended()).time;
    const LiveBlocks::Ended ended = blocks.ended(--next);
    if (ended.time < oldest) return 0;
    look_at(ended);
  }
}

} // namespace omptier
