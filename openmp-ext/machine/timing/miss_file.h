// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The file of counted misses that the time model exports: ground truth for a profiler.
// Little-endian.
//
//   struct miss_file_header
//   then once per mark, and once at the end:
//     struct miss_section, followed by `records` times struct miss_record
//
// Counts are since the last reset. A file without a section numbered MISS_SECTION_END is truncated.
#pragma once

#include <stdint.h>

#define MISS_FILE_MAGIC UINT64_C(0x5353494d54504d4f)    // the bytes "OMPTMISS"
#define MISS_SECTION_MAGIC UINT64_C(0x544345535353494d) // the bytes "MISSSECT"
#define MISS_FILE_VERSION 1
#define MISS_SECTION_END 0xffff // number of the section written when the machine ends

struct miss_file_header {
  uint64_t magic;
  uint32_t version;
  uint32_t record_size; // sizeof(struct miss_record)
  uint32_t vcpus;
  uint32_t page_size; // bytes
  double dilation;
};

struct miss_section {
  uint64_t magic;
  uint32_t mark; // 0–15, or MISS_SECTION_END
  uint32_t reserved;
  uint64_t records;
  uint64_t tsc; // host's counter
};

// Misses of the last level for one pair of virtual and physical page, by all vCPUs. Virtual pages
// of different processes are distinguished only by their physical pages. Virtual addresses from
// 2^47 on are the kernel's (page copies and clears); user addresses include the kernel's copies
// from and to user memory.
struct miss_record {
  uint64_t virtual_page;  // address of its first byte
  uint64_t physical_page; // guest physical
  uint32_t node;
  uint32_t reads;
  uint32_t writes;   // misses by stores, which also read their line
  uint32_t streamed; // of both, those that a prefetcher would cover
};
