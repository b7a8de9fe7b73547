// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the registers of an interrupted thread to the records of a profile: the access it waited for
// (its share of time) and the accesses of the loop it was in (their shares). Emulation costs as
// much as decoding some hundred instructions, so where many samples fall on one place only every
// eighth is emulated, with eightfold weight. Helper thread only.
#pragma once

#include "emulation/loop_accesses.hpp"
#include "emulation/loop_pace.hpp"
#include "sampling/blame.hpp"
#include "sampling/source.hpp"

namespace omptier {

class RegisterDecoder {
public:
  RegisterDecoder(bool sharp, double period)
      : blamer_(sharp, period), loops_(blamer_.functions()) {}
  RegisterDecoder(const RegisterDecoder&) = delete;
  RegisterDecoder& operator=(const RegisterDecoder&) = delete;

  void refresh() { blamer_.refresh(); }
  void decode(const RegisterSample& sample, SampleSink& sink) {
    if (seen_.size() >= k_places_kept) seen_.clear();
    const std::uint32_t before = seen_[sample.pc]++;
    const bool often = before >= k_each_up_to;
    std::span<const AccessPattern> patterns; // before blame: it finds the path to the sample
    if (!often || before % k_of_often == 0)
      patterns = loops_.of(sample, blamer_.weight(sample) * (often ? k_of_often : 1),
                           earlier_.before(sample));
    AccessSample access = blamer_.blame(sample);
    if (access.kind != AccessKind::unknown && access.address == 0)
      access.address = loops_.next_address(sample, access.pc, sample.time);
    blamer_.watch(access);
    sink.sample(access);
    for (const AccessPattern& pattern : patterns)
      sink.pattern(pattern);
    earlier_.keep(sample);
  }
  const Blamer& blamer() const { return blamer_; }

private:
  static constexpr std::uint32_t k_each_up_to = 32, k_of_often = 8;
  static constexpr std::size_t k_places_kept = 1 << 14;
  Blamer blamer_;
  LoopAccesses loops_;
  SamplesBefore earlier_;
  std::unordered_map<std::uint64_t, std::uint32_t> seen_; // by pc
};

} // namespace omptier
