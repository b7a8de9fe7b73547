// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which platform file is this machine's, and what its figures change. Most machines have none: then
// two calls find that its folders are not there.
#include "base/options.hpp"
#include "platform/platform_file.hpp"

#include <algorithm>
#include <cstdlib>
#include <unistd.h>

namespace omptier {
namespace {

constexpr const char* k_measure_again = "; measure this machine: omptier calibrate";

bool is_there(const std::string& path) {
  return ::access(path.c_str(), F_OK) == 0;
}

// The first of the usual files that is there, or "".
std::string usual_file(const MachineKey& here, const std::vector<std::string>& folders) {
  for (const std::string& folder : folders)
    if (std::string path = folder + "/" + platform_file_name(here); is_there(path)) return path;
  return {};
}

// Fills what was not measured from what is known; a view of the same processors, or of more.
void fill_up(InitiatorView& measured, const std::vector<InitiatorView>& known) {
  for (const InitiatorView& view : known) {
    if (!std::ranges::includes(view.cpus, measured.cpus)) continue;
    if (measured.distance == 0) measured.distance = view.distance;
    for (double Figures::* figure : {&Figures::read_latency, &Figures::write_latency,
                                     &Figures::read_bandwidth, &Figures::write_bandwidth})
      if (measured.figures.*figure <= 0) measured.figures.*figure = view.figures.*figure;
  }
}

bool lacks_some(const InitiatorView& view) {
  const Figures& figures = view.figures;
  return figures.read_latency <= 0 || figures.write_latency <= 0 || figures.read_bandwidth <= 0 ||
         figures.write_bandwidth <= 0;
}

bool is_covered(const InitiatorView& view, const std::vector<InitiatorView>& by) {
  return std::ranges::all_of(view.cpus, [&](unsigned cpu) {
    return std::ranges::any_of(by, [&](const InitiatorView& other) {
      return std::ranges::binary_search(other.cpus, cpu);
    });
  });
}

} // namespace

std::string user_platform_folder() {
  // Not of a program with more rights than its user, who would choose what it reads.
  if (const char* folder = ::secure_getenv("XDG_CONFIG_HOME");
      folder != nullptr && folder[0] == '/')
    return std::string(folder) + "/omptier";
  const char* home = ::secure_getenv("HOME");
  return home != nullptr && home[0] == '/' ? std::string(home) + "/.config/omptier" : "";
}

FoundPlatformFile find_platform_file() {
  FoundPlatformFile found;
  found.path = option_text(Option::platform);
  const bool named = !found.path.empty();
  if (found.path == "none") return {};
  std::vector<std::string> folders = {user_platform_folder(), k_system_platform_folder};
  std::erase_if(folders, [](const std::string& folder) { return !is_there(folder); });
  if (!named && folders.empty()) return {};
  const MachineKey here = read_machine_key();
  if (!named) found.path = usual_file(here, folders);
  if (found.path.empty()) return {};
  auto read = read_platform_file(found.path, &here);
  if (read)
    found.file = std::move(*read);
  else
    found.problem = read.error() + k_measure_again;
  return found;
}

std::vector<MeasuredNode> apply_measured(const PlatformFile& file, MachineFacts& facts) {
  std::vector<MeasuredNode> nodes;
  for (NodeFacts& node : facts.nodes) {
    std::vector<InitiatorView> views;
    for (const MeasuredView& measured : file.figures)
      if (measured.node == node.number) views.push_back({measured.cpus, measured.figures, 0});
    if (views.empty()) continue;
    nodes.push_back({node.number, std::ranges::any_of(views, lacks_some)});
    node.measured = views;
    node.given = node.views;
    for (InitiatorView& view : views)
      fill_up(view, node.views);
    const std::size_t measured = views.size();
    for (InitiatorView& view : node.views)
      if (!is_covered(view, {views.begin(), views.begin() + static_cast<std::ptrdiff_t>(measured)}))
        views.push_back(std::move(view));
    node.views = std::move(views);
  }
  return nodes;
}

} // namespace omptier
