// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rules, strongest first; the first that fits decides:
//
//   1. OMPTIER_NODES names the node.
//   2. Origin: an NVDIMM behind its DAX device is NVM, a CXL region is CXL.
//   3. Write bandwidth below half of read: NVM. Measured figures show this only of memory without
//      processors that reads more slowly than the processors' own, and by how much less of its own
//      read rate it writes: some cores write to any memory at half the rate at which they read.
//   4. Against DRAM, that is the memory of the processors' own node, seen from the same processors:
//      read bandwidth at least double: HBM; without processors, about symmetric, not more bandwidth
//      than DRAM and read latency at least 1.5 times: CXL; all figures within 10 %: DRAM as well.
//      If memory without processors has half of that bandwidth or less and yet no higher latency,
//      it is the DRAM, and the processors' own memory the HBM.
//   5. Memory of processors that nothing above decided: DRAM (the only kind of memory: DRAM unless
//      the firmware lists HBM only).
//   6. No figures, but a label of the firmware: what the label means. Else unknown.
//
// Figures are compared with such of the same source, measured or the firmware's: with measured ones
// where both memories have them all.
//
// Labels are hints because they are often wrong. Figures are the firmware's too, but a machine with
// wrong ones would run slowly under every operating system that uses them, so they get corrected.
#include "platform/classification.hpp"

#include <algorithm>
#include <cstdio>

