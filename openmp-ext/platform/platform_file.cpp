// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads and writes platform files. A file is small, so the JSON library makes a tree of it, and one
// table names the figures. Exceptions (bad JSON, exhausted memory) end here.
#include "platform/platform_file.hpp"

#include "base/os.hpp"
#include "platform/describe.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <sys/stat.h>
#include <tuple>

namespace omptier {
namespace {

using Json = nlohmann::ordered_json;

constexpr unsigned k_version = 1;
constexpr unsigned k_most_numbers = 1 << 16; // of processors and nodes
constexpr std::size_t k_most_views = std::size_t{1} << 14; // 128 nodes, each from each
constexpr std::size_t k_most_cpus = std::size_t{1} << 20;  // of all lists together
constexpr int k_most_depth = 5, k_most_fields = 64;        // of an object

struct FigureField {
  const char* name;
  double Figures::* figure;
  double least, most;
};
// The least rate is that of a slow memory of a timed virtual machine.
constexpr double k_most_nanoseconds = 1e9, k_least_rate = 1e3, k_most_rate = 1e16;
constexpr std::array<FigureField, 6> k_figure_fields = {{
    {"read_latency", &Figures::read_latency, 1, k_most_nanoseconds},
    {"write_latency", &Figures::write_latency, 1, k_most_nanoseconds},
    {"read_bandwidth", &Figures::read_bandwidth, k_least_rate, k_most_rate},
    {"write_bandwidth", &Figures::write_bandwidth, k_least_rate, k_most_rate},
    {"mixed_bandwidth", &Figures::mixed_bandwidth, k_least_rate, k_most_rate},
    {"block", &Figures::block, 1, 1 << 20},
}};

bool is_known(const Figures& figures, double Figures::* figure) {
  return figures.*figure > 0 && (figure != &Figures::block || figures.block_is_known);
}

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

// "0-3,8", ascending; false if it is anything else, or more than are left.
bool parse_cpus(std::string_view text, std::vector<unsigned>& cpus, std::size_t left) {
  while (!text.empty()) {
    unsigned first = 0;
    if (!take_number(text, first)) return false;
    unsigned last = first;
    if (text.starts_with('-')) {
      text.remove_prefix(1);
      if (!take_number(text, last) || last < first) return false;
    }
    if (!cpus.empty() && first <= cpus.back()) return false;
    if (last - first >= left - cpus.size()) return false;
    for (unsigned cpu = first; cpu <= last; ++cpu)
      cpus.push_back(cpu);
    if (text.empty()) return true;
    if (!text.starts_with(',')) return false;
    text.remove_prefix(1);
  }
  return cpus.empty();
}

// left: how many processors the lists of the file may still name.
std::vector<unsigned> cpus_of(const Json& object, const std::string& where, std::size_t& left) {
  std::vector<unsigned> cpus;
  if (!parse_cpus(text_of(object, where, "cpus"), cpus, left))
    throw Refused(where + R"(: "cpus" must be ascending processor numbers such as "0-3,8")");
  left -= cpus.size();
  return cpus;
}

// All of a machine, ascending; each belongs to one node.
std::vector<unsigned> cpus_of(const MachineKey& machine) {
  std::vector<unsigned> cpus;
  for (const KeyNode& node : machine.nodes)
    cpus.insert(cpus.end(), node.cpus.begin(), node.cpus.end());
  std::ranges::sort(cpus);
  if (std::ranges::adjacent_find(cpus) != cpus.end())
    throw Refused("\"machine\": a processor belongs to two nodes");
  return cpus;
}

MachineKey machine_of(const Json& file, std::size_t& left) {
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
    machine.nodes.push_back({number, cpus_of(node, where, left),
                             whole_of(node, where, "bytes", 1, std::uint64_t{1} << 60)});
  }
  if (machine.nodes.empty()) throw Refused("\"machine\" has no nodes");
  return machine;
}

void take_earlier(const Json& object, const std::string& where, MeasuredView& view) {
  const auto at = object.find("earlier");
  if (at == object.end()) return;
  if (!at->is_object()) throw Refused(where + ": \"earlier\" must be an object {...}");
  for (const auto& [name, date] : at->items()) {
    const auto* const known =
        std::ranges::find_if(k_figure_fields, [&](const auto& one) { return one.name == name; });
    if (known == k_figure_fields.end() || !object.contains(name))
      throw Refused(where + ": \"earlier\" names " + in_quotes(name) + ", which is no figure here");
    view.earlier.push_back({known->figure, text_of(*at, where, known->name)});
  }
}

MeasuredView view_of(const Json& object, std::size_t number, const MachineKey& machine,
                     const std::vector<unsigned>& all, std::size_t& left) {
  const std::string where = "figures " + std::to_string(number);
  only(object, where,
       {"cpus", "node", "read_latency", "write_latency", "read_bandwidth", "write_bandwidth",
        "mixed_bandwidth", "block", "earlier"});
  MeasuredView view;
  view.cpus = cpus_of(object, where, left);
  if (view.cpus.empty()) throw Refused(where + ": \"cpus\" is empty");
  if (!std::ranges::includes(all, view.cpus))
    throw Refused(where + ": the machine has no such processors");
  view.node = static_cast<unsigned>(whole_of(object, where, "node", 0, k_most_numbers - 1));
  if (std::ranges::find(machine.nodes, view.node, &KeyNode::number) == machine.nodes.end())
    throw Refused(where + ": the machine has no node " + std::to_string(view.node));
  for (const FigureField& known : k_figure_fields) {
    if (!object.contains(known.name)) continue;
    const Json& value = object[known.name];
    if (!value.is_number() || !(value.get<double>() >= known.least) ||
        value.get<double>() > known.most)
      throw Refused(where + ": " + in_quotes(known.name) + " must be a number from " +
                    std::to_string(static_cast<std::uint64_t>(known.least)) + " to " +
                    std::to_string(static_cast<std::uint64_t>(known.most)));
    view.figures.*known.figure = value.get<double>();
  }
  view.figures.block_is_known = object.contains("block");
  take_earlier(object, where, view);
  return view;
}

void check_views(const std::vector<MeasuredView>& views) {
  std::vector<const MeasuredView*> order;
  for (const MeasuredView& view : views)
    order.push_back(&view);
  const auto key = [](const MeasuredView* view) { return std::tie(view->node, view->cpus); };
  std::ranges::sort(order, {}, key);
  if (const auto at = std::ranges::adjacent_find(order, {}, key); at != order.end())
    throw Refused("\"figures\" has node " + std::to_string((*at)->node) + " from CPUs " +
                  format_numbers((*at)->cpus) + " twice");
}

PlatformFile file_of(const Json& json, const MachineKey* here) {
  only(json, "the file", {"omptier_platform", "made_by", "measured", "machine", "figures"});
  if (const auto version = whole_of(json, "the file", "omptier_platform", 1, 1'000'000);
      version != k_version)
    throw Refused("is of version " + std::to_string(version) + ", this omptier reads " +
                  std::to_string(k_version));
  PlatformFile file;
  file.made_by = text_of(json, "the file", "made_by");
  file.measured = text_of(json, "the file", "measured");
  std::size_t left = k_most_cpus;
  file.machine = machine_of(json, left);
  const std::vector<unsigned> all = cpus_of(file.machine);
  if (here != nullptr)
    if (const std::string why = difference_between(file.machine, *here); !why.empty())
      throw Refused("is of another machine (" + why + ")");
  for (const Json& object : array_of(json, "the file", "figures"))
    file.figures.push_back(view_of(object, file.figures.size() + 1, file.machine, all, left));
  check_views(file.figures);
  return file;
}

// While the library makes its tree: objects are searched one field after the other.
class Shape {
public:
  bool operator()(int depth, Json::parse_event_t event, const Json&) {
    if (depth > k_most_depth) throw Refused("is nested too deeply for a platform file");
    if (event == Json::parse_event_t::object_start) fields_[depth + 1] = 0;
    if (event == Json::parse_event_t::key && ++fields_[depth] > k_most_fields)
      throw Refused("has an object with too many fields");
    return true;
  }

private:
  std::array<int, k_most_depth + 2> fields_{};
};

std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ' || static_cast<unsigned char>(c) > '~') c = ' ';
  return text;
}

