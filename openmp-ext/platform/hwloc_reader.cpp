// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Loads an hwloc topology as cheaply as possible: all object types but nodes and processors are
// filtered out, the x86 component, which moves the calling thread over every processor, is off, and
// for this machine no plug-in is opened. hwloc counts MiB/s and nanoseconds; its Bandwidth and
// Latency are averages of the read and write figures and are never used.
//
// For memory without processors hwloc lists the processors near it. So the owner of processors is
// determined here for XML exports: of the nodes that share processors, the smallest, then the first
// (Linux numbers the nodes of processors before all others). On this machine sysfs has the exact
// answer and overrides it.
#include "platform/hwloc_reader.hpp"

#include "base/os.hpp"
#include "platform/hwloc_plugins.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <hwloc.h>
#include <memory>
#include <unistd.h>
#include <utility>

namespace omptier {
namespace {

struct DestroyTopology {
  void operator()(hwloc_topology* topology) const { hwloc_topology_destroy(topology); }
};
using Topology = std::unique_ptr<hwloc_topology, DestroyTopology>;

constexpr double k_mebibyte = 1024.0 * 1024.0;

std::vector<unsigned> numbers_in(hwloc_const_bitmap_t set) {
  std::vector<unsigned> numbers;
  if (set == nullptr || hwloc_bitmap_weight(set) < 0) return numbers; // none, or infinite
  for (int i = hwloc_bitmap_first(set); i >= 0; i = hwloc_bitmap_next(set, i))
    numbers.push_back(static_cast<unsigned>(i));
  return numbers;
}

InitiatorView& view_from(std::vector<InitiatorView>& views, const std::vector<unsigned>& cpus) {
  for (InitiatorView& view : views)
    if (view.cpus == cpus) return view;
  views.push_back({cpus, {}, 0});
  return views.back();
}

void read_attribute(hwloc_topology_t topology, hwloc_obj_t node, hwloc_memattr_id_t attribute,
                    double Figures::* figure, double unit, std::vector<InitiatorView>& views) {
  unsigned count = 0;
  if (hwloc_memattr_get_initiators(topology, attribute, node, 0, &count, nullptr, nullptr) != 0 ||
      count == 0)
    return; // no HMAT: EINVAL
  std::vector<hwloc_location> from(count);
  std::vector<hwloc_uint64_t> values(count);
  if (hwloc_memattr_get_initiators(topology, attribute, node, 0, &count, from.data(),
                                   values.data()) != 0)
    return;
  for (unsigned i = 0; i < count && i < from.size(); ++i) {
    const hwloc_const_bitmap_t set = from[i].type == HWLOC_LOCATION_TYPE_CPUSET
                                         ? from[i].location.cpuset
                                         : from[i].location.object->cpuset;
    const std::vector<unsigned> cpus = numbers_in(set);
    if (!cpus.empty())
      view_from(views, cpus).figures.*figure = static_cast<double>(values[i]) * unit;
  }
}

NodeFacts facts_of(hwloc_topology_t topology, hwloc_obj_t object) {
  NodeFacts node;
  node.number = object->os_index;
  node.capacity = object->attr->numanode.local_memory;
  node.cpus = numbers_in(object->cpuset); // processors near it; narrowed by keep_own_cpus
  if (object->subtype != nullptr) node.label = object->subtype;
  if (const char* device = hwloc_obj_get_info_by_name(object, "DAXDevice")) {
    node.origin_name = device;
    node.origin = node.label == "NVM" ? MemoryOrigin::nvdimm : MemoryOrigin::reserved;
  }
  if (const char* device = hwloc_obj_get_info_by_name(object, "CXLDevice")) {
    node.origin_name = device;
    node.origin = MemoryOrigin::cxl;
  }
  const auto read = [&](hwloc_memattr_id_t attribute, double Figures::* figure, double unit) {
    read_attribute(topology, object, attribute, figure, unit, node.views);
  };
  read(HWLOC_MEMATTR_ID_READ_BANDWIDTH, &Figures::read_bandwidth, k_mebibyte);
  read(HWLOC_MEMATTR_ID_WRITE_BANDWIDTH, &Figures::write_bandwidth, k_mebibyte);
  read(HWLOC_MEMATTR_ID_READ_LATENCY, &Figures::read_latency, 1);
  read(HWLOC_MEMATTR_ID_WRITE_LATENCY, &Figures::write_latency, 1);
  return node;
}

void keep_own_cpus(std::vector<NodeFacts>& nodes) {
  std::vector<NodeFacts*> order;
  for (NodeFacts& node : nodes)
    if (!node.cpus.empty()) order.push_back(&node);
  std::ranges::sort(order, {},
                    [](const NodeFacts* n) { return std::pair(n->cpus.size(), n->number); });
  std::vector<unsigned> owned;
  for (NodeFacts* node : order) {
    const bool taken = std::ranges::any_of(
        node->cpus, [&](unsigned cpu) { return std::ranges::find(owned, cpu) != owned.end(); });
    if (taken)
      node->cpus.clear();
    else
      owned.insert(owned.end(), node->cpus.begin(), node->cpus.end());
  }
}

// One view per pair of a node with processors and a node, from ACPI SLIT.
void add_distances(hwloc_topology_t topology, std::vector<NodeFacts>& nodes) {
  unsigned count = 1;
  hwloc_distances_s* matrix = nullptr;
  if (hwloc_distances_get_by_name(topology, "NUMALatency", &count, &matrix, 0) != 0 || count == 0)
    return;
  const auto find = [&](hwloc_obj_t object) -> NodeFacts* {
    if (object == nullptr) return nullptr;
    const auto at = std::ranges::find(nodes, object->os_index, &NodeFacts::number);
    return at == nodes.end() ? nullptr : &*at;
  };
  for (unsigned from = 0; from < matrix->nbobjs; ++from)
    for (unsigned to = 0; to < matrix->nbobjs; ++to) {
      const NodeFacts* source = find(matrix->objs[from]);
      NodeFacts* target = find(matrix->objs[to]);
      if (source == nullptr || target == nullptr || source->cpus.empty()) continue;
      const auto distance = static_cast<unsigned>(matrix->values[from * matrix->nbobjs + to]);
      const auto covers = std::ranges::find_if(target->views, [&](const InitiatorView& view) {
        return std::ranges::includes(view.cpus, source->cpus);
      });
      InitiatorView& view =
          covers != target->views.end() ? *covers : view_from(target->views, source->cpus);
      if (view.distance == 0 || distance < view.distance) view.distance = distance;
    }
  hwloc_distances_release(topology, matrix);
}

LastLevel last_level_of(hwloc_topology_t topology) {
  LastLevel found;
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_L3CACHE, HWLOC_OBJ_L2CACHE}) {
    for (hwloc_obj_t cache = nullptr; (cache = hwloc_get_next_obj_by_type(topology, type, cache));)
      found.bytes += cache->attr->cache.size;
    if (found.bytes > 0) break;
  }
  const int cores = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE);
  return found.bytes > 0 && cores > 0 ? LastLevel{found.bytes, static_cast<unsigned>(cores)}
                                      : LastLevel{};
}

