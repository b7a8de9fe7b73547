// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds the blocks of samples that are not logged one by one (live_blocks.hpp), for thousands of
// samples at a time, so that ended blocks are searched once. Helper thread only.
#pragma once

#include "borders/malloc_record.h"
#include "log/records.hpp"
#include "recorder/live_blocks.hpp"

#include <mutex>

namespace omptier {

class SampleResolver {
public:
  static constexpr std::size_t k_most = 4096; // samples; patterns, but for those of one sample

  // False: full (or no memory); call resolve and clear first.
  bool add(const AccessSample& sample);
  // For the sample added last; dropped if memory is short, and so is the next one.
  void add(const AccessPattern& pattern);

  void add(const AddressReuse& reuse);

  // Fills in the places. lock covers blocks and is held for some microseconds at a time. Returns
  // the time before which blocks are unknown; 0: all are known.
  static constexpr std::uint64_t k_unknown = ~std::uint64_t{0}; // all are: no memory
  // spans: contain the small blocks that have spans of their own; null: there are none.
  std::uint64_t resolve(const LiveBlocks& blocks, std::mutex& lock,
                        const omptier_small_spans* spans = nullptr);

  std::span<const LoggedSample> samples() const { return samples_.all(); }
  std::span<const LoggedPattern> patterns_of(const LoggedSample& sample) const {
    return patterns_.all().subspan(sample.first_pattern, sample.patterns);
  }
  std::span<const LoggedReuse> reuses() const { return reuses_.all(); }
  void clear();

private:
  struct Question {
    std::uint64_t address, time;
    std::uint64_t ended; // of the block in `place`, as far as known; none: it is live
    BlockPlace* place;
  };
  bool ask();
  void look_at(const LiveBlocks::Ended& ended);

  PageArray<LoggedSample> samples_;
  PageArray<LoggedPattern> patterns_;
  PageArray<LoggedReuse> reuses_;
  PageArray<Question> questions_; // by address
};

} // namespace omptier
