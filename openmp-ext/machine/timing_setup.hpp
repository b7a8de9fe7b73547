// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes the time model's configuration file (format: timing/README.md) for a preset.
#pragma once

#include "machine/machine.hpp"

#include <string>

namespace omptier {

struct TimingOptions {
  double dilation = 100;
  bool count_only = false;     // count misses without slowing anything down
  std::string symbols = {};    // the guest kernel's symbol table
  std::string misses = {};     // file for exported misses, or empty
  std::string events = {};     // file behind the memory-event unit, or empty
  unsigned event_period = 0;   // 0: the plugin's default
  std::string statistics = {}; // file for counters, or empty
};

std::string timing_configuration(const Machine& machine, const TimingOptions& options);

} // namespace omptier