namespace omptier {
namespace {

struct Candidate {
  const NodeFacts* facts;
  MemoryKind kind = MemoryKind::unknown;
  std::string rule; // "" = undecided
};

bool decided(const Candidate& candidate) {
  return !candidate.rule.empty();
}

void decide(Candidate& candidate, MemoryKind kind, std::string rule) {
  candidate.kind = kind;
  candidate.rule = std::move(rule);
}

std::string ratio(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", value);
  return text;
}

std::string node_text(const Candidate& candidate) {
  return "node " + std::to_string(candidate.facts->number);
}

bool share_cpus(const std::vector<unsigned>& a, const std::vector<unsigned>& b) {
  return std::ranges::any_of(a, [&](unsigned cpu) { return std::ranges::find(b, cpu) != b.end(); });
}

// Two memories seen from the same processors. reference null: no processor sees both.
struct Comparison {
  const Candidate* reference = nullptr;
  Figures own;
  Figures other;
};

enum class Source { measured, firmware };

const std::vector<InitiatorView>& views_by(Source source, const NodeFacts& facts) {
  if (source == Source::measured) return facts.measured;
  return facts.measured.empty() ? facts.views : facts.given;
}

// From where the node itself is fastest.
Comparison compare_by(Source source, const Candidate& candidate,
                      const std::vector<const Candidate*>& references) {
  Comparison best;
  for (const InitiatorView& view : views_by(source, *candidate.facts)) {
    if (view.figures.read_bandwidth <= best.own.read_bandwidth) continue;
    Comparison here{nullptr, view.figures, {}};
    for (const Candidate* reference : references)
      for (const InitiatorView& other : views_by(source, *reference->facts))
        if (reference != &candidate && share_cpus(view.cpus, other.cpus) &&
            other.figures.read_bandwidth > here.other.read_bandwidth) {
          here.reference = reference;
          here.other = other.figures;
        }
    if (here.reference != nullptr) best = here;
  }
  return best;
}

bool has_all(const Figures& figures) {
  return figures.read_bandwidth > 0 && figures.write_bandwidth > 0 && figures.read_latency > 0 &&
         figures.write_latency > 0;
}

Comparison compare(const Candidate& candidate, const std::vector<const Candidate*>& references) {
  const Comparison measured = compare_by(Source::measured, candidate, references);
  if (measured.reference != nullptr && has_all(measured.own) && has_all(measured.other))
    return measured;
  const Comparison given = compare_by(Source::firmware, candidate, references);
  return given.reference != nullptr ? given : measured;
}

bool within(double a, double b, double share) {
  return std::min(a, b) >= (1 - share) * std::max(a, b);
}

bool alike(const Figures& a, const Figures& b) {
  return within(a.read_bandwidth, b.read_bandwidth, k_alike) &&
         within(a.write_bandwidth, b.write_bandwidth, k_alike) &&
         within(a.read_latency, b.read_latency, k_alike) &&
         within(a.write_latency, b.write_latency, k_alike);
}

bool is_cxl(const Comparison& c) {
  const bool complete =
      c.own.write_bandwidth > 0 && c.own.read_latency > 0 && c.other.read_latency > 0;
  return complete && c.own.read_bandwidth <= c.other.read_bandwidth &&
         c.own.read_latency >= k_cxl_latency_ratio * c.other.read_latency &&
         c.own.write_bandwidth <= k_cxl_symmetry * c.own.read_bandwidth &&
         c.own.read_bandwidth <= k_cxl_symmetry * c.own.write_bandwidth;
}

std::string apply_forced(std::vector<Candidate>& candidates, const NodesByKind& forced) {
  for (const MemoryKind kind : k_all_memory_kinds)
    for (const unsigned number : forced[static_cast<std::size_t>(kind)]) {
      const auto at = std::ranges::find_if(
          candidates, [&](const Candidate& c) { return c.facts->number == number; });
      if (at == candidates.end())
        return "OMPTIER_NODES names node " + std::to_string(number) + " as " +
               std::string(name_of(kind)) +
               ", which does not exist here or may not be used; 'omptier topology' lists the nodes";
      decide(*at, kind, "named in OMPTIER_NODES");
    }
  return {};
}

void apply_origins(std::vector<Candidate>& candidates) {
  for (Candidate& c : candidates) {
    if (decided(c)) continue;
    if (c.facts->origin == MemoryOrigin::nvdimm)
      decide(c, MemoryKind::nvm, "NVDIMM (NFIT) behind " + c.facts->origin_name);
    else if (c.facts->origin == MemoryOrigin::cxl)
      decide(c, MemoryKind::cxl, "CXL region behind " + c.facts->origin_name);
  }
}

double write_share(const Figures& figures) {
  return figures.read_bandwidth > 0 ? figures.write_bandwidth / figures.read_bandwidth : 0;
}

Figures fastest(const std::vector<InitiatorView>& views) {
  Figures best;
  for (const InitiatorView& view : views)
    if (view.figures.read_bandwidth > best.read_bandwidth) best = view.figures;
  return best;
}

// What of a memory's read rate it can be written at, or 0 = not known to be less than half.
double slow_write_share(const Candidate& candidate, const std::vector<const Candidate*>& owners) {
  const auto below = [](double share) { return share < k_nvm_write_ratio ? share : 0; };
  if (candidate.facts->cpus.empty()) {
    const Comparison seen = compare_by(Source::measured, candidate, owners);
    const double share = write_share(seen.own), usual = write_share(seen.other);
    if (seen.reference != nullptr && share > 0 && usual > 0)
      return share < k_measured_write_ratio * usual &&
                     seen.own.read_bandwidth < seen.other.read_bandwidth
                 ? below(share)
                 : 0;
  }
  return below(write_share(fastest(views_by(Source::firmware, *candidate.facts))));
}

// If this rule made every node NVM, the firmware's figures would be wrong: one kind only.
void apply_asymmetry(std::vector<Candidate>& candidates) {
  std::vector<std::pair<Candidate*, double>> slow_writers;
  std::vector<const Candidate*> owners;
  for (const Candidate& c : candidates)
    if (!c.facts->cpus.empty()) owners.push_back(&c);
  std::size_t others = 0;
  for (Candidate& c : candidates) {
    const double share = decided(c) ? 0 : slow_write_share(c, owners);
    if (share > 0)
      slow_writers.emplace_back(&c, share);
    else
      ++others;
  }
  if (others == 0) return;
  for (auto& [candidate, share] : slow_writers)
    decide(*candidate, MemoryKind::nvm,
           "write bandwidth is " + ratio(share) + " of read (less than half)");
}

// DRAM named so, and undecided memory of processors.
std::vector<const Candidate*> references_of(const std::vector<Candidate>& candidates) {
  std::vector<const Candidate*> references;
  for (const Candidate& c : candidates)
    if (decided(c) ? c.kind == MemoryKind::dram : !c.facts->cpus.empty()) references.push_back(&c);
  return references;
}

// Processors whose own memory is HBM, with DRAM beside it.
void apply_inverted_pairs(std::vector<Candidate>& candidates) {
  const std::vector<const Candidate*> references = references_of(candidates);
  for (Candidate& c : candidates) {
    if (decided(c) || !c.facts->cpus.empty()) continue;
    const Comparison against = compare(c, references);
    if (against.reference == nullptr || is_cxl(against)) continue;
    if (against.other.read_bandwidth < k_hbm_bandwidth_ratio * against.own.read_bandwidth ||
        against.own.read_latency <= 0 || against.own.read_latency > against.other.read_latency)
      continue;
    Candidate& owner = candidates[static_cast<std::size_t>(against.reference - candidates.data())];
    if (owner.kind == MemoryKind::dram) continue; // named so
    if (!decided(owner))
      decide(owner, MemoryKind::hbm,
             "read bandwidth is " +
                 ratio(against.other.read_bandwidth / against.own.read_bandwidth) +
                 " times that of DRAM (" + node_text(c) + ") from the same CPUs");
    decide(c, MemoryKind::dram, "beside HBM (" + node_text(owner) + "), of no higher latency");
  }
}

void apply_comparisons(std::vector<Candidate>& candidates) {
  const std::vector<const Candidate*> references = references_of(candidates);
  for (Candidate& c : candidates) {
    if (decided(c)) continue;
    const Comparison against = compare(c, references);
    if (against.reference == nullptr) continue;
    const double bandwidth = against.own.read_bandwidth / against.other.read_bandwidth;
    const std::string dram = " DRAM's (" + node_text(*against.reference) + ")";
    if (bandwidth >= k_hbm_bandwidth_ratio)
      decide(c, MemoryKind::hbm,
             "read bandwidth is " + ratio(bandwidth) + " times" + dram + " from the same CPUs");
    else if (c.facts->cpus.empty() && is_cxl(against))
      decide(c, MemoryKind::cxl,
             "CXL (by attributes): no CPUs, read latency is " +
                 ratio(against.own.read_latency / against.other.read_latency) +
                 " times and bandwidth " + ratio(bandwidth) + " times" + dram);
    else if (c.facts->cpus.empty() && alike(against.own, against.other))
      decide(c, MemoryKind::dram, "figures within 10 % of" + dram);
  }
}

void apply_rest(std::vector<Candidate>& candidates, const std::string& firmware_memory) {
  const bool one_kind = std::ranges::all_of(
      candidates, [](const Candidate& c) { return !decided(c) && !c.facts->cpus.empty(); });
  for (Candidate& c : candidates) {
    if (decided(c)) continue;
    if (one_kind && firmware_memory == "HBM")
      decide(c, MemoryKind::hbm, "only kind of memory here, and the firmware lists HBM only");
    else if (one_kind && candidates.size() == 1)
      decide(c, MemoryKind::dram, "only memory here");
    else if (one_kind)
      decide(c, MemoryKind::dram, "only kind of memory here");
    else if (!c.facts->cpus.empty())
      decide(c, MemoryKind::dram, "memory of its own CPUs");
    else if (c.facts->views.empty() || compare(c, references_of(candidates)).reference == nullptr) {
      if (c.facts->label == "MCDRAM" || c.facts->label == "HBM")
        decide(c, MemoryKind::hbm, "the firmware labels it " + c.facts->label + " (no figures)");
      else if (c.facts->label == "NVM")
        decide(c, MemoryKind::nvm, "the firmware labels it NVM (no figures)");
      else
        decide(c, MemoryKind::unknown,
               "no figures from the firmware; OMPTIER_NODES can say what it is");
    } else
      decide(c, MemoryKind::unknown, "its figures fit no rule; OMPTIER_NODES can say what it is");
  }
}

} // namespace

Parsed<std::vector<Node>> classify(const MachineFacts& facts, const NodesByKind& forced) {
  std::vector<Candidate> candidates;
  for (const NodeFacts& node : facts.nodes)
    candidates.push_back({&node, MemoryKind::unknown, {}});
  if (std::string error = apply_forced(candidates, forced); !error.empty())
    return Parsed<std::vector<Node>>::failure(std::move(error));
  apply_origins(candidates);
  apply_asymmetry(candidates);
  apply_inverted_pairs(candidates);
  apply_comparisons(candidates);
  apply_rest(candidates, facts.firmware_memory);
  std::vector<Node> nodes;
  for (Candidate& c : candidates)
    nodes.push_back({c.facts->number, c.kind, std::move(c.rule), c.facts->capacity, c.facts->cpus,
                     c.facts->views});
  return nodes;
}

} // namespace omptier
