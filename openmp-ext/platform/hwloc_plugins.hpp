// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// hwloc opens every plug-in it finds when the process's first topology is made, whatever that is
// for: with those of a distribution come X11, OpenCL, libxml2 and thirty libraries behind them, to
// which reading memory nodes owes nothing. No call says otherwise, only the variable
// HWLOC_PLUGINS_PATH, and the environment is the application's. So hwloc's own reference to getenv
// leads to us for a moment.
#pragma once

#include <cstdint>

namespace omptier {

// While one exists, this thread's hwloc finds no plug-ins. Others' calls go on as ever, but for one
// thing: hwloc counts its users, and a topology that another thread makes before the last one of
// ours is destroyed shares our start.
class HwlocPluginsLeftOut {
public:
  HwlocPluginsLeftOut();
  ~HwlocPluginsLeftOut();
  HwlocPluginsLeftOut(const HwlocPluginsLeftOut&) = delete;
  HwlocPluginsLeftOut& operator=(const HwlocPluginsLeftOut&) = delete;

private:
  std::uintptr_t before_ = 0; // what hwloc's reference held; 0: none was found, plug-ins are opened
};

} // namespace omptier
