// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The captured machines (fixtures/machines) as they would be found without figures of the firmware:
// their exports less the memory attributes, kinds as OMPTIER_NODES says them.
#pragma once

#include "platform/platform.hpp"

#include <cstdio>
#include <fstream>
#include <iterator>
#include <stdexcept>
#include <string>
#include <unistd.h>

namespace omptier {

inline std::string machine_file(const std::string& name) {
  return OMPTIER_FIXTURES "/machines/" + name + ".xml";
}

inline Platform platform_or_throw(const DiscoverOptions& options) {
  Parsed<Platform> platform = discover_platform(options);
  if (!platform) throw std::runtime_error(platform.error());
  return std::move(*platform);
}

inline Platform captured_machine(const std::string& name) {
  return platform_or_throw({machine_file(name), {}});
}

inline Platform dark_machine(const std::string& name) {
  std::ifstream in(machine_file(name));
  std::string xml{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  const std::string begin = "<memattr ", end = "</memattr>";
  for (std::size_t at = 0; (at = xml.find(begin, at)) != std::string::npos;)
    xml.erase(at, xml.find(end, at) + end.size() - at);
  NodesByKind kinds;
  for (const Node& node : captured_machine(name).nodes)
    kinds[static_cast<std::size_t>(node.kind)].push_back(node.number);
  std::string path = "/tmp/omptier-dark-XXXXXX";
  const int fd = mkstemp(path.data());
  if (fd < 0 || write(fd, xml.data(), xml.size()) != static_cast<ssize_t>(xml.size()))
    throw std::runtime_error(path);
  close(fd);
  Parsed<Platform> platform = discover_platform({path, kinds});
  unlink(path.c_str());
  if (!platform) throw std::runtime_error(platform.error());
  return std::move(*platform);
}

} // namespace omptier
