// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From records to metrics: what each allocation site held and when, which share of the samples fell
// on it with its 95 % interval, in which manner it was accessed, in which parallel regions. Report
// and advisor both start here.
//
// Profiles of different ranks are ranks of a job, profiles of one rank are repeats. Sites are
// joined by their exact frames (module identities and offsets). Weights are averaged over the
// profiles, so that they are those of one process; bytes and lifetimes are those of the process
// where the site is largest.
#pragma once

#include "analysis/areas.hpp"
#include "analysis/loop_traffic.hpp"
#include "analysis/miss_steps.hpp"
#include "analysis/object_pattern.hpp"
#include "analysis/working_set.hpp"
#include "log/reader.hpp"
#include "log/records.hpp"

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace omptier {

struct Share {
  double value = 0, low = 0, high = 0; // fractions of all samples' weight; 95 % interval
  Share& operator+=(const Share& other); // takes their errors as independent
};

// How often an object was accessed, averaged over the whole length of the run, region or phase.
// Counts instructions' accesses, a vector's as one. Of one process, all threads together.
struct AccessRate {
  double value = 0, low = 0, high = 0; // per second; 95 % interval
  double bytes = 0;                    // per second
  double known = 0;        // expected part of its accesses in loops whose pace is known; those in
                           // others are not in the value
  std::uint64_t pairs = 0; // of samples, of the loop with fewest; 0 = nothing is known
};

// Weights of samples by manner; in the unit of the profile's measure (events or nanoseconds).
struct AccessWeights {
  double scattered_load = 0, streamed_load = 0, scattered_store = 0, streamed_store = 0;
  double unknown = 0; // neither load nor store known
  double stored_back = 0; // of the loads: their lines are stored to right behind them
  double gathered = 0;    // of the scattered loads: none waits for the one before it
  // What served the accesses above, as far as it is known.
  double from_cache = 0, from_memory = 0;

  double total() const {
    return scattered_load + streamed_load + scattered_store + streamed_store + unknown;
  }
  double loads() const { return scattered_load + streamed_load; }
  double stores() const { return scattered_store + streamed_store; }
  // Stores that hit the line of a load before them are no misses, but accesses.
  double written_part() const {
    const double known = loads() + stores() + stored_back;
    return known > 0 ? (stores() + stored_back) / known : 0;
  }
  double streamed() const { return streamed_load + streamed_store; }
  void add(const AccessSample& sample, double weight);
  AccessWeights& operator+=(const AccessWeights& other);
  AccessWeights& operator*=(double factor);
};

// The samples of a site, region or phase, or of a site in one of these.
struct Sampled {
  std::uint64_t samples = 0; // all profiles together
  AccessWeights accesses;    // of one process
  // Of these: the kernel's, which cleared and copied pages for their first touch. Most sources see
  // the program's own accesses only.
  AccessWeights first_touch;
  Share share;               // of all samples, or of the region's or phase's
  void add(const AccessSample& sample, double weight) {
    ++samples;
    accesses.add(sample, weight);
    if (sample.by_kernel) first_touch.add(sample, weight);
  }
  void average_over(double profiles) {
    accesses *= 1 / profiles;
    first_touch *= 1 / profiles;
  }
};

// Live bytes of a site from this time until the next step. Nanoseconds since the run's start.
struct LiveStep {
  std::uint64_t time = 0;
  std::uint64_t bytes = 0;
};

// Bytes of large blocks that are new pages once a plan places them (analysis/fresh_bytes.hpp):
// always, or where the memory of freed blocks is reused; once: so many of either in a run of any
// length.
struct FreshBytes {
  std::uint64_t always = 0, reused = 0, once = 0;
};

struct SitePart : Sampled {
  std::uint32_t of = 0; // index into ProfileSummary::regions or phases
  OffsetHistogram offsets;
  // Only known by region:
  std::optional<double> hot_part; // as SiteSummary's
  double dealt = 0; // weight moved here from others' streams, less what was moved away
  AccessRate access_rate; // while the region runs
};

struct RegionWeight {
  std::uint32_t region = 0; // index into ProfileSummary::regions
  double weight = 0;
};

// One block of a site, in the profile where the site is largest.
struct InstanceSummary {
  std::uint32_t instance = 0;       // n-th block of its site, from 0
  std::uint64_t begin = 0, end = 0; // nanoseconds since the run's start
  std::uint64_t bytes = 0;
  std::uint64_t samples = 0;
  double weight = 0;                   // of them
  std::vector<RegionWeight> by_region; // the same
  std::uint64_t address = 0;           // where it begins
  bool lives = false;                  // it was not freed
};

struct RankPart {
  double weight = 0;            // of the rank's samples there, in one run
  std::uint64_t bytes_peak = 0; // of all sites together: the sum of their peaks
};

struct RankSummary {
  std::uint64_t rank = 0;
  std::string host;
  std::uint64_t profiles = 0, samples = 0, nanoseconds = 0; // runs; of all runs; of the longest
  RankPart all;                                             // samples in no object included
};

struct SiteSummary : Sampled {
  std::vector<Frame> frames; // modules index ProfileSummary::modules
  SiteKind kind = SiteKind::allocation;
  std::string symbol;        // of a variable
  std::uint64_t objects = 0; // of one process: the one with most
  std::uint64_t bytes_total = 0, bytes_peak = 0, bytes_largest = 0;
  // Old copies in bytes_peak, and how long they were needed (analysis/growth.hpp).
  std::uint64_t bytes_growing = 0, nanoseconds_growing = 0;
  FreshBytes fresh;
  bool by_malloc = false; // not by an allocator of OpenMP's
  std::vector<LiveStep> live;
  // The recorded blocks: the k_instances_kept with most samples, in order of time.
  std::vector<InstanceSummary> instances;
  std::uint64_t blocks = 0;              // all of these
  std::vector<std::uint32_t> hot_blocks; // those with nearly all samples, where they are few
  bool blocks_by_one_thread = false; // all are recorded, by one thread: trust their numbers
  double sampled_weight = 0;         // of all the site's samples in that profile
  // Fraction of the site's memory (bytes times time alive) that nine tenths of the samples need;
  // unknown where samples are too few, or not known by block.
  std::optional<double> hot_part;
  // Share of the accesses, counted in bytes, not of the samples; only where the source knows it
  // (ProfileSummary::patterns is not 0).
  Share access_share;
  Share write_share{0, 0, 1}; // of the object's bytes; 0 to 1: nothing is known
  bool knows_writes() const {
    constexpr double k_points = 0.1; // either way
    return write_share.high - write_share.value <= k_points &&
           write_share.value - write_share.low <= k_points;
  }
  AccessRate access_rate;
  ObjectPattern pattern;
  std::uint32_t through =
      k_nothing; // site whose values were the indices, if its pattern is indirect
  static constexpr std::uint32_t k_nothing = ~std::uint32_t{0};
  double mean_latency = 0; // nanoseconds, weighted; 0 = the source does not say
  Share cache = {0, 0, 1}; // of its accesses: those that a cache served
  double level_share = 0;  // of samples or watches, with known level; 0 = too few
  LinesOfBlock lines_of_block;
  OffsetHistogram offsets;
  std::vector<SitePart> by_region, by_phase; // most accessed first
  std::vector<RankPart> by_rank;             // as ProfileSummary::ranks
};

struct CodeAtSite {
  std::uint32_t site = 0; // index into ProfileSummary::sites
  std::uint64_t samples = 0;
  double weight = 0; // of one process, before streams share (streams.hpp)
  bool loads = false, stores = false; // seen to do so, maybe without a sample of its own
};

struct CodeSummary {
  Frame at;               // behind its first byte, as a return address is behind its call
  std::uint64_t loop = 0; // offset of the first instruction of the loop around it; 0 = not known
  std::uint64_t samples = 0;
  double weight = 0; // of one process
  std::vector<CodeAtSite> by_site;
};

struct RegionSummary : Sampled {
  std::vector<Frame> frames; // codeptr first; none: outside of all regions
  std::vector<std::vector<Frame>> also; // further call stacks that are the same in the source
  std::uint64_t entries = 0;
  std::uint64_t entered_anew = 0; // entries after a different region
  std::uint64_t nanoseconds = 0;  // of wall time, all entries of one process together
  std::uint32_t threads = 0;      // most
  // Its first and last sample, or logged begin: nanoseconds from the start of the run. None: the
  // last is 0.
  std::uint64_t first_seen = ~std::uint64_t{0}, last_seen = 0;

  void see(std::uint64_t time) {
    first_seen = std::min(first_seen, time);
    last_seen = std::max(last_seen, time);
  }
};

// A part of the run on one level with regions (named by the program) or below them. Of the latter,
// only those in which time was seen to pass are kept apart (analysis/phase_track.hpp).
struct PhaseSummary : Sampled {
  enum class Kind : std::uint8_t { named, to_barrier, to_end, serial };
  Kind kind = Kind::named;
  std::string name;              // of a named one
  std::uint32_t region = 0;      // the divided one; serial: the one before, 0 = the run's start
  std::uint32_t next_region = 0; // serial: the one behind, 0 = the run's end
  std::vector<Frame> frames;     // of the barrier that ends it
  std::uint64_t entries = 0, nanoseconds = 0;
  // Of a region's stretches in the profile: how many there are, and behind what they begin, where
  // that is known (analysis/stretch_begins.hpp).
  struct Begin {
    static constexpr std::uint32_t k_region = ~std::uint32_t{0}; // the region's begin
    std::uint32_t behind = k_region;                             // else a phase: its barrier
    std::uint64_t count = 0, nanoseconds = 0;
  };
  std::uint64_t logged = 0;
  std::vector<Begin> begins;
};

// A run of a region. Those are logged in which a sample lies, or for which memory was moved.
struct RegionVisit {
  std::uint32_t region = 0;
  std::uint64_t begin = 0, end = 0; // nanoseconds from the start of the run
};

// When, and where in them, the objects with most samples were accessed: parts of all samples'
// weight (analysis/over_time.hpp).
struct AccessesOverTime {
  static constexpr std::size_t k_steps = 64, k_ranges = 32, k_sites = 16;
  struct OfSite {
    std::uint32_t site = 0;
    std::array<double, k_steps> shares{};
    // By equal parts of its blocks; of the samples whose place in the object is known.
    std::array<std::array<double, k_ranges>, k_steps> ranges{};
  };
  std::uint64_t nanoseconds = 0; // of the run
  std::vector<OfSite> sites;     // most accessed first
};

// A named phase, or a stretch in which a sample lies.
struct PhaseVisit {
  std::uint32_t phase = 0;          // index into ProfileSummary::phases
  std::uint64_t begin = 0, end = 0; // nanoseconds from the start of the run
};

struct MoveSummary {
  static constexpr std::uint32_t k_no_site = ~std::uint32_t{0};
  std::uint32_t site = k_no_site;     // whose object it was
  std::uint32_t region = 0;           // that was about to begin; 0: none was
  bool at_barrier = false;            // the region ran; it was moved at a barrier of it
  std::uint64_t begin = 0, bytes = 0; // nanoseconds from the start of the run; bytes that arrived
  MemoryKind from = MemoryKind::unknown, to = MemoryKind::unknown;
  double seconds = 0;
};

struct ProfileSummary {
  std::vector<RunRecord> runs;    // one per profile
  std::vector<RankSummary> ranks; // in order of their numbers; empty when all profiles are of one
  std::vector<std::string> notes; // cut logs, joined jobs …: one line each, for people
  std::uint64_t running = 0;      // number of profiles that their processes still wrote
  std::vector<ModuleInfo> modules;
  std::vector<SiteSummary> sites;     // largest share first, then most bytes
  std::vector<RegionSummary> regions; // [0] = outside of all regions
  std::vector<PhaseSummary> phases;
  std::vector<CodeSummary> code; // all instructions that samples were blamed on, or that
                                 // loops around samples have
  std::vector<LoopTraffic> traffic; // of loops that could be followed, for Measure::time
  Measure measure = Measure::time;
  double worst_error = 0; // of the source, as a fraction
  std::uint64_t samples = 0, samples_lost = 0;
  std::uint64_t samples_waiting = 0; // further ones, on threads waiting in the OpenMP runtime
  double waiting_share = 0;          // of the weight of these and all samples
  std::uint64_t unknown_address = 0; // samples without an address
  std::uint64_t no_operand = 0;      // of these: where no memory operand was near
  std::uint64_t outside_objects = 0; // samples whose address lies in no recorded object
  SmallObjects small_objects;        // under 4 KiB, of one process: the one with most
  std::uint64_t small_sites = 0;     // that allocated them
  std::uint64_t small_bytes = 0;     // live at once, about
  Sampled small;                     // on their pages
  Sampled other;                     // without an address or outside of objects
  std::uint64_t patterns = 0;        // records of what instructions accessed
  LoopCounts loops;                  // samples whose loops were emulated, or not
  Share other_access_share;
  double paced = 0;              // part of their time in loops whose pace is known
  std::uint64_t nanoseconds = 0; // length of the longest run
  double mean_nanoseconds = 0;   // of all runs
  std::uint32_t threads = 1;     // most at once, in a region or by samples
  std::uint64_t log_bytes = 0;
  // Of one run: the first profile with samples, else the first.
  std::uint32_t drawn = 0;         // its number
  std::vector<MoveSummary> moves;  // in order of time
  std::vector<RegionVisit> visits; // of outermost regions
  std::vector<PhaseVisit> phase_visits;
  AccessesOverTime accesses_over_time;
  // By site, of that run; empty: there is one profile, whose SiteSummary::live they are.
  std::vector<std::vector<LiveStep>> drawn_live;
};

double weight_of_all(const ProfileSummary& summary); // of the samples

inline constexpr std::size_t k_instances_kept = 4096;

constexpr bool has_bytes(SiteKind kind) {
  return kind != SiteKind::stacks && kind != SiteKind::heap && kind != SiteKind::constants;
}

// "allocation", "mapping", "static" (a variable), "statics", …
const char* name_of(SiteKind kind);

// The place in the source of a list of frames: parallel regions of one place are one region,
// however often the compiler has copied it. "" = not known: the list is a place of its own.
using PlaceInSource =
    std::function<std::string(const std::vector<ModuleInfo>&, const std::vector<Frame>&)>;

// Profiles must be of the same measure.
Parsed<ProfileSummary> summarize(std::span<const Profile> profiles,
                                 const PlaceInSource& place_of = {});

// Reads all files, names their statics (none without statics_of), then summarizes. Profiles of
// different programs are refused unless Programs::any. met: called first with each profile.
enum class Programs : std::uint8_t { one, any };
Parsed<ProfileSummary> summarize_files(std::span<const std::string> paths,
                                       const StaticsOf& statics_of = {},
                                       Programs programs = Programs::one,
                                       const PlaceInSource& place_of = {},
                                       const std::function<void(const Profile&)>& met = {});

// Shares sum to 1 (when there are samples), every interval holds its value, live steps ascend and
// end at 0 or with the run.
bool is_consistent(const ProfileSummary& summary, std::string& why_not);

} // namespace omptier
