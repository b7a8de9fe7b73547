// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the registers of an interrupted thread to the records of a profile: the access it waited for
// (its share of time) and the accesses of the loop it was in (their shares). Emulation costs as
// much as decoding some hundred instructions, so where many samples fall on one place only every
// eighth is emulated, with eightfold weight, all within a budget. Helper thread only.
#pragma once

#include "emulation/loop_accesses.hpp"
#include "emulation/loop_pace.hpp"
#include "sampling/blame.hpp"
#include "sampling/emulation_budget.hpp"
#include "sampling/source.hpp"

#include "base/os.hpp"

namespace omptier {

class RegisterDecoder {
public:
  RegisterDecoder(bool sharp, double period)
      : blamer_(sharp, period), loops_(blamer_.functions()),
        budget_(monotonic_nanoseconds(), k_usual_period / period) {}
  RegisterDecoder(const RegisterDecoder&) = delete;
  RegisterDecoder& operator=(const RegisterDecoder&) = delete;

  // To be called once per drain.
  void refresh() {
    blamer_.refresh();
    budget_.update(monotonic_nanoseconds());
  }
  void decode(const RegisterSample& sample, SampleSink& sink) {
    // Before blame: it finds the path to the sample.
    const std::span<const AccessPattern> patterns = emulate(sample);
    AccessSample access = blamer_.blame(sample);
    if (access.kind != AccessKind::unknown && access.address == 0) {
      const std::uint64_t begin = own_cpu_nanoseconds();
      access.address = loops_.next_address(sample, access.pc, sample.time);
      budget_.spend(own_cpu_nanoseconds() - begin, 0);
    }
    const bool is_programs = blamer_.watch(access);
    for (const AddressReuse& reuse : blamer_.take_reuses())
      sink.reuse(reuse);
    earlier_.keep(sample);
    if (!is_programs) return;
    sink.sample(access);
    for (const AccessPattern& pattern : patterns)
      sink.pattern(pattern);
  }
  const LoopCounts& counts() const { return counts_; }

private:
  std::span<const AccessPattern> emulate(const RegisterSample& sample) {
    if (seen_.size() >= k_places_kept) seen_.clear();
    const std::uint32_t before = seen_[sample.pc]++;
    const bool often = before >= k_each_up_to;
    if (often && before % k_of_often != 0) {
      ++counts_.alike;
      return {};
    }
    const std::uint64_t of = budget_.weight_of_next();
    ++(of == 0 ? counts_.left_out : counts_.emulated);
    if (of == 0) return {};
    const std::uint64_t begin = own_cpu_nanoseconds();
    const auto stands_for = static_cast<double>(often ? k_of_often * of : of);
    const auto patterns =
        loops_.of(sample, blamer_.weight(sample) * stands_for, earlier_.before(sample));
    budget_.spend(own_cpu_nanoseconds() - begin, 1);
    return patterns;
  }

  static constexpr double k_usual_period = 1e7; // nanoseconds: 100 Hz
  static constexpr std::uint32_t k_each_up_to = 32, k_of_often = 8;
  static constexpr std::size_t k_places_kept = 1 << 14;
  Blamer blamer_;
  LoopAccesses loops_;
  SamplesBefore earlier_;
  EmulationBudget budget_;
  LoopCounts counts_;
  std::unordered_map<std::uint64_t, std::uint32_t> seen_; // by pc
};

} // namespace omptier
