// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the records of a log to the lists of a Profile. What a record names must have been named
// before; numbers are checked before they are used. reader.cpp handles blocks.
#pragma once

#include "log/format.hpp"
#include "log/name_records.hpp"
#include "log/reader.hpp"
#include "log/record_body.hpp"
#include "objects/live.hpp"

#include <array>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace omptier {

class RecordReader {
public:
  explicit RecordReader(Profile& profile) : profile_(profile) {}
  void begin(std::uint32_t version) { version_ = version; } // the log's

  void begin_block(std::uint64_t base_time);
  // False: no writer of ours would have written this.
  bool read(RecordBody& body);
  bool has_run() const { return has_run_; }
  // To be called after the last record. Puts lists in order of time and adds missing modules, so
  // that every number in a frame has one.
  void finish();

private:
  using Reader = void (RecordReader::*)(RecordBody&);
  using Readers = std::array<Reader, k_sample_of_2>; // by type
  static constexpr Readers readers();

  std::uint64_t time(RecordBody& body);
  // For records that the writer times itself under its lock, so that they are in order.
  std::uint64_t time_in_order(RecordBody& body);
  void read_run(RecordBody& body);
  void read_module(RecordBody& body);
  void read_site(RecordBody& body);
  void read_object(RecordBody& body);
  void read_release(RecordBody& body);
  void read_region_definition(RecordBody& body);
  void read_region(RecordBody& body);
  void read_move(RecordBody& body);
  void read_phase(RecordBody& body);
  void read_lost(RecordBody& body);
  void read_end(RecordBody& body);
  void read_waiting(RecordBody& body);
  void read_small_objects(RecordBody& body);
  void read_small_area(RecordBody& body);
  void read_stretch_definition(RecordBody& body);
  void read_stretch(RecordBody& body);
  void read_stretch_count(RecordBody& body);
  void read_site_totals(RecordBody& body);
  void read_region_totals(RecordBody& body);
  void read_thinned(RecordBody& body);
  void read_shortages(RecordBody& body);
  void read_area(RecordBody& body);
  void read_area_end(RecordBody& body);
  void end_area(AreaKind kind, std::uint32_t number, std::uint64_t end);
  void read_sample(RecordBody& body);
  void read_pattern(RecordBody& body);
  void read_reuse(RecordBody& body);
  template <void (NameReader::*read)(RecordBody&)> void read_name(RecordBody& body) {
    (names_.*read)(body);
  }
  BlockPlace read_place(RecordBody& body, std::uint64_t number) const;
  void read_run_of_loop(LoggedPattern& pattern, RecordBody& body);
  void add_pattern(LoggedPattern& pattern, RecordBody& body);
  void sort_samples();
  void sort_samples_of_2();
  void read_pattern_of_2(RecordBody& body);
  void read_in_block_of_2(RecordBody& body);
  void read_loop_of_2(RecordBody& body);

  Profile& profile_;
  std::uint32_t version_ = k_profile_version;
  bool has_run_ = false;
  DifferenceState state_;
  std::uint64_t last_event_ = 0;
  std::vector<SiteTotals> last_totals_; // by site
  LoggedPattern next_of_2_;             // places and loop of the next sample or pattern
  LiveMap live_;
  std::vector<std::uint32_t> instances_;
  std::map<std::pair<AreaKind, std::uint32_t>, std::size_t> open_areas_; // indices
  NameReader names_;
};

} // namespace omptier