// The parents of nodes must be kept, else hwloc attaches the nodes to the whole machine: packages
// and groups here, in an export also caches and whatever else its author kept.
void filter_types(hwloc_topology_t topology, bool live) {
  if (live) {
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_PACKAGE, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_GROUP, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
  } else {
    hwloc_topology_set_all_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
    hwloc_topology_set_io_types_filter(topology, HWLOC_TYPE_FILTER_KEEP_NONE);
    hwloc_topology_set_type_filter(topology, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_NONE);
    for (const hwloc_obj_type_t type : {HWLOC_OBJ_CORE, HWLOC_OBJ_L2CACHE, HWLOC_OBJ_L3CACHE})
      hwloc_topology_set_type_filter(topology, type, HWLOC_TYPE_FILTER_KEEP_ALL);
  }
}

// An export may need the plug-in that reads all of XML.
int initialise(hwloc_topology_t& topology, bool live) {
  if (!live) return hwloc_topology_init(&topology);
  const HwlocPluginsLeftOut left_out;
  return hwloc_topology_init(&topology);
}

std::string load(Topology& topology, const std::string& xml) {
  const bool live = xml.empty() && std::getenv("HWLOC_XMLFILE") == nullptr;
  hwloc_topology_t raw = nullptr;
  if (initialise(raw, live) != 0) return "hwloc cannot be initialised";
  topology.reset(raw);
  filter_types(raw, live);
  if (xml.empty()) {
    hwloc_topology_set_components(raw, HWLOC_TOPOLOGY_COMPONENTS_FLAG_BLACKLIST, "x86");
  } else {
    // hwloc reports an unreadable file as a bare errno, so it is opened here first.
    const int fd = os().open(xml.c_str(), O_RDONLY | O_CLOEXEC, 0);
    if (fd < 0) return xml + ": " + std::strerror(errno);
    os().close(fd);
    if (hwloc_topology_set_xml(raw, xml.c_str()) != 0)
      return xml + ": not an hwloc XML file; on the machine that is meant: lstopo --of xml machine.xml";
  }
  if (hwloc_topology_load(raw) != 0)
    return xml.empty()
               ? std::string("hwloc cannot read this machine's topology (lstopo says why)")
               : xml + ": not an hwloc XML file; on the machine that is meant: lstopo --of xml machine.xml";
  return {};
}

} // namespace

Parsed<HwlocResult> read_hwloc(const std::string& xml) {
  Topology topology;
  if (std::string error = load(topology, xml); !error.empty())
    return Parsed<HwlocResult>::failure(std::move(error));
  HwlocResult result;
  result.this_machine = hwloc_topology_is_thissystem(topology.get()) != 0;
  std::vector<NodeFacts>& nodes = result.facts.nodes;
  for (hwloc_obj_t object = nullptr;
       (object = hwloc_get_next_obj_by_type(topology.get(), HWLOC_OBJ_NUMANODE, object));)
    if (object->attr->numanode.local_memory != 0) nodes.push_back(facts_of(topology.get(), object));
  std::ranges::sort(nodes, {}, &NodeFacts::number);
  keep_own_cpus(nodes);
  add_distances(topology.get(), nodes);
  if (!xml.empty()) result.facts.last_level = last_level_of(topology.get());
  return result;
}

} // namespace omptier
