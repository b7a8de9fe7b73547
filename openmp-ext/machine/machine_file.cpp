// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See machine_file.hpp. A line is a keyword and its operands; a `memory` line begins the section of
// one memory, of which each NUMA domain has a node. Wrong lines are left out and reading goes on,
// so that all of them are named at once.
#include "machine/machine_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <set>
#include <utility>

namespace omptier {
namespace {

constexpr std::size_t k_most_points = 7; // of a load curve (timing/config.h)
constexpr double k_most_ns = 1e5, k_most_mbs = 1e8;
constexpr int k_farthest = 254; // ACPI SLIT

// Whose CPUs see a memory: those of its own domain, of its socket's others, of other sockets.
enum Apart : std::size_t { k_local, k_in_socket, k_remote, k_aparts };
constexpr std::array<std::string_view, k_aparts> k_apart_names = {"local", "in-socket", "remote"};

struct Memory {
  int line = 0;
  MachineNode node;
  std::array<std::optional<NodePerformance>, k_aparts> seen;
  std::vector<int> distances; // one for each Apart that the machine has
};

class Reader {
public:
  Reader(std::string_view text, std::string name, const std::string& file)
      : text_(text), file_(file) {
    machine_.name = std::move(name);
  }
  Parsed<Machine> read();

private:
  // Each takes its operands from rest_. False: refused, with its error.
  bool read_line();
  bool read_memory();
  bool read_of_memory(std::string_view keyword);
  bool read_load_curve(MachineNode& node);
  bool check_mixed(const Memory& memory);
  bool read_distances();
  bool read_cache(MachineNode& node);

  std::string_view word();
  bool text(std::string& value);
  bool number(std::string_view what, double least, double most, double& value);
  bool count(std::string_view what, int least, int most, int& value);
  bool bytes(std::string_view what, std::uint64_t& value);
  bool size(std::string_view what, std::uint64_t& value); // of memory
  bool figures(NodePerformance& seen);
  bool once(const std::string& keyword);

  bool fail(const std::string& why) { return fail_at(line_, why); }
  bool fail_at(int line, const std::string& why) {
    const std::string place = file_ + (line > 0 ? ":" + std::to_string(line) : "");
    errors_ += (errors_.empty() ? "" : "\n") + place + ": " + why;
    return false;
  }

  void check();
  std::vector<Apart> aparts() const;
  Apart apart(int one, int other) const;
  void build();

