// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// When the process's first topology is created, hwloc opens every plug-in it finds. A
// distribution's plug-ins bring X11, OpenCL, libxml2 and thirty more libraries, none of which is
// needed for memory nodes. No call prevents that, only the variable HWLOC_PLUGINS_PATH, and the
// environment belongs to the application. So hwloc's own reference to getenv is bound to a function
// of ours for a moment.
#pragma once

#include <cstdint>

namespace omptier {

// While an object exists, hwloc on this thread finds no plug-ins. Other threads are unaffected with
// one exception: hwloc counts its users, so a topology that another thread creates before ours is
// destroyed shares our start without plug-ins.
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
