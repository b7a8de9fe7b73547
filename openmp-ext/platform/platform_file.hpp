// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The platform file: what `omptier calibrate` measured of a machine's memory, as JSON. It holds the
// machine it was measured on and, for each group of processors and node, only figures that were
// measured with confidence. It is read inside applications, so a broken or hostile file is refused
// as a whole with one line.
//
//   {"omptier_platform": 1, "made_by": "omptier 1.1.0", "measured": "2026-05-31",
//    "machine": {"processor": "…", "nodes": [{"node": 0, "cpus": "0-31", "bytes": 270000000000}]},
//    "figures": [{"cpus": "0-31", "node": 0, "read_latency": 95.1, "read_bandwidth": 1.8e11,
//                 "earlier": {"read_bandwidth": "2026-05-12"}}]}
//
// Latencies are nanoseconds, bandwidths bytes per second, "block" bytes. "earlier": figures that
// the last calibration could not measure and that are kept of one before, with its date.
#pragma once

#include "base/text.hpp"
#include "platform/facts.hpp"
#include "platform/machine_key.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace omptier {

struct EarlierFigure {
  double Figures::* figure = nullptr;
  std::string measured; // date
};

struct MeasuredView {
  std::vector<unsigned> cpus; // ascending, never empty
  unsigned node = 0;
  Figures figures; // 0 = not measured, or without confidence
  std::vector<EarlierFigure> earlier = {};
};

struct PlatformFile {
  std::string made_by;
  std::string measured; // date, "2026-05-31"
  MachineKey machine;
  std::vector<MeasuredView> figures;
};

inline constexpr std::size_t k_largest_platform_file = std::size_t{4} << 20; // bytes

// A failure is one line that begins with the file's name. Nothing is thrown. here: the only machine
// whose file is read; null: any.
Parsed<PlatformFile> parse_platform_file(std::string_view json, std::string_view name,
                                         const MachineKey* here = nullptr);
Parsed<PlatformFile> read_platform_file(const std::string& path, const MachineKey* here = nullptr);

std::string write_platform_file(const PlatformFile& file);

// Takes from an earlier file of the same machine what `file` has no figure for. Returns how many
// figures these are.
std::size_t keep_earlier(PlatformFile& file, const PlatformFile& before);

// The same, of a file that is not there or names another machine.
struct FoundPlatformFile {
  std::string path;    // "" = there is none
  std::string problem; // why it is not used and what to do, one line; "" = used
  PlatformFile file;
};
// The one for this machine: OMPTIER_PLATFORM, else the user's, else the system's; the first that is
// there decides.
FoundPlatformFile find_platform_file();

// Where `omptier calibrate` writes to. "": no HOME.
std::string user_platform_folder();
inline constexpr char k_system_platform_folder[] = "/etc/omptier";

// Puts measured figures before those that are known already; returns the nodes that have any,
// ascending.
struct MeasuredNode {
  unsigned number = 0;
  bool in_part = false; // some latency or bandwidth is not measured
};
std::vector<MeasuredNode> apply_measured(const PlatformFile& file, MachineFacts& facts);

} // namespace omptier
