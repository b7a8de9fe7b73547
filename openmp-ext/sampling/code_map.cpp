// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// .eh_frame_hdr: version 1, three encodings, then pairs (function start, its FDE) sorted by start.
// Every linker in use writes the pairs as 32-bit offsets from the header; other encodings are left
// alone (no bounds, no blame). The FDE gives the length; its encoding stands in the CIE before it.

#include "sampling/code_map.hpp"

#include "objects/modules.hpp"
#include "sampling/process_memory.hpp"

#include <algorithm>
#include <cstring>
#include <link.h>

namespace omptier {

namespace {

// Values of DW_EH_PE_* (Linux Standard Base, "DWARF extensions").
constexpr std::uint8_t k_pe_udata4 = 0x03, k_pe_sdata4 = 0x0b, k_pe_absptr = 0x00,
                       k_pe_sdata8 = 0x0c, k_pe_udata8 = 0x04;
constexpr std::uint8_t k_pe_datarel_sdata4 = 0x3b;

struct UnwindHeader {
  std::uint8_t version, frame_encoding, count_encoding, table_encoding;
};

struct TableEntry {
  std::int32_t function, description; // both relative to the header
};

std::uint64_t relative(std::uint64_t base, std::int32_t offset) {
  return base + static_cast<std::uint64_t>(static_cast<std::int64_t>(offset));
}

// Size of a function's length field in an FDE, from the augmentation of its CIE; 0 = not
// understood.
unsigned length_bytes(std::uint64_t common) {
  std::uint8_t bytes[48];
  if (!read_own_memory(common, bytes, sizeof bytes)) return 0;
  const char* augmentation = reinterpret_cast<const char*>(bytes + 9);
  std::size_t letters = strnlen(augmentation, 8);
  if (bytes[8] > 4 || letters == 8 || augmentation[0] != 'z') return 0;
  std::size_t at = 9 + letters + 1;
  auto skip_leb = [&] {
    while (at < sizeof bytes && (bytes[at] & 0x80))
      ++at;
    ++at;
  };
  for (int field = 0; field < 4; ++field)
    skip_leb(); // code and data factor, return column, size
  for (std::size_t i = 1; i < letters && at + 9 < sizeof bytes; ++i) {
    if (augmentation[i] == 'L') ++at;
    if (augmentation[i] == 'P') { // encoding and pointer of the personality routine
      std::uint8_t form = bytes[at] & 0x0f;
      at += 1 + (form == k_pe_sdata8 || form == k_pe_udata8 || form == k_pe_absptr ? 8 : 4);
    }
    if (augmentation[i] != 'R') continue;
    std::uint8_t form = bytes[at] & 0x0f;
    if (form == k_pe_sdata4 || form == k_pe_udata4) return 4;
    return form == k_pe_sdata8 || form == k_pe_udata8 || form == k_pe_absptr ? 8 : 0;
  }
  return 8; // no 'R': absolute pointers
}

// Length of the function that an FDE describes; 0 = not understood.
std::uint64_t described_length(std::uint64_t description) {
  std::uint32_t size = 0, common_offset = 0;
  if (!read_own(description, size) || size == 0 || size == 0xffffffff) return 0;
  if (!read_own(description + 4, common_offset) || common_offset == 0) return 0;
  unsigned bytes = length_bytes(description + 4 - common_offset);
  std::uint64_t length = 0;
  if (!bytes || !read_own_memory(description + 8 + bytes, &length, bytes)) return 0;
  return length;
}

struct Counters {
  unsigned long long added = 0, removed = 0;
};

int count_objects(dl_phdr_info* object, std::size_t, void* to) {
  *static_cast<Counters*>(to) = {object->dlpi_adds, object->dlpi_subs};
  return 1; // the counters are the same in every entry
}

} // namespace

bool CodeMap::refresh() {
  const ModuleListUse use; // a child of fork must find the loader's lock free
  if (!use) return false;
  Counters now;
  dl_iterate_phdr(count_objects, &now);
  if (!segments_.empty() && now.added == added_ && now.removed == removed_) return false;
  bool reused = now.removed != removed_;
  added_ = now.added;
  removed_ = now.removed;
  segments_.clear();
  auto collect = [](dl_phdr_info* object, std::size_t, void* to) {
    auto& segments = *static_cast<std::vector<Segment>*>(to);
    std::uint64_t unwind = 0;
    for (int i = 0; i < object->dlpi_phnum; ++i)
      if (object->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME)
        unwind = object->dlpi_addr + object->dlpi_phdr[i].p_vaddr;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const auto& header = object->dlpi_phdr[i];
      if (header.p_type != PT_LOAD || !(header.p_flags & PF_X)) continue;
      std::uint64_t begin = object->dlpi_addr + header.p_vaddr;
      segments.push_back({{begin, begin + header.p_memsz}, unwind});
    }
    return 0;
  };
  dl_iterate_phdr(collect, &segments_);
  std::sort(segments_.begin(), segments_.end(),
            [](const Segment& a, const Segment& b) { return a.range.begin < b.range.begin; });
  return reused;
}

const CodeMap::Segment* CodeMap::segment_of(std::uint64_t address) const {
  auto after =
      std::upper_bound(segments_.begin(), segments_.end(), address,
                       [](std::uint64_t a, const Segment& s) { return a < s.range.begin; });
  if (after == segments_.begin()) return nullptr;
  const Segment& segment = *std::prev(after);
  return address < segment.range.end ? &segment : nullptr;
}

bool CodeMap::is_code(std::uint64_t address) const {
  return segment_of(address) != nullptr;
}

std::optional<CodeRange> CodeMap::function_around(std::uint64_t address) const {
  const Segment* segment = segment_of(address);
  if (!segment || !segment->unwind_header) return {};
  return function_in_unwind_table(segment->unwind_header, address);
}

std::optional<CodeRange> function_in_unwind_table(std::uint64_t header_address,
                                                  std::uint64_t address) {
  UnwindHeader header;
  std::uint32_t count = 0;
  if (!read_own(header_address, header) || header.version != 1) return {};
  if (header.count_encoding != k_pe_udata4 || header.table_encoding != k_pe_datarel_sdata4)
    return {};
  // encoded pointer to .eh_frame comes first: 4 bytes in every encoding but the 8-byte ones
  std::uint8_t form = header.frame_encoding & 0x0f;
  unsigned pointer = form == k_pe_sdata8 || form == k_pe_udata8 || form == k_pe_absptr ? 8 : 4;
  if (!read_own(header_address + sizeof header + pointer, count)) return {};
  std::uint64_t table = header_address + sizeof header + pointer + 4;
  TableEntry entry = {};
  std::uint32_t low = 0, high = count; // first entry that begins after the address
  while (low < high) {
    std::uint32_t middle = low + (high - low) / 2;
    if (!read_own(table + middle * sizeof entry, entry)) return {};
    if (relative(header_address, entry.function) <= address)
      low = middle + 1;
    else
      high = middle;
  }
  if (low == 0 || !read_own(table + (low - 1) * sizeof entry, entry)) return {};
  std::uint64_t begin = relative(header_address, entry.function);
  std::uint64_t length = described_length(relative(header_address, entry.description));
  if (begin > address || address - begin >= length || begin + length < begin) return {};
  return CodeRange{begin, begin + length};
}

} // namespace omptier
