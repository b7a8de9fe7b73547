// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads and writes platform files. A file is small, so the JSON library makes a tree of it, and one
// table names the figures. Exceptions (bad JSON, exhausted memory) end here.
#include "platform/platform_file.hpp"

#include "base/os.hpp"
#include "platform/describe.hpp"

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace omptier {
namespace {

using Json = nlohmann::ordered_json;

constexpr unsigned k_version = 1;
constexpr unsigned k_most_numbers = 1 << 16; // of processors and nodes
constexpr std::size_t k_most_views = 4096;

struct FigureField {
  const char* name;
  double Figures::* figure;
  double most;
};
constexpr double k_most_nanoseconds = 1e9, k_most_rate = 1e16, k_most_block = 1 << 20;
constexpr std::array<FigureField, 6> k_figure_fields = {{
    {"read_latency", &Figures::read_latency, k_most_nanoseconds},
    {"write_latency", &Figures::write_latency, k_most_nanoseconds},
    {"read_bandwidth", &Figures::read_bandwidth, k_most_rate},
    {"write_bandwidth", &Figures::write_bandwidth, k_most_rate},
    {"mixed_bandwidth", &Figures::mixed_bandwidth, k_most_rate},
    {"block", &Figures::block, k_most_block},
}};

// What is wrong with a file; caught in parse_platform_file.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

const Json& field(const Json& object, const std::string& where, const char* name) {
  const auto at = object.find(name);
  if (at == object.end()) throw Refused(where + " lacks " + in_quotes(name));
  return *at;
}

void only(const Json& object, const std::string& where, std::initializer_list<const char*> names) {
  if (!object.is_object()) throw Refused(where + " must be an object {...}");
  for (const auto& [name, value] : object.items())
    if (std::ranges::none_of(names, [&](const char* known) { return name == known; }))
      throw Refused(where + " has an unknown field " + in_quotes(name));
}

std::string text_of(const Json& object, const std::string& where, const char* name) {
  const Json& value = field(object, where, name);
  if (!value.is_string()) throw Refused(where + ": " + in_quotes(name) + " must be a text");
  auto text = value.get<std::string>();
  for (const char c : text)
    if (static_cast<unsigned char>(c) < ' ')
      throw Refused(where + ": " + in_quotes(name) + " must be one line");
  return text;
}

std::uint64_t whole_of(const Json& object, const std::string& where, const char* name,
                       std::uint64_t least, std::uint64_t most) {
  const Json& value = field(object, where, name);
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() < least ||
      value.get<std::uint64_t>() > most)
    throw Refused(where + ": " + in_quotes(name) + " must be a whole number from " +
                  std::to_string(least) + " to " + std::to_string(most));
  return value.get<std::uint64_t>();
}

const Json& array_of(const Json& object, const std::string& where, const char* name) {
  const Json& value = field(object, where, name);
  if (!value.is_array()) throw Refused(where + ": " + in_quotes(name) + " must be an array [...]");
  if (value.size() > k_most_views)
    throw Refused(where + ": " + in_quotes(name) + " has more than " +
                  std::to_string(k_most_views) + " elements");
  return value;
}

bool take_number(std::string_view& text, unsigned& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || value >= k_most_numbers) return false;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return true;
}

// "0-3,8", ascending; false if it is anything else.
bool parse_cpus(std::string_view text, std::vector<unsigned>& cpus) {
  while (!text.empty()) {
    unsigned first = 0;
    if (!take_number(text, first)) return false;
    unsigned last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      if (!take_number(text, last) || last < first) return false;
    }
    if (!cpus.empty() && first <= cpus.back()) return false;
    for (unsigned cpu = first; cpu <= last; ++cpu)
      cpus.push_back(cpu);
    if (text.empty()) return true;
    if (!text.starts_with(',')) return false;
    text.remove_prefix(1);
  }
  return cpus.empty();
}

std::vector<unsigned> cpus_of(const Json& object, const std::string& where) {
  std::vector<unsigned> cpus;
  if (!parse_cpus(text_of(object, where, "cpus"), cpus))
    throw Refused(where + R"(: "cpus" must be ascending processor numbers such as "0-3,8")");
  return cpus;
}

MachineKey machine_of(const Json& file) {
  const Json& object = field(file, "the file", "machine");
  only(object, "\"machine\"", {"processor", "nodes"});
  MachineKey machine;
  machine.processor = text_of(object, "\"machine\"", "processor");
  for (const Json& node : array_of(object, "\"machine\"", "nodes")) {
    const std::string where = "machine's node " + std::to_string(machine.nodes.size() + 1);
    only(node, where, {"node", "cpus", "bytes"});
    const auto number = static_cast<unsigned>(whole_of(node, where, "node", 0, k_most_numbers - 1));
    if (!machine.nodes.empty() && number <= machine.nodes.back().number)
      throw Refused(where + ": nodes must be in ascending order");
    machine.nodes.push_back(
        {number, cpus_of(node, where), whole_of(node, where, "bytes", 1, std::uint64_t{1} << 60)});
  }
  if (machine.nodes.empty()) throw Refused("\"machine\" has no nodes");
  return machine;
}