  std::string_view text_, rest_;
  const std::string& file_;
  std::string errors_;
  int line_ = 0;
  int domains_ = 0, cpus_ = 0; // of a socket, of a domain
  double cores_ = 0;           // of a domain of the real machine
  Machine machine_;
  std::vector<Memory> memories_;
  std::set<std::string> seen_; // keywords, of the present section
};

constexpr std::string_view k_blank = " \t\r";

std::string_view Reader::word() {
  const auto begin = rest_.find_first_not_of(k_blank);
  rest_.remove_prefix(begin == rest_.npos ? rest_.size() : begin);
  const std::string_view found = rest_.substr(0, rest_.find_first_of(k_blank));
  rest_.remove_prefix(found.size());
  return found;
}

bool Reader::text(std::string& value) {
  const std::string_view first = word();
  if (first.empty()) return fail("nothing follows the keyword");
  value.assign(first.data(), rest_.data() + rest_.size());
  value.resize(value.find_last_not_of(k_blank) + 1);
  rest_ = {};
  return true;
}

bool Reader::number(std::string_view what, double least, double most, double& value) {
  const std::string_view given = word();
  const auto [end, error] = std::from_chars(given.data(), given.data() + given.size(), value);
  if (error == std::errc() && end == given.data() + given.size() && value >= least && value <= most)
    return true;
  char range[64];
  std::snprintf(range, sizeof range, "%g to %g", least, most);
  const std::string got = given.empty() ? " is missing" : " '" + std::string(given) + "'";
  return fail(std::string(what) + got + "; write a number from " + range);
}

bool Reader::count(std::string_view what, int least, int most, int& value) {
  double given = 0;
  if (!number(what, least, most, given)) return false;
  value = static_cast<int>(given);
  return value == given || fail(std::string(what) + " is a whole number");
}

bool Reader::bytes(std::string_view what, std::uint64_t& value) {
  const std::string_view given = word();
  if (given.empty()) return fail(std::string(what) + " is missing; write 512M or 1G");
  const auto size = parse_size(given);
  if (!size || *size == 0)
    return fail(std::string(what) + ": " + (size ? "it is 0" : size.error()));
  value = *size;
  return true;
}

bool Reader::size(std::string_view what, std::uint64_t& value) {
  if (!bytes(what, value)) return false;
  return value % (2 * k_mib) == 0 ||
         fail(std::string(what) + " is not a multiple of 2M, a huge page");
}

bool Reader::figures(NodePerformance& seen) {
  return count("read latency (ns)", 1, int(k_most_ns), seen.read_latency) &&
         count("write latency (ns)", 1, int(k_most_ns), seen.write_latency) &&
         count("read bandwidth (MB/s)", 1, int(k_most_mbs), seen.read_bandwidth) &&
         count("write bandwidth (MB/s)", 1, int(k_most_mbs), seen.write_bandwidth);
}

bool Reader::once(const std::string& keyword) {
  return seen_.insert(keyword).second || fail(keyword + " stands here twice");
}

bool Reader::read_memory() {
  const std::string_view given = word();
  const auto kind = parse_memory_kind(given);
  if (!kind || *kind == MemoryKind::unknown)
    return fail("memory '" + std::string(given) + "' is none of dram, hbm, nvm, cxl");
  seen_.clear();
  Memory& memory = memories_.emplace_back();
  memory.line = line_;
  memory.node.kind = *kind;
  return size("size of a node", memory.node.size);
}

bool Reader::read_load_curve(MachineNode& node) {
  double used_before = 0, times_before = 1;
  while (rest_.find_first_not_of(k_blank) != rest_.npos) {
    double used = 0, times = 0;
    if (!number("part of the bandwidth", 0, 1, used) ||
        !number("latency over the idle one", 1, 1000, times))
      return false;
    if (used <= used_before || times < times_before)
      return fail("used bandwidth rises, and latency does not fall with it; write PART TIMES "
                  "pairs, such as 0.6 1.1 1 2.2");
    if (node.load_curve.size() == k_most_points)
      return fail("more than " + std::to_string(k_most_points) + " points");
    node.load_curve.emplace_back(used_before = used, times_before = times);
  }
  return !node.load_curve.empty() || fail("PART TIMES pairs are missing, such as 0.6 1.1 1 2.2");
}

bool Reader::read_distances() {
  while (rest_.find_first_not_of(k_blank) != rest_.npos) {
    int distance = 0;
    if (!count("distance", 10, k_farthest, distance)) return false;
    memories_.back().distances.push_back(distance);
  }
  return true;
}

bool Reader::read_cache(MachineNode& node) {
  MemorySideCache cache{};
  if (!size("size of the cache", cache.size) || !figures(cache.figures)) return false;
  node.cache = cache;
  return true;
}

bool Reader::read_of_memory(std::string_view keyword) {
  MachineNode& node = memories_.back().node;
  for (std::size_t apart = 0; apart < k_aparts; ++apart)
    if (keyword == k_apart_names[apart]) return figures(memories_.back().seen[apart].emplace());
  if (keyword == "distances") return read_distances();
  if (keyword == "loaded") return read_load_curve(node);
  if (keyword == "cache") return read_cache(node);
  if (keyword == "duplex") return node.duplex = true;
  if (keyword == "mixed")
    return count("bandwidth of mixed reads and writes (MB/s)", 1, int(k_most_mbs),
                 node.mixed_bandwidth);
  if (keyword == "nvdimm") return node.nvdimm = true;
  if (keyword != "media")
    return fail("'" + std::string(keyword) + "' is no keyword of a memory: local, in-socket, " +
                "remote, distances, loaded, cache, media, duplex, mixed, nvdimm (or, before the first " +
                "memory, of the machine)");
  if (!count("block of the medium", 64, 4096, node.media_block)) return false;
  return (node.media_block & (node.media_block - 1)) == 0 ||
         fail("a medium's block is a power of two from 64 to 4096 bytes");
}

bool Reader::read_line() {
  const std::string_view keyword = word();
  if (keyword.empty()) return true;
  if (keyword == "memory") return read_memory();
  if (!once(std::string(keyword))) return false;
  if (!memories_.empty()) return read_of_memory(keyword);
  CoreModel& core = machine_.core;
  if (keyword == "description") return text(machine_.description);
  if (keyword == "cpu-model") return text(machine_.cpu_model);
  if (keyword == "sockets") return count("sockets", 1, k_most_cpus, machine_.sockets);
  if (keyword == "domains") return count("NUMA domains of a socket", 1, k_most_cpus, domains_);
  if (keyword == "cpus") return count("CPUs of a NUMA domain", 1, k_most_cpus, cpus_);
  if (keyword == "cores") return number("cores of a NUMA domain", 1, 1e4, cores_);
  if (keyword == "last-level") return bytes("size of the cache", machine_.last_level);
  if (keyword == "dax-folder") return size("size of the folder", machine_.dax_folder);
  if (keyword == "instruction-ns")
    return number("time of an instruction", 0, 1000, core.instruction_ns);
  if (keyword == "wrong-branch-ns")
    return number("time of a wrong prediction", 0, 1000, core.wrong_branch_ns);
  if (keyword == "window")
    return count("instructions", 1, 1 << 20, core.window) &&
           count("outstanding misses", 1, 64, core.outstanding);
  if (keyword == "overlap")
    return count("lines of streams", 1, 64, core.prefetched) &&
           count("lines of stores", 1, 64, core.stores);
  return fail(
      "'" + std::string(keyword) + "' is no keyword: description, cpu-model, sockets, " +
      "domains, cpus, cores, last-level, dax-folder, instruction-ns, wrong-branch-ns, window, " +
      "overlap, memory");
}

std::vector<Apart> Reader::aparts() const {
  std::vector<Apart> present = {k_local};
  if (domains_ > 1) present.push_back(k_in_socket);
  if (machine_.sockets > 1) present.push_back(k_remote);
  return present;
}

// A read and a write together take at least as long as the slower of them.
bool Reader::check_mixed(const Memory& memory) {
  if (memory.node.mixed_bandwidth == 0 || !memory.seen[k_local]) return true;
  if (memory.node.duplex)
    return fail_at(memory.line, "mixed: reads and writes of a duplex memory have a path each");
  const NodePerformance& alone = *memory.seen[k_local];
  const int most = 2 * std::min(alone.read_bandwidth, alone.write_bandwidth);
  return memory.node.mixed_bandwidth <= most ||
         fail_at(memory.line, "mixed: as many reads as writes have at most twice the bandwidth of "
                              "the slower ones, " +
                                  std::to_string(most) + " MB/s");
}

// What concerns several lines.
void Reader::check() {
  for (const auto& [keyword, given] : {std::pair{"domains", domains_ > 0}, {"cpus", cpus_ > 0},
                                       {"cores", cores_ > 0}, {"memory", !memories_.empty()},
                                       {"window", machine_.core.window > 0},
                                       {"overlap", machine_.core.prefetched > 0}})
    if (!given) fail_at(0, "no valid line '" + std::string(keyword) + "'");
  if (!errors_.empty()) return; // further ones would only follow from these
  const int all = machine_.sockets * domains_;
  if (all * cpus_ > k_most_cpus)
    fail_at(0, std::to_string(all * cpus_) + " CPUs; at most " + std::to_string(k_most_cpus));
  if (all * static_cast<int>(memories_.size()) > k_most_nodes)
    fail_at(0, "more than " + std::to_string(k_most_nodes) + " nodes");
  if (cores_ < cpus_)
    fail_at(0, "cores: a CPU stands for at least one; write cores and cpus of a domain");
  for (const Memory& memory : memories_) {
    const bool last = &memory == &memories_.back();
    for (const Apart apart : aparts())
      if (!memory.seen[apart])
        fail_at(memory.line, "this memory has no line '" + std::string(k_apart_names[apart]) + "'");
    if (memory.distances.size() != aparts().size())
      fail_at(memory.line, "this memory has " + std::to_string(memory.distances.size()) +
                               " distances; the machine's CPUs are at " +
                               std::to_string(aparts().size()));
    else if (&memory == &memories_.front() ? memory.distances[0] != 10 : memory.distances[0] == 10)
      fail_at(memory.line, "the first distance is 10 in the first memory, whose nodes have the "
                           "CPUs, and more in all others");
    check_mixed(memory);
    if (memory.node.nvdimm && (!last || all > 1 || memories_.size() == 1))
      fail_at(memory.line, "an NVDIMM is the last memory of a machine with one domain");
    if (last && machine_.dax_folder != 0 && !memory.node.nvdimm)
      fail_at(0, "dax-folder is the second NVDIMM: the last memory needs 'nvdimm'");
  }
}

Apart Reader::apart(int one, int other) const {
  return one == other ? k_local : one / domains_ == other / domains_ ? k_in_socket : k_remote;
}

// Nodes: the first memory's, one for each domain, with its CPUs; then the next memory's.
void Reader::build() {
  const int all = machine_.sockets * domains_;
  machine_.cores = domains_ * cpus_;
  machine_.core.stands_for = cores_ / cpus_;
  machine_.last_level *= static_cast<std::uint64_t>(all);
  const std::vector<Apart> present = aparts();
  const auto distance = [&](const Memory& memory, Apart apart) {
    return memory.distances[static_cast<std::size_t>(std::ranges::find(present, apart) -
                                                     present.begin())];
  };
  for (const Memory& memory : memories_)
    for (int domain = 0; domain < all; ++domain) {
      MachineNode& node = machine_.nodes.emplace_back(memory.node);
      const bool first = &memory == &memories_.front();
      node.cpus = first ? cpus_ : 0;
      node.initiator = first ? -1 : domain;
      std::vector<int>& row = machine_.distances.emplace_back();
      for (int from = 0; from < all; ++from)
        node.seen_from.push_back(*memory.seen[apart(from, domain)]);
      for (const Memory& other : memories_)
        for (int to = 0; to < all; ++to) {
          const Apart between = apart(domain, to);
          const bool itself = &other == &memory && to == domain;
          const int farther = std::max(distance(memory, between), distance(other, between));
          row.push_back(itself ? 10 : farther);
        }
    }
}

Parsed<Machine> Reader::read() {
  for (std::size_t begin = 0; begin < text_.size();) {
    const std::size_t end = std::min(text_.find('\n', begin), text_.size());
    rest_ = text_.substr(begin, end - begin);
    rest_ = rest_.substr(0, rest_.find('#'));
    ++line_;
    begin = end + 1;
    if (rest_.find('\0') != rest_.npos) return Parsed<Machine>::failure(file_ + ": no text file");
    if (!read_line()) continue;
    if (const std::string_view more = word(); !more.empty())
      fail("'" + std::string(more) + "' is too much");
  }
  check();
  if (!errors_.empty()) return Parsed<Machine>::failure(errors_);
  build();
  return std::move(machine_);
}

} // namespace

Parsed<Machine> parse_machine(std::string_view text, const std::string& name,
                              const std::string& file) {
  return Reader(text, name, file).read();
}

Parsed<Machine> read_machine(const std::string& path) {
  constexpr std::size_t k_longest = 1 << 20;
  std::ifstream file(path);
  if (!file || std::filesystem::is_directory(path))
    return Parsed<Machine>::failure(path + ": cannot be read; write the path of a machine file "
                                           "(omptier sandbox --describe NAME prints one)");
  std::string text(k_longest, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  return parse_machine(text, std::filesystem::path(path).stem().string(), path);
}

} // namespace omptier
