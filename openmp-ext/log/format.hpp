// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The bytes of a profile. A file header, then blocks until the end of the file. Each block has its
// length and a checksum and can be read by itself (differences start anew in every block), so a log
// cut off anywhere is good up to its last whole block. All numbers are little-endian.
//
// A block is a sequence of records: a type byte < 0x80, the length of the body, and the body, so
// that a reader skips types it does not know. Times and addresses are variable-length differences
// to the record before. A sample's patterns follow it. Regions are in order of time among
// themselves; so are records written at the event itself (objects, releases, phases).
//
// After the program's own records `omptier record` adds the names of its places
// (log/name_records.hpp); older readers skip them.
//
// Whoever changes the meaning of a record raises k_profile_version. Version 2 had samples without
// length, preceded by records of their places and loops; version 3 had none by the kernel,
// version 4 no facts about loads, version 5 nothing about where indices lead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace omptier {

inline constexpr char k_profile_magic[8] = {'O', 'M', 'P', 'T', 'I', 'E', 'R', 'p'};
inline constexpr std::uint32_t k_profile_version = 6;
inline constexpr std::uint32_t k_oldest_profile_version = 1;
inline constexpr std::uint32_t k_block_magic = 0x4b424f54;   // "TOBK"
inline constexpr std::uint32_t k_largest_block = 64 * 1024;

struct ProfileHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t bytes; // of this header; blocks begin after it
};
static_assert(sizeof(ProfileHeader) == 16);

struct BlockHeader {
  std::uint32_t magic;
  std::uint32_t bytes;     // of the records that follow
  std::uint32_t sequence;  // from 0
  std::uint32_t records;   // how many
  std::uint64_t base_time; // differences of times start here
  std::uint64_t checksum;  // of the fields above and the records
};
static_assert(sizeof(BlockHeader) == 32);

inline constexpr std::uint64_t k_small_area = std::uint64_t{64} << 10;

enum class RecordType : std::uint8_t {
  run = 1,
  module,
  site,
  object,
  release,
  region_definition,
  region,
  move,
  phase,
  lost,
  end,
  pattern_of_2, // with time and thread
  waiting,
  small_objects, // of a site: how many under 4 KiB and their bytes, from the start on
  small_area,    // k_small_area bytes in which such objects lie
  stretch_definition,
  stretch,       // that ended; not in order of time with other records
  stretch_count, // how many there were from the start on, and their time
  site_totals,   // of a site: objects that are not logged one by one
  in_block_of_2, // the next sample's or pattern's address lay in such an object
  region_totals, // of a region: all its runs, logged or not
  thinned,       // from here on one sample in so many is kept
  shortages,     // what memory, log and emulation's budget had no room for, from the start on
  area,          // memory not allocated block by block: a module's, a thread's stack, the heap
  area_end,
  loop_of_2, // in which the next pattern was made, and what it accessed since an earlier sample
  sample,
  pattern, // of the sample before it
  reuse,   // of a watched address
  name_text, // numbered in order: what the records of names behind it are made of
  frame_name,
  site_name,
  static_names, // of a module; several records may follow each other
  source_time,  // of a source file that was as compiled
  names_end,    // without it the names are incomplete
};

// The first byte of a sample is kind << 5, level << 3 and these bits. The level may also be
// k_sample_by_kernel: memory, and the access was the kernel's.
inline constexpr std::uint8_t k_sample_place = 0x80; // at the end
inline constexpr std::uint8_t k_sample_streamed = 0x04;
inline constexpr std::uint8_t k_sample_weight = 0x02; // differs from the sample before
inline constexpr std::uint8_t k_sample_extras = 0x01; // node, latency and, from version 5 on, facts
inline constexpr unsigned k_sample_by_kernel = 3;
inline constexpr std::uint8_t k_fact_stored_back = 1, k_fact_gathered = 2;
inline constexpr std::uint8_t k_fact_loop = 4, k_fact_nest = 8; // not those of the sample before
// In version 2 that byte, with this bit, was the record's type.
inline constexpr std::uint8_t k_sample_of_2 = 0x80;

// Differences are kept small: the sign goes into the lowest bit.
constexpr std::uint64_t fold_sign(std::int64_t value) {
  return static_cast<std::uint64_t>(value) << 1 ^ static_cast<std::uint64_t>(value >> 63);
}
constexpr std::int64_t unfold_sign(std::uint64_t value) {
  return static_cast<std::int64_t>(value >> 1 ^ (~(value & 1) + 1));
}

// What differences are relative to, for writer and reader; reset at each block.
struct DifferenceState {
  std::uint64_t time = 0;
  std::uint64_t object_address = 0;
  std::uint64_t sample_time = 0, sample_pc = 0, sample_address = 0;
  std::uint64_t sample_loop = 0, sample_nest = 0;
  float sample_weight = 1;
  std::uint64_t stretch_time = 0;
  std::uint64_t pattern_time = 0, pattern_pc = 0, pattern_address = 0, loop = 0;
};

} // namespace omptier
