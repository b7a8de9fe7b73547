// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See task_list.hpp.
#include "calibration/task_list.hpp"

#include <algorithm>
#include <limits>

namespace omptier {
namespace {

// The firmware's distance, else whether it is the group's own memory.
unsigned distance_of(const Platform& platform, const CpuGroup& group, unsigned number) {
  const Node* node = platform.node(number);
  if (node == nullptr) return std::numeric_limits<unsigned>::max();
  for (const InitiatorView& view : node->views)
    if (view.distance > 0 && std::ranges::includes(view.cpus, group.all)) return view.distance;
  return node->cpus == group.all ? 10 : 20;
}

class TaskList {
public:
  TaskList(const Platform& platform, const std::vector<CpuGroup>& groups,
           const std::vector<unsigned>& nodes)
      : platform_(platform), groups_(groups), nodes_(nodes) {}

  std::vector<Task> take() { return std::move(tasks_); }

  // Pairs of a node and its nearest group, or all others.
  void for_pairs(bool nearest, auto&& body) {
    for (const unsigned node : nodes_)
      for (unsigned group = 0; group < groups_.size(); ++group)
        if ((group == nearest_group(node)) == nearest) body(group, node);
  }

  // What a platform file holds: by what kinds and tiers are decided, and the rest.
  void add_figures(unsigned group, unsigned node) {
    for (const Quantity latency : {Quantity::read_latency, Quantity::write_latency})
      add(latency, group, node, 1);
    for (const Quantity bandwidth : {Quantity::read, Quantity::write})
      add(bandwidth, group, node, cpus(group));
  }
  void add_further_figures(unsigned group, unsigned node) {
    for (const Quantity bandwidth : {Quantity::copy, Quantity::gather, Quantity::gather_4})
      add(bandwidth, group, node, cpus(group));
  }

  void add_visit(bool nearest, unsigned visit) {
    const std::size_t begin = tasks_.size();
    for_pairs(nearest, [&](unsigned group, unsigned node) { add_figures(group, node); });
    for_pairs(nearest, [&](unsigned group, unsigned node) { add_further_figures(group, node); });
    for (std::size_t i = begin; i < tasks_.size(); ++i)
      tasks_[i].visit = visit;
  }

  void add_curves(unsigned group, unsigned node) {
    const unsigned all = cpus(group);
    for (const Quantity quantity :
         {Quantity::gather_8, Quantity::gather_16, Quantity::strided, Quantity::tiled})
      add(quantity, group, node, all);
    for (const unsigned threads : thread_counts(all)) {
      if (threads > 1) add(Quantity::loaded_latency, group, node, threads);
      if (threads == all) continue; // are among the figures
      for (const Quantity quantity :
           {Quantity::read, Quantity::write, Quantity::copy, Quantity::gather})
        add(quantity, group, node, threads);
    }
  }

  void add_pairs_of_nodes() {
    for (std::size_t a = 0; a < nodes_.size(); ++a)
      for (std::size_t b = 0; b < nodes_.size(); ++b) {
        const unsigned group = nearest_group(nodes_[a]);
        const int other = static_cast<int>(nodes_[b]);
        if (a < b && cpus(group) > 1 && group == nearest_group(nodes_[b]))
          add(Quantity::read_both, group, nodes_[a], cpus(group), other);
        if (a == b) continue;
        add(Quantity::move_small, group, nodes_[a], 1, other);
        add(Quantity::move_huge, group, nodes_[a], 1, other);
      }
  }

private:
  unsigned cpus(unsigned group) const {
    return static_cast<unsigned>(groups_[group].usable.size());
  }
  unsigned nearest_group(unsigned node) const {
    unsigned best = 0;
    for (unsigned group = 1; group < groups_.size(); ++group)
      if (distance_of(platform_, groups_[group], node) <
          distance_of(platform_, groups_[best], node))
        best = group;
    return best;
  }
  void add(Quantity quantity, unsigned group, unsigned node, unsigned threads, int other = -1) {
    tasks_.push_back({quantity, group, node, threads, other, 0});
  }

  const Platform& platform_;
  const std::vector<CpuGroup>& groups_;
  const std::vector<unsigned>& nodes_;
  std::vector<Task> tasks_;
};

} // namespace

std::vector<CpuGroup> cpu_groups(const Platform& platform, const std::vector<unsigned>& allowed,
                                 double quota) {
  std::vector<CpuGroup> groups;
  for (const Node& node : platform.nodes) {
    CpuGroup group{node.cpus, {}, quota};
    std::ranges::set_intersection(node.cpus, allowed, std::back_inserter(group.usable));
    if (!group.usable.empty()) groups.push_back(std::move(group));
  }
  return groups;
}

std::vector<unsigned> thread_counts(unsigned cpus) {
  std::vector<unsigned> counts;
  for (unsigned threads = 1; threads < cpus; threads *= 2)
    counts.push_back(threads);
  counts.push_back(cpus);
  return counts;
}

std::vector<Task> make_task_list(const Platform& platform, const std::vector<CpuGroup>& groups,
                                 const std::vector<unsigned>& nodes, bool quick) {
  if (groups.empty()) return {};
  TaskList list(platform, groups, nodes);
  for (const bool nearest : {true, false})
    for (const unsigned visit : {0u, 1u})
      list.add_visit(nearest, visit);
  if (quick) return list.take();
  list.for_pairs(true, [&](unsigned group, unsigned node) { list.add_curves(group, node); });
  list.add_pairs_of_nodes();
  return list.take();
}

double seconds_left(std::size_t tasks, std::size_t next, double seconds_so_far, double first) {
  const double each = next > 0 ? seconds_so_far / static_cast<double>(next) : first;
  return each * static_cast<double>(tasks - next);
}

} // namespace omptier
