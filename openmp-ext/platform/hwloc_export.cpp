// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See hwloc_export.hpp.
#include "platform/hwloc_export.hpp"

#include <cmath>
#include <hwloc.h>
#include <memory>

namespace omptier {
namespace {

constexpr double k_exported_unit = 1024.0 * 1024.0; // bytes/s

struct EndTopology {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
struct FreeBitmap {
  void operator()(hwloc_bitmap_s* set) const { hwloc_bitmap_free(set); }
};

// False: hwloc refuses it. A figure of 0 is none.
bool set_figure(hwloc_topology_t topology, hwloc_memattr_id_t attribute, hwloc_obj_t node,
                hwloc_bitmap_t cpus, double figure) {
  if (figure <= 0) return true;
  hwloc_location from{};
  from.type = HWLOC_LOCATION_TYPE_CPUSET;
  from.location.cpuset = cpus;
  const auto value = static_cast<hwloc_uint64_t>(std::fmax(std::round(figure), 1));
  return hwloc_memattr_set_value(topology, attribute, node, &from, 0, value) == 0;
}

bool set_figures(hwloc_topology_t topology, const MeasuredView& view) {
  const hwloc_obj_t node = hwloc_get_numanode_obj_by_os_index(topology, view.node);
  const std::unique_ptr<hwloc_bitmap_s, FreeBitmap> cpus(hwloc_bitmap_alloc());
  if (node == nullptr || !cpus) return false;
  for (const unsigned cpu : view.cpus)
    hwloc_bitmap_set(cpus.get(), cpu);
  const auto set = [&](hwloc_memattr_id_t attribute, double figure) {
    return set_figure(topology, attribute, node, cpus.get(), figure);
  };
  const Figures& figures = view.figures;
  return set(HWLOC_MEMATTR_ID_READ_LATENCY, figures.read_latency) &&
         set(HWLOC_MEMATTR_ID_WRITE_LATENCY, figures.write_latency) &&
         set(HWLOC_MEMATTR_ID_READ_BANDWIDTH, figures.read_bandwidth / k_exported_unit) &&
         set(HWLOC_MEMATTR_ID_WRITE_BANDWIDTH, figures.write_bandwidth / k_exported_unit);
}

} // namespace

std::string export_hwloc_xml(const std::string& path, std::span<const MeasuredView> views) {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return path + ": hwloc cannot be initialised";
  const std::unique_ptr<hwloc_topology, EndTopology> topology(raw);
  if (hwloc_topology_load(raw) != 0)
    return path + ": hwloc cannot read this machine's topology (lstopo says why)";
  for (const MeasuredView& view : views)
    if (!set_figures(raw, view))
      return path + ": hwloc does not take the figures of node " + std::to_string(view.node);
  if (hwloc_topology_export_xml(raw, path.c_str(), 0) != 0)
    return path + ": cannot be written; name another file";
  return {};
}

} // namespace omptier
