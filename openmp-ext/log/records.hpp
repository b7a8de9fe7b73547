// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a profile holds: the records that the profiler writes while the program runs and the reader
// returns, in the order of writing. All times are CLOCK_MONOTONIC nanoseconds of the recorded
// machine. log/format.hpp defines the file's bytes.
#pragma once

#include "base/kind.hpp"
#include "objects/loop_counts.hpp"
#include "objects/pattern.hpp"
#include "objects/reuse.hpp"
#include "objects/site.hpp"
#include "platform/platform.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace omptier {

struct RunRecord { // first record: who was recorded
  std::string host, program, command_line;
  std::uint64_t process = 0, rank = 0;
  std::uint64_t start_time = 0;       // monotonic
  std::uint64_t wall_clock_start = 0; // seconds since the epoch
  std::string job;                    // same job = ranks of one run; "" = a run of its own
  std::string source, source_description;
  Measure measure = Measure::time;
  double worst_error = 0;
  double rate = 0;
  CacheSizes caches;
  std::uint64_t recording = 0; // number that omptier record gave; 0 = the program ran without it
};

// What a site of the record stands for. Logs hold the first two only; the others are made from the
// areas when a log is summarized (analysis/areas.hpp).
enum class SiteKind : std::uint8_t {
  allocation,
  mapping,   // mmap by the program
  variable,  // one static: its frame is its module and offset
  statics,   // the rest of a module's
  constants, // a module's code and constants
  stacks,    // and thread-local variables
  heap,      // blocks of the heap that were not recorded
  runtime,   // OMPTier's and the OpenMP runtime's own (analysis/runtime_site.hpp)
};

struct SiteRecord { // before the first object that uses it
  std::uint32_t site = 0;
  std::vector<Frame> frames; // innermost first, system libraries dropped; of what the OpenMP runtime
                             // called: the library's call, then the runtime's
  SiteKind kind = SiteKind::allocation;
  std::string symbol = {}; // of a variable, as the linker knows it
};

struct ObjectRecord {
  std::uint64_t time = 0, object = 0, address = 0, bytes = 0;
  std::uint32_t site = 0, instance = 0; // instance: n-th object of its site, from 0
  std::uint32_t thread = 0;
  std::uint64_t allocator = 0;
  std::uint64_t released = k_never; // when it was freed
  static constexpr std::uint64_t k_never = ~std::uint64_t{0};
  // Values of allocator besides OpenMP's handles. 0: malloc.
  static constexpr std::uint64_t k_mapping = ~std::uint64_t{0};
  static constexpr std::uint64_t k_rest = k_mapping - 1; // of an object that is there already
  static constexpr std::uint64_t k_area = k_mapping - 2; // not in a log: analysis/areas.hpp
};

struct SmallObjects { // of a site, objects under 4 KiB: counted, not logged one by one
  std::uint64_t objects = 0, bytes = 0;
};

// Objects of a site that are counted, not logged one by one (most from 4 to 64 KiB), since the
// start unless stated otherwise.
struct SiteTotals {
  std::uint32_t site = 0;
  bool by_malloc = false;
  std::uint64_t objects = 0, bytes = 0, largest = 0; // largest: one object's bytes
  std::uint64_t live = 0;                            // bytes at `time`
  std::uint64_t peak = 0, peak_time = 0;             // most live bytes since the record before
  std::uint64_t time = 0;                            // when it was written
};

// The place of an address in such an object; the log does not say when the object was there.
struct BlockPlace {
  static constexpr std::uint32_t k_none = ~std::uint32_t{0};
  std::uint32_t site = k_none;
  std::uint64_t offset = 0, bytes = 0;
  bool is_known() const { return site != k_none; }
};

// An access by an instruction of a sample's loop.
struct LoggedPattern : AccessPattern {
  BlockPlace place, through_place;
};

struct LoggedReuse : AddressReuse {
  BlockPlace place;
};

