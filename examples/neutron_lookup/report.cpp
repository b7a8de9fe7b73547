// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See report.hpp. Facts are collected once as texts, then written in either form.

#include "report.hpp"

#include <cstdarg>
#include <cstdio>
#include <string>

namespace neutron {
namespace {

struct Fact {
  std::string name, value, remark;
  bool quoted; // in JSON
};

[[gnu::format(printf, 1, 2)]] std::string formatted(const char* format, ...) {
  char text[200];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

class Facts {
public:
  void number(const char* name, std::uint64_t value, std::string remark = {}) {
    facts_.push_back({name, std::to_string(value), std::move(remark), false});
  }
  void real(const char* name, double value, std::string remark = {}) {
    facts_.push_back({name, formatted("%.6f", value), std::move(remark), false});
  }
  void text(const char* name, std::string value) {
    facts_.push_back({name, std::move(value), {}, true});
  }
  void bytes(const char* name, std::size_t value, std::size_t all) {
    number(name, value,
           formatted("%.2f MiB, %.1f %%", static_cast<double>(value) / (1 << 20),
                     100.0 * static_cast<double>(value) / static_cast<double>(all)));
  }

  void print_lines() const {
    std::puts("# neutron_lookup: macroscopic cross sections at random energies");
    for (const Fact& fact : facts_)
      std::printf(fact.remark.empty() ? "%-24s %s\n" : "%-24s %-14s # %s\n", fact.name.c_str(),
                  fact.value.c_str(), fact.remark.c_str());
  }

  // No value has a character that JSON escapes.
  void print_json() const {
    const char* separator = "{";
    for (const Fact& fact : facts_) {
      const char* quote = fact.quoted ? "\"" : "";
      std::printf("%s\n  \"%s\": %s%s%s", separator, fact.name.c_str(), quote, fact.value.c_str(),
                  quote);
      separator = ",";
    }
    std::puts("\n}");
  }

private:
  std::vector<Fact> facts_;
};

std::string describe(const Placement& placement) {
  if (placement.choice == AllocatorChoice::plain) return "plain";
  if (placement.choice == AllocatorChoice::extended) return "extended";
  std::string text;
  for (int a = 0; a < k_arrays; ++a)
    text += std::string(text.empty() ? "" : ",") + k_array_names[a] + "=" +
            (placement.kinds[a].empty() ? "default" : placement.kinds[a]);
  return text;
}

double nuclides_per_lookup(const std::vector<Material>& materials) {
  double sum = 0;
  for (const Material& material : materials)
    sum += material.frequency * 1e-3 * static_cast<double>(material.components.size());
  return sum;
}

std::string describe_where(const void* first, std::size_t bytes) {
  constexpr const char* kinds[] = {"dram", "hbm", "nvm", "cxl"};
  const auto found = bytes_by_kind(first, bytes);
  std::string text;
  for (int kind = 0; found && kind < 4; ++kind)
    if ((*found)[kind] != 0)
      text += (text.empty() ? "" : ",") + std::string(kinds[kind]) + ":" +
              std::to_string((*found)[kind]);
  return text.empty() ? "unknown" : text;
}

} // namespace

std::array<std::string, k_arrays> describe_where(const Grids& grids) {
  std::array<std::string, k_arrays> where;
  where[index_grid] = describe_where(grids.index, grids.shape.index_bytes());
  where[unionized_grid] = describe_where(grids.unionized, grids.shape.unionized_bytes());
  where[nuclide_grid] = describe_where(grids.nuclide, grids.shape.nuclide_bytes());
  return where;
}

std::array<std::string, k_arrays> describe_ranges(const Grids& grids) {
  const auto range = [](const void* first, std::size_t bytes) {
    const auto address = reinterpret_cast<std::uintptr_t>(first);
    return formatted("%zx-%zx", static_cast<std::size_t>(address),
                     static_cast<std::size_t>(address + bytes - 1));
  };
  std::array<std::string, k_arrays> ranges;
  ranges[index_grid] = range(grids.index, grids.shape.index_bytes());
  ranges[unionized_grid] = range(grids.unionized, grids.shape.unionized_bytes());
  ranges[nuclide_grid] = range(grids.nuclide, grids.shape.nuclide_bytes());
  return ranges;
}

void print_report(const Options& options, const std::vector<Material>& materials,
                  const Report& report) {
  const Shape& shape = options.shape;
  Facts facts;
  facts.text("size", options.size);
  facts.number("nuclides", shape.nuclides);
  facts.number("gridpoints", shape.gridpoints, "per nuclide");
  facts.number("materials", materials.size());
  facts.real("nuclides_per_lookup", nuclides_per_lookup(materials), "mean over the materials");
  facts.bytes("bytes_index_grid", shape.index_bytes(), shape.total_bytes());
  facts.bytes("bytes_unionized_grid", shape.unionized_bytes(), shape.total_bytes());
  facts.bytes("bytes_nuclide_grid", shape.nuclide_bytes(), shape.total_bytes());
  facts.bytes("bytes_total", shape.total_bytes(), shape.total_bytes());
  facts.text("allocator", describe(options.placement));
  facts.text("allocation_order",
             options.reverse_order ? "nuclide,unionized,index" : "index,unionized,nuclide");
  facts.number("threads", static_cast<std::uint64_t>(report.threads));
  facts.number("seed", options.seed);
  facts.number("lookups", options.lookups);
  facts.text("marked", report.marked ? "yes" : "no");
  facts.real("setup_seconds", report.setup_seconds);
  facts.real("lookup_seconds", report.lookup_seconds);
  facts.real("lookups_per_second", static_cast<double>(options.lookups) / report.lookup_seconds);
  facts.text("checksum", formatted("%016llx", static_cast<unsigned long long>(report.checksum)));
  if (report.verified) facts.text("verified", *report.verified ? "yes" : "no");
  for (int a = 0; a < k_arrays; ++a)
    if (!report.where[a].empty())
      facts.text(("where_" + std::string(k_array_names[a]) + "_grid").c_str(), report.where[a]);
  for (int a = 0; a < k_arrays; ++a)
    if (!report.range[a].empty())
      facts.text(("range_" + std::string(k_array_names[a]) + "_grid").c_str(), report.range[a]);
  for (std::size_t i = 0; i < report.trials.size(); ++i) {
    const std::string name = "try_" + std::to_string(i + 1);
    facts.text(name.c_str(), describe(options.tries[i]));
    facts.real((name + "_seconds").c_str(), report.trials[i].seconds);
    for (int a = 0; a < k_arrays; ++a)
      facts.text((name + "_where_" + k_array_names[a]).c_str(), report.trials[i].where[a]);
  }
  if (options.json)
    facts.print_json();
  else
    facts.print_lines();
}

} // namespace neutron
