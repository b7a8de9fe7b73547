// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A sink that keeps what a source hands over.
#pragma once

#include "sampling/source.hpp"

#include <cstdint>
#include <vector>

struct Collect final : omptier::SampleSink {
  std::vector<omptier::AccessSample> samples;
  std::uint64_t dropped = 0;
  void sample(const omptier::AccessSample& access) override { samples.push_back(access); }
  void lost(std::uint64_t count) override { dropped += count; }
};
