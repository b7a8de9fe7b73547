// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When the process's first topology is created, hwloc opens every plug-in it finds; a
// distribution's bring X11, OpenCL, libxml2 and thirty more libraries, none needed for memory
// nodes. Only the variable HWLOC_PLUGINS_PATH prevents that, and the environment belongs to the
// application. So hwloc's reference to getenv is bound to a function of ours for a moment.
#pragma once

#include <cstdint>

namespace omptier {

// While one exists, hwloc finds no plug-ins on this thread. Other threads are unaffected, with one
// exception: hwloc counts its users, so a topology created meanwhile shares our start without
// plug-ins.
class HwlocPluginsLeftOut {
public:
  HwlocPluginsLeftOut();
  ~HwlocPluginsLeftOut();
  HwlocPluginsLeftOut(const HwlocPluginsLeftOut&) = delete;
  HwlocPluginsLeftOut& operator=(const HwlocPluginsLeftOut&) = delete;

private:
  std::uintptr_t before_ = 0; // what hwloc's reference held; 0: not found, plug-ins are opened
};

} // namespace omptier
