// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Exact counts of a program that omptier-cc built. The library with which such a program is linked
// counts every access (borders/exact_counts.h). This source passes objects and regions to it, and its
// counts to the sink. A sample is all that one instruction did to one object since the last drain;
// its weight is the number of bytes.
#include "borders/exact_counts.h"
#include "sampling/sources.hpp"

#include <algorithm>
#include <dlfcn.h>
#include <functional>

namespace omptier {
namespace {

class ExactSource final : public SampleSource {
public:
  explicit ExactSource(const omptier_exact& table) : table_(table) {}
  ~ExactSource() override { table_.end(); }

  const char* name() const override { return "exact"; }
  Measure measure() const override { return Measure::accesses; }
  double worst_error() const override { return 0; }
  std::string description() const override {
    return "every access of the program's own code, counted in bytes (built by omptier-cc; times "
           "mean nothing)";
  }
  bool thread_begin(pid_t) override { return true; }
  void thread_end(pid_t) override {}
  bool wants_objects() const override { return true; }
  void object_begin(std::uint64_t address, std::uint64_t bytes) override {
    table_.object_begin(address, bytes, ++objects_);
  }
  void object_end(std::uint64_t address) override { table_.object_end(address); }
  void region_changed(std::uint64_t region) override { table_.region(region); }

  void drain(SampleSink& sink) override {
    const std::uint64_t lost = table_.drain(
        [](void* taker, const omptier_exact_counts* counts) {
          AccessSample sample;
          sample.time = counts->time;
          sample.pc = counts->pc;
          sample.address = counts->address;
          sample.thread = counts->thread;
          sample.kind = counts->store != 0 ? AccessKind::store : AccessKind::load;
          sample.streamed = is_streamed(*counts);
          sample.weight = static_cast<float>(counts->bytes);
          static_cast<SampleSink*>(taker)->sample(sample);
          static_cast<SampleSink*>(taker)->pattern(pattern_of(*counts));
        },
        &sink);
    if (lost > 0) sink.lost(lost);
  }
  void forked_child() override { table_.forked_child(); }

private:
  // Most steps of the instruction have one short size, so that a prefetcher follows them.
  static bool is_streamed(const omptier_exact_counts& counts) {
    std::uint64_t all = counts.other_strides, largest = 0;
    std::int64_t stride = 0;
    for (const omptier_exact_stride& known : counts.strides) {
      all += known.count;
      if (known.count <= largest) continue;
      largest = known.count;
      stride = known.bytes;
    }
    return stride != 0 && stride >= -2048 && stride <= 2048 && 2 * largest > all;
  }

  static AccessPattern pattern_of(const omptier_exact_counts& counts) {
    AccessPattern pattern;
    pattern.time = counts.time;
    pattern.pc = counts.pc;
    pattern.address = counts.address;
    pattern.thread = counts.thread;
    pattern.kind = counts.store != 0 ? AccessKind::store : AccessKind::load;
    pattern.accesses = static_cast<float>(counts.accesses);
    pattern.bytes = static_cast<float>(counts.bytes);
    // The thread continues to count during the read: a chase may be visible before its access.
    pattern.chased =
        std::min(1.0f, static_cast<float>(counts.chases) / static_cast<float>(counts.accesses));
    std::array<omptier_exact_stride, OMPTIER_EXACT_STRIDES> strides;
    std::copy(std::begin(counts.strides), std::end(counts.strides), strides.begin());
    std::ranges::sort(strides, std::greater{}, &omptier_exact_stride::count);
    std::uint64_t steps = counts.other_strides;
    for (const omptier_exact_stride& stride : strides)
      steps += stride.count;
    for (unsigned i = 0; i < AccessPattern::k_strides && strides[i].count > 0; ++i)
      pattern.strides[i] = {strides[i].bytes,
                            static_cast<float>(double(strides[i].count) / double(steps))};
    return pattern;
  }

  const omptier_exact& table_;
  std::uint64_t objects_ = 0;
};

} // namespace

std::unique_ptr<SampleSource> open_exact_source(std::string& why) {
  const auto look_up = reinterpret_cast<const omptier_exact* (*)(std::uint32_t)>(
      dlsym(RTLD_DEFAULT, "omptier_exact_table"));
  if (look_up == nullptr) {
    why = "exact: the program was not built by omptier-cc";
    return nullptr;
  }
  const omptier_exact* table = look_up(OMPTIER_EXACT_VERSION);
  if (table == nullptr) {
    why = "exact: libomptier_exact.so is of another version; build the program again";
    return nullptr;
  }
  if (const char* refusal = table->begin()) {
    why = std::string("exact: ") + refusal;
    return nullptr;
  }
  return std::make_unique<ExactSource>(*table);
}

} // namespace omptier
