// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Samples between their source and the log: for those in blocks that the log does not tell one by
// one, it is found out whose they were (live_blocks.hpp). That is done for some thousands at once,
// for the ended blocks are looked through once for all of them. Helper thread only.
#pragma once

#include "borders/malloc_record.h"
#include "log/records.hpp"
#include "recorder/live_blocks.hpp"

#include <mutex>

namespace omptier {

class SampleBatch {
public:
  static constexpr std::size_t k_most = 4096; // samples; patterns, but for those of one sample

  // False: full (or no memory); resolve and clear first.
  bool add(const AccessSample& sample);
  // Of the sample that was added last; lost where there is no memory, as is the next.
  void add(const AccessPattern& pattern);

  void add(const AddressReuse& reuse);

  // Fills in the places. lock covers blocks and is held for some microseconds at a time. Returns
  // the time before which nobody knows any more what was where: 0 = everything is known.
  static constexpr std::uint64_t k_unknown = ~std::uint64_t{0}; // nothing is: no memory
  // spans: where small blocks lie that have spans of their own; null: none do.
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