MeasuredView view_of(const Json& object, std::size_t number, const MachineKey& machine) {
  const std::string where = "figures " + std::to_string(number);
  only(object, where,
       {"cpus", "node", "read_latency", "write_latency", "read_bandwidth", "write_bandwidth",
        "mixed_bandwidth", "block"});
  MeasuredView view;
  view.cpus = cpus_of(object, where);
  if (view.cpus.empty()) throw Refused(where + ": \"cpus\" is empty");
  view.node = static_cast<unsigned>(whole_of(object, where, "node", 0, k_most_numbers - 1));
  if (std::ranges::find(machine.nodes, view.node, &KeyNode::number) == machine.nodes.end())
    throw Refused(where + ": the machine has no node " + std::to_string(view.node));
  for (const FigureField& known : k_figure_fields) {
    if (!object.contains(known.name)) continue;
    const Json& value = object[known.name];
    if (!value.is_number() || !(value.get<double>() > 0) || value.get<double>() > known.most)
      throw Refused(where + ": " + in_quotes(known.name) + " must be a number above 0, at most " +
                    std::to_string(static_cast<std::uint64_t>(known.most)));
    view.figures.*known.figure = value.get<double>();
  }
  view.figures.block_is_known = object.contains("block");
  return view;
}

PlatformFile file_of(const Json& json) {
  only(json, "the file", {"omptier_platform", "made_by", "measured", "machine", "figures"});
  if (const auto version = whole_of(json, "the file", "omptier_platform", 1, 1'000'000);
      version != k_version)
    throw Refused("is of version " + std::to_string(version) + ", this omptier reads " +
                  std::to_string(k_version));
  PlatformFile file;
  file.made_by = text_of(json, "the file", "made_by");
  file.measured = text_of(json, "the file", "measured");
  file.machine = machine_of(json);
  for (const Json& object : array_of(json, "the file", "figures"))
    file.figures.push_back(view_of(object, file.figures.size() + 1, file.machine));
  return file;
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) > '~') c = ' ';
  return text;
}

// The file's text, or why it cannot be read.
std::string read_whole(const std::string& path, std::string& text) {
  const int fd = os().open(path.c_str(), O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return std::strerror(errno);
  std::string error;
  char part[1 << 14];
  while (true) {
    const ssize_t got = os().read(fd, part, sizeof part);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) error = std::strerror(errno);
    if (got <= 0) break;
    text.append(part, static_cast<std::size_t>(got));
    if (text.size() > k_largest_platform_file) error = "larger than any platform file";
    if (!error.empty()) break;
  }
  os().close(fd);
  return error;
}

} // namespace

Parsed<PlatformFile> parse_platform_file(std::string_view json, std::string_view name) {
  using Outcome = Parsed<PlatformFile>;
  const std::string begin = std::string(name) + ": ";
  try {
    return file_of(Json::parse(json.begin(), json.end()));
  } catch (const Json::exception& problem) {
    std::string why = problem.what(); // "[json.exception.parse_error.101] parse error at …"
    if (const std::size_t at = why.find("] "); at != std::string::npos) why.erase(0, at + 2);
    return Outcome::failure(begin + "no platform file: " + one_line(std::move(why)));
  } catch (const Refused& refused) {
    return Outcome::failure(begin + refused.what());
  } catch (const std::exception& problem) {
    return Outcome::failure(begin + "cannot be read: " + problem.what());
  }
}

Parsed<PlatformFile> read_platform_file(const std::string& path) {
  std::string text;
  if (const std::string why = read_whole(path, text); !why.empty())
    return Parsed<PlatformFile>::failure(path + ": cannot be read: " + why);
  return parse_platform_file(text, path);
}

std::string write_platform_file(const PlatformFile& file) {
  Json nodes = Json::array();
  for (const KeyNode& node : file.machine.nodes)
    nodes.push_back(
        {{"node", node.number}, {"cpus", format_numbers(node.cpus)}, {"bytes", node.bytes}});
  Json figures = Json::array();
  for (const MeasuredView& view : file.figures) {
    Json object = {{"cpus", format_numbers(view.cpus)}, {"node", view.node}};
    for (const FigureField& known : k_figure_fields)
      if (const double value = view.figures.*known.figure;
          value > 0 && (known.figure != &Figures::block || view.figures.block_is_known))
        object[known.name] = value;
    figures.push_back(std::move(object));
  }
  const Json all = {{"omptier_platform", k_version},
                    {"made_by", file.made_by},
                    {"measured", file.measured},
                    {"machine", {{"processor", file.machine.processor}, {"nodes", nodes}}},
                    {"figures", figures}};
  return all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

} // namespace omptier