struct LoggedSample : AccessSample {
  BlockPlace place;
  std::uint32_t first_pattern = 0, patterns = 0; // of its loop: among the profile's
};

// All runs of a region since the start; only as many as samples need are logged one by one.
struct RegionTotals {
  std::uint64_t entries = 0;
  std::uint64_t entered_anew = 0; // after a different region
  std::uint64_t nanoseconds = 0;  // in which it was the outermost one
  std::uint32_t threads = 0;      // most
};

struct Thinning { // from `time` on, one sample in `kept_of` is in the log, with that much more
                  // weight
  std::uint64_t time = 0, kept_of = 1;
};

// What was left out for lack of room, since the start; first in the recorder's own memory.
struct Shortages {
  std::uint64_t objects = 0;   // not recorded
  std::uint64_t by_caller = 0; // whose site is their caller alone, without the stack
  std::uint64_t runs = 0;      // of regions that were counted, but not kept for their samples
  std::uint64_t stretches = 0; // likewise
  // Left out because each of them may take only an eighth of the log.
  std::uint64_t phases = 0, areas = 0, moves = 0;
  std::uint64_t regions_by_caller = 0; // runs whose regions are their directives, as by_caller
  LoopCounts loops;                    // beyond emulation's budget
  bool operator==(const Shortages&) const = default;
};

enum class LossReason : std::uint8_t {
  source, // the source had no room for them
  blocks, // so many blocks came and went that it is not known what they fell on
  memory, // the recorder's own memory was used up
  log,    // the log had reached its largest size
};
inline constexpr unsigned k_loss_reasons = 4;

// Memory that is not allocated block by block.
enum class AreaKind : std::uint8_t {
  module,      // all segments of the program or a library
  statics,     // of these, what can be written
  stack,       // of a thread
  thread_data, // of the first thread; that of others lies in their stacks' memory
  heap,        // what brk has given, from the first byte to the last
};
inline constexpr unsigned k_area_kinds = 5;

struct AreaRecord {
  AreaKind kind = AreaKind::module;
  std::uint32_t number = 0; // of the module, or the kernel's of the thread
  std::uint64_t address = 0, bytes = 0;
  std::uint64_t begin = 0, end = ObjectRecord::k_never; // times
};

struct RegionDefinition { // identity of a parallel construct: return addresses, codeptr first
  std::uint32_t region = 0;
  std::vector<Frame> frames;
};

struct RegionRecord {
  std::uint64_t time = 0;
  std::uint32_t region = 0;
  std::uint32_t threads = 0; // asked for; 0 at the end of a region
  std::uint32_t thread = 0;  // kernel id of the thread that meets the construct
  bool begin = true;
};

// Between barriers of one region, defined by what ends it; or between regions, defined by both.
struct StretchDefinition {
  enum class Kind : std::uint8_t {
    barrier,
    rest,
    serial
  }; // rest: from the last barrier to the end
  Kind kind = Kind::barrier;
  std::uint32_t region = 0;      // of a serial one: number + 1 of the region before it, 0 = start
  std::uint32_t next_region = 0; // of a serial one: number + 1 of the one behind it, 0 = end
  Frame frame;                   // of a barrier
  std::uint64_t entries = 0, nanoseconds = 0; // of all its stretches
};

struct StretchRecord { // one in which a sample lies
  std::uint64_t end = 0, nanoseconds = 0;
  std::uint32_t stretch = 0;
  std::uint32_t thread = 0; // kernel id of the primary thread
};

struct PhaseRecord { // ompx_phase: from here on the program is in this phase
  std::uint64_t time = 0;
  std::string name;
};

struct MoveRecord {
  std::uint64_t time = 0, address = 0, bytes = 0;
  MemoryKind from = MemoryKind::unknown, to = MemoryKind::unknown;
  double seconds = 0;
  bool at_barrier = false; // of the region that runs; else for the next one to begin
};

struct EndRecord { // last record of a run that ended regularly
  std::uint64_t time = 0;
  std::uint64_t samples = 0, samples_lost = 0;
};

} // namespace omptier
