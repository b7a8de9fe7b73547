// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The helper thread's part of the recorder: takes samples from their source. The larger the log,
// the fewer are kept (log/budget.hpp); these wait in a batch until their blocks are known.
#include "recorder/recorder.hpp"

#include "base/notices.hpp"
#include "base/os.hpp"

#include <algorithm>

namespace omptier {
namespace {

constexpr unsigned k_most_ticks_between = 20;  // of counts, while all samples are kept
constexpr unsigned k_ticks_a_flush = 5;       // after the first second: what a killed program loses
constexpr unsigned k_ticks_a_count = 64;       // a run's figures are at most this part of it old
constexpr std::uint32_t k_logged_of_site = 1024; // one by one, when samples begin to be left out

} // namespace

// Time in the OpenMP runtime, mostly at the end of a region, belongs to no access.
bool Recorder::is_waiting(std::uint64_t pc) const {
  if (source_->measure() != Measure::time) return false;
  const LoadedModule* module = module_of(pc);
  return module != nullptr && module->runtime;
}

void Recorder::sample(const AccessSample& sample) {
  if (is_waiting(sample.pc)) {
    ++waiting_;
    waiting_weight_ += double{sample.weight};
    pattern_weight_ = 0;
    return;
  }
  pattern_weight_ = budget_.weight_of_next();
  if (pattern_weight_ == 0) return;
  AccessSample kept = sample;
  kept.weight *= static_cast<float>(pattern_weight_);
  if (resolver_.add(kept)) return;
  settle_batch();
  if (resolver_.add(kept)) return;
  lose(1, LossReason::memory);
  pattern_weight_ = 0;
}

// A sample's patterns follow it.
void Recorder::pattern(const AccessPattern& pattern) {
  if (pattern_weight_ == 0 || is_waiting(pattern.pc)) return;
  AccessPattern kept = pattern;
  kept.accesses *= static_cast<float>(pattern_weight_);
  kept.bytes *= static_cast<float>(pattern_weight_);
  resolver_.add(kept);
}

// At most thirty a second, and some dozens per instruction: they do not determine the log's size.
void Recorder::reuse(const AddressReuse& reuse) {
  if (!is_waiting(reuse.pc)) resolver_.add(reuse);
}

void Recorder::lost(std::uint64_t count) {
  lose(count, LossReason::source);
}

// Written together with the counts: a record for each loss would make a full log exceed its size.
void Recorder::lose(std::uint64_t samples, LossReason reason) {
  lost_[static_cast<unsigned>(reason)] += samples;
}

void Recorder::settle_batch() {
  const std::uint64_t known_from = resolver_.resolve(live_, mutex_, spans_);
  std::uint64_t lost = 0;
  for (const LoggedSample& sample : resolver_.samples()) {
    if (sample.time < known_from) {
      ++lost;
      continue;
    }
    log_.sample(sample, sample.place);
    for (const LoggedPattern& pattern : resolver_.patterns_of(sample))
      log_.pattern(pattern, pattern.place, pattern.through_place);
    sample_times_.add(sample.time);
  }
  for (const LoggedReuse& reuse : resolver_.reuses())
    if (reuse.time >= known_from) log_.reuse(reuse, reuse.place);
  lose(lost, known_from == SampleResolver::k_unknown ? LossReason::memory : LossReason::blocks);
  resolver_.clear();
}

// Decoding allocates; if memory is short, samples are lost, but the program continues.
void Recorder::drain() {
  const std::uint64_t begin = monotonic_nanoseconds();
  try {
    if (source_ != nullptr) source_->drain(*this);
  } catch (...) { // a thread of ours must not end the program
    warn_once(Notice::samples_lost, "memory is short: samples were lost");
  }
  settle_batch();
  sample_times_.sort();
  runs_.tell(sample_times_, begin, source_wants_objects_.load(std::memory_order_relaxed), log_);
  write_stretches(begin);
}

void Recorder::write_counts() {
  write_small_objects();
  take_small_counts();
  write_site_totals();
  write_stretch_counts();
  runs_.write_totals(log_);
  if (waiting_ > 0) log_.waiting(waiting_, waiting_weight_);
  waiting_ = 0;
  waiting_weight_ = 0;
  for (unsigned i = 0; i < k_loss_reasons && (!log_.is_full() || !active()); ++i) {
    if (lost_[i] > 0) log_.lost(lost_[i], static_cast<LossReason>(i));
    lost_[i] = 0;
  }
  if (const Shortages all = shortages(); all != shortages_written_) {
    log_.shortages(all);
    shortages_written_ = all;
  }
}

Shortages Recorder::shortages() {
  Shortages all;
  all.objects = unwatched_.load(std::memory_order_relaxed);
  all.by_caller = by_caller_.load(std::memory_order_relaxed);
  all.regions_by_caller = regions_by_caller_.load(std::memory_order_relaxed);
  all.runs = runs_.dropped();
  all.stretches = stretches_.dropped();
  all.loops = loops_;
  log_.add_refused(all);
  return all;
}

// The fewer samples are kept, the more seldom everything else is written.
void Recorder::tick() {
  if (!active()) return;
  drain();
  look_at_areas();
  if (budget_.update(log_.bytes_written())) {
    log_.thinned(budget_.kept_of());
    most_logged_ = static_cast<std::uint32_t>(
        std::max<std::uint64_t>(std::uint64_t{2} * k_logged_of_site / budget_.kept_of(), 1));
  }
  const std::uint64_t kept_of = budget_.kept_of();
  ++ticks_;
  const std::uint64_t between =
      std::clamp<std::uint64_t>(ticks_ / k_ticks_a_count, 1, k_most_ticks_between) * kept_of;
  if (ticks_ - counts_written_ >= between) {
    write_counts();
    counts_written_ = ticks_;
  }
  const std::uint64_t least = ticks_ < k_most_ticks_between ? 1 : k_ticks_a_flush;
  if (ticks_ % std::clamp<std::uint64_t>(kept_of, least, k_most_ticks_between) == 0) log_.flush();
  if (log_.is_full())
    warn_once(Notice::profile_full,
              "profile %s has reached its largest size; what happens from here on is not in it "
              "(raise OMPTIER_PROFILE_SIZE)",
              path_);
}

} // namespace omptier
