// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See options.hpp. A size is a name, a number of bytes, or nuclides × gridpoints. The first two fix
// the nuclides and determine the gridpoints.

#include "options.hpp"

#include "materials.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace neutron {
namespace {

// With 176 nuclides the nuclide grid is 6.3 % of all bytes, the unionized grid 1.1 %.
constexpr std::uint32_t k_nuclides = 176;
constexpr std::uint32_t k_max_gridpoints = 1'000'000'000;

struct NamedSize {
  std::string_view name;
  std::uint32_t nuclides, gridpoints;
  std::uint64_t lookups;
};
constexpr NamedSize k_sizes[] = {
    {"tiny", k_nuclides, 62, 20'000},         //   8 MB
    {"small", k_nuclides, 600, 50'000},       //  80 MB, for the virtual machine
    {"medium", k_nuclides, 4'800, 1'000'000}, // 640 MB
    {"large", k_nuclides, 32'000, 5'000'000}, // 4.3 GB
    {"reactor", 355, 11'303, 5'000'000},      // 5.9 GB, the published shape
};

constexpr const char* k_help =
    "usage: neutron_lookup [options]\n"
    "Looks up macroscopic neutron cross sections at random energies, as Monte Carlo transport "
    "does.\n"
    "\n"
    "  --size NAME          tiny 8 MB, small 80 MB (default), medium 640 MB, large 4.3 GB,\n"
    "                       reactor 5.9 GB (355 nuclides of 11303 points, as published)\n"
    "  --bytes N[K|M|G]     at most this much for the three arrays\n"
    "  --nuclides N         37 to 4096 (default 176)\n"
    "  --gridpoints N       energies tabulated per nuclide, at least 2\n"
    "  --lookups N          (default 20000 to 5000000, by size)\n"
    "  --threads N          (default: as OpenMP decides)\n"
    "  --seed N             of data and neutrons (default 1)\n"
    "  --allocator plain    omp_alloc with the default allocator (default)\n"
    "  --allocator extended an allocator with traits for each array (needs OMPTier)\n"
    "  --place ARRAY=KIND,… by hand; ARRAY index, unionized, nuclide;\n"
    "                       KIND default, auto, dram, hbm, nvm, cxl (needs OMPTier)\n"
    "  --try ARRAY=KIND,…   then move the arrays there and look up again, as often as it is\n"
    "                       given (needs OMPTier)\n"
    "  --reverse-order      allocate nuclide, unionized, index instead of the other way round\n"
    "  --mark               time model of OMPTier's virtual machine on during the lookups only\n"
    "  --verify             check the arrays, and the checksum against one computed without them\n"
    "  --where              print how many bytes of each array lie in which kind of memory\n"
    "  --json               print JSON\n";

bool refuse(const std::string& text) {
  std::fprintf(stderr, "neutron_lookup: %s; see --help\n", text.c_str());
  return false;
}

std::string quoted(std::string_view text) {
  return "'" + std::string(text) + "'";
}

template <typename Number>
bool read_number(std::string_view option, std::string_view text, Number least, Number most,
                 Number& number) {
  const char* last = text.data() + text.size();
  const auto [end, failure] = std::from_chars(text.data(), last, number);
  if (failure == std::errc() && end == last && number >= least && number <= most) return true;
  return refuse(std::string(option) + " needs a whole number from " + std::to_string(least) +
                " to " + std::to_string(most) + ", not " + quoted(text));
}

bool read_bytes(std::string_view text, std::uint64_t& bytes) {
  int shift = 0;
  std::string_view digits = text;
  if (!digits.empty()) {
    const std::string_view suffixes = "KMGT";
    const std::size_t which = suffixes.find(digits.back());
    if (which != std::string_view::npos) {
      shift = 10 * (static_cast<int>(which) + 1);
      digits.remove_suffix(1);
    }
  }
  const char* last = digits.data() + digits.size();
  const auto [end, failure] = std::from_chars(digits.data(), last, bytes);
  if (failure != std::errc() || end != last || bytes > (std::uint64_t{1} << 46) >> shift)
    return refuse("--bytes needs a size such as 64M, not " + quoted(text));
  bytes <<= shift;
  return true;
}

// option: --place or --try.
bool read_place(const std::string& option, std::string_view text, Placement& placement) {
  placement.choice = AllocatorChoice::by_hand;
  do {
    const std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(item.size() < text.size() ? item.size() + 1 : item.size());
    const std::size_t equals = item.find('=');
    if (equals == std::string_view::npos)
      return refuse(option + " needs ARRAY=KIND, not " + quoted(item));
    const std::string_view array = item.substr(0, equals);
    const std::string kind(item.substr(equals + 1));
    int which = 0;
    while (which < k_arrays && array != k_array_names[which])
      ++which;
    if (which == k_arrays) return refuse(option + " has no array " + quoted(array));
    if (!is_memory_kind(kind)) return refuse(option + " has no memory kind " + quoted(kind));
    placement.kinds[which] = kind;
  } while (!text.empty());
  return true;
}

bool read_allocator(std::string_view text, Placement& placement) {
  if (text == "plain")
    placement.choice = AllocatorChoice::plain;
  else if (text == "extended")
    placement.choice = AllocatorChoice::extended;
  else
    return refuse("--allocator is plain or extended, not " + quoted(text));
  return true;
}

bool read_size(std::string_view text, Options& options) {
  for (const NamedSize& size : k_sizes)
    if (text == size.name) {
      options.size = text;
      options.shape = {size.nuclides, size.gridpoints};
      options.lookups = size.lookups;
      return true;
    }
  return refuse("--size has no " + quoted(text));
}

// The command line while it is parsed; 0 where an option is absent.
struct Reading {
  Options options;
  std::uint64_t bytes = 0, lookups = 0;
  std::uint32_t nuclides = 0, gridpoints = 0;
  bool allocator_named = false, placed = false;
};

struct Rule {
  std::string_view name;
  bool wants_value;
  bool (*take)(Reading& r, std::string_view value);
};

constexpr Rule k_rules[] = {
    {"--size", true, [](Reading& r, std::string_view v) { return read_size(v, r.options); }},
    {"--bytes", true, [](Reading& r, std::string_view v) { return read_bytes(v, r.bytes); }},
    {"--nuclides", true,
     [](Reading& r, std::string_view v) {
       return read_number("--nuclides", v, k_light_nuclides + 1, k_max_nuclides, r.nuclides);
     }},
    {"--gridpoints", true,
     [](Reading& r, std::string_view v) {
       return read_number("--gridpoints", v, 2u, k_max_gridpoints, r.gridpoints);
     }},
    {"--lookups", true,
     [](Reading& r, std::string_view v) {
       return read_number("--lookups", v, std::uint64_t{1}, std::uint64_t{1} << 48, r.lookups);
     }},
    {"--threads", true,
     [](Reading& r, std::string_view v) {
       return read_number("--threads", v, 1, 4096, r.options.threads);
     }},
    {"--seed", true,
     [](Reading& r, std::string_view v) {
       return read_number("--seed", v, std::uint64_t{0}, ~std::uint64_t{0}, r.options.seed);
     }},
    {"--allocator", true,
     [](Reading& r, std::string_view v) {
       r.allocator_named = true;
       return read_allocator(v, r.options.placement);
     }},
    {"--place", true,
     [](Reading& r, std::string_view v) {
       r.placed = true;
       return read_place("--place", v, r.options.placement);
     }},
    {"--try", true,
     [](Reading& r, std::string_view v) {
       return read_place("--try", v, r.options.tries.emplace_back());
     }},
    {"--reverse-order", false,
     [](Reading& r, std::string_view) { return r.options.reverse_order = true; }},
    {"--mark", false, [](Reading& r, std::string_view) { return r.options.mark = true; }},
    {"--verify", false, [](Reading& r, std::string_view) { return r.options.verify = true; }},
    {"--where", false, [](Reading& r, std::string_view) { return r.options.where = true; }},
    {"--json", false, [](Reading& r, std::string_view) { return r.options.json = true; }},
};

bool take_argument(Reading& reading, int argc, char** argv, int& i) {
  const std::string_view name = argv[i];
  for (const Rule& rule : k_rules) {
    if (name != rule.name) continue;
    if (!rule.wants_value) return rule.take(reading, {});
    if (i + 1 == argc) return refuse(std::string(name) + " needs a value");
    return rule.take(reading, argv[++i]);
  }
  return refuse("no option " + quoted(name));
}

bool settle_gridpoints(const Reading& reading, Shape& shape) {
  const std::size_t one = Shape{shape.nuclides, 1}.total_bytes();
  const std::uint64_t gridpoints = reading.bytes / one;
  if (gridpoints < 2)
    return refuse("--bytes must be at least " + std::to_string(2 * one) + " for " +
                  std::to_string(shape.nuclides) + " nuclides");
  shape.gridpoints =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(gridpoints, k_max_gridpoints));
  return true;
}

bool settle(Reading& reading) {
  Options& options = reading.options;
  if (reading.bytes != 0 && reading.gridpoints != 0)
    return refuse("--bytes and --gridpoints exclude each other");
  if (reading.allocator_named && reading.placed)
    return refuse("--allocator and --place exclude each other");
  if (reading.nuclides != 0) options.shape.nuclides = reading.nuclides;
  if (reading.gridpoints != 0) options.shape.gridpoints = reading.gridpoints;
  if (reading.nuclides != 0 || reading.gridpoints != 0) options.size = "shape";
  if (reading.lookups != 0) options.lookups = reading.lookups;
  if (reading.bytes == 0) return true;
  options.size = "bytes";
  return settle_gridpoints(reading, options.shape);
}

} // namespace

std::optional<Options> read_options(int argc, char** argv) {
  Reading reading;
  read_size(reading.options.size, reading.options);
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--help") {
      std::fputs(k_help, stdout);
      std::exit(0);
    }
    if (!take_argument(reading, argc, argv, i)) return std::nullopt;
  }
  if (!settle(reading)) return std::nullopt;
  return reading.options;
}

} // namespace neutron