// The file's text, or why it cannot be read.
std::string read_whole(const std::string& path, std::string& text) {
  // A pipe would be waited for.
  const int fd = os().open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK, 0);
  if (fd < 0) return std::strerror(errno);
  std::string error;
  struct stat status{};
  if (os().file_status(fd, &status) != 0 || !S_ISREG(status.st_mode)) error = "is no regular file";
  char part[1 << 14];
  while (error.empty()) {
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

Parsed<PlatformFile> parse_platform_file(std::string_view json, std::string_view name,
                                         const MachineKey* here) {
  using Outcome = Parsed<PlatformFile>;
  const std::string begin = std::string(name) + ": ";
  try {
    return file_of(Json::parse(json.begin(), json.end(), Shape()), here);
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

Parsed<PlatformFile> read_platform_file(const std::string& path, const MachineKey* here) {
  std::string text;
  if (const std::string why = read_whole(path, text); !why.empty())
    return Parsed<PlatformFile>::failure(path + ": cannot be read: " + why);
  return parse_platform_file(text, path, here);
}

std::string write_platform_file(const PlatformFile& file) {
  Json nodes = Json::array();
  for (const KeyNode& node : file.machine.nodes)
    nodes.push_back(
        {{"node", node.number}, {"cpus", format_numbers(node.cpus)}, {"bytes", node.bytes}});
  Json figures = Json::array();
  for (const MeasuredView& view : file.figures) {
    Json object = {{"cpus", format_numbers(view.cpus)}, {"node", view.node}};
    Json earlier;
    for (const FigureField& known : k_figure_fields) {
      if (is_known(view.figures, known.figure)) object[known.name] = view.figures.*known.figure;
      const auto at = std::ranges::find(view.earlier, known.figure, &EarlierFigure::figure);
      if (at != view.earlier.end()) earlier[known.name] = at->measured;
    }
    if (!earlier.is_null()) object["earlier"] = std::move(earlier);
    figures.push_back(std::move(object));
  }
  const Json all = {{"omptier_platform", k_version},
                    {"made_by", file.made_by},
                    {"measured", file.measured},
                    {"machine", {{"processor", file.machine.processor}, {"nodes", nodes}}},
                    {"figures", figures}};
  return all.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::size_t keep_earlier(PlatformFile& file, const PlatformFile& before) {
  if (!difference_between(before.machine, file.machine).empty()) return 0;
  std::size_t kept = 0;
  for (const MeasuredView& old : before.figures) {
    auto view = std::ranges::find_if(file.figures, [&](const MeasuredView& one) {
      return one.node == old.node && one.cpus == old.cpus;
    });
    if (view == file.figures.end()) view = file.figures.insert(view, {old.cpus, old.node, {}, {}});
    for (const FigureField& known : k_figure_fields) {
      if (is_known(view->figures, known.figure) || !is_known(old.figures, known.figure)) continue;
      view->figures.*known.figure = old.figures.*known.figure;
      view->figures.block_is_known |= known.figure == &Figures::block;
      const auto at = std::ranges::find(old.earlier, known.figure, &EarlierFigure::figure);
      view->earlier.push_back(
          {known.figure, at != old.earlier.end() ? at->measured : before.measured});
      ++kept;
    }
  }
  return kept;
}

} // namespace omptier
