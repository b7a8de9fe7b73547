// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where hwloc's reference is not found (a libhwloc inside the program, a loader that lays out
// modules otherwise) nothing is changed, and the plug-ins are opened.
#include "platform/hwloc_plugins.hpp"

#include "base/module_symbols.hpp"

#include <cstdlib>
#include <cstring>
#include <hwloc.h>

namespace omptier {
namespace {

__attribute__((tls_model("initial-exec"))) thread_local bool left_out = false;

char* hwlocs_getenv(const char* name) {
  static char nowhere[] = "";
  return left_out && std::strcmp(name, "HWLOC_PLUGINS_PATH") == 0 ? nowhere : std::getenv(name);
}

struct Binding {
  std::uintptr_t to, before = 0;
};

int bind_in_hwloc(dl_phdr_info* info, std::size_t, void* argument) {
  if (protection_at(*info, reinterpret_cast<std::uintptr_t>(&hwloc_topology_init)) < 0) return 0;
  auto& binding = *static_cast<Binding*>(argument);
  const ModuleSymbols module(*info);
  const auto* names = reinterpret_cast<const char*>(module.strings);
  module.for_each_reference([&](std::uintptr_t* word, std::uint64_t symbol, auto&& writable) {
    if (std::strcmp(names + module.symbols[symbol].st_name, "getenv") != 0 || !writable()) return;
    binding.before = __atomic_exchange_n(word, binding.to, __ATOMIC_ACQ_REL);
  });
  return 1;
}

std::uintptr_t bind_getenv(std::uintptr_t to) {
  Binding binding{to};
  ::dl_iterate_phdr(bind_in_hwloc, &binding);
  return binding.before;
}

} // namespace

HwlocPluginsLeftOut::HwlocPluginsLeftOut()
    : before_(bind_getenv(reinterpret_cast<std::uintptr_t>(&hwlocs_getenv))) {
  left_out = true;
}

HwlocPluginsLeftOut::~HwlocPluginsLeftOut() {
  left_out = false;
  if (before_ != 0) bind_getenv(before_);
}

} // namespace omptier
