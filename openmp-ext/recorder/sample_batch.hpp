// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Samples between their source and the log: for those in blocks that the log does not tell one by
// one, it is found out whose they were (live_blocks.hpp). That is done for some thousands at once,
// for the ended blocks are looked through once for all of them. Helper thread only.
#pragma once

#include "log/records.hpp"
#include "objects/pattern.hpp"
#include "recorder/live_blocks.hpp"

#include <mutex>

namespace omptier {

class SampleBatch {
public:
  static constexpr std::size_t k_most = 4096; // of samples, and of patterns

  // False: full (or no memory); resolve and clear first.
  bool add(const AccessSample& sample);
  bool add(const AccessPattern& pattern);

  // Fills in the places. lock covers blocks and is held for some microseconds at a time. Returns
  // the time before which nobody knows any more what was where: 0 = everything is known.
  static constexpr std::uint64_t k_unknown = ~std::uint64_t{0}; // nothing is: no memory
  std::uint64_t resolve(const LiveBlocks& blocks, std::mutex& lock);

  std::size_t samples() const { return samples_.size(); }
  const AccessSample& sample(std::size_t i) const { return samples_[i]; }
  const BlockPlace& place(std::size_t i) const { return questions_[i].place; }
  std::size_t patterns() const { return patterns_.size(); }
  const AccessPattern& pattern(std::size_t i) const { return patterns_[i]; }
  const BlockPlace& pattern_place(std::size_t i) const {
    return questions_[samples_.size() + 2 * i].place;
  }
  const BlockPlace& through_place(std::size_t i) const {
    return questions_[samples_.size() + 2 * i + 1].place;
  }
  void clear();

private:
  struct Question {
    std::uint64_t address, time;
    std::uint64_t ended; // of the block in `place`, as far as known; none: it is live
    BlockPlace place;
  };
  bool ask();
  void look_at(const LiveBlocks::Ended& ended);

  PageArray<AccessSample> samples_;
  PageArray<AccessPattern> patterns_;
  PageArray<Question> questions_;     // of samples, then two of each pattern
  PageArray<std::uint32_t> in_order_; // questions, by address
};

} // namespace omptier
