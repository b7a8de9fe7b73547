// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See code_map.hpp.
#include "emulation/code_map.hpp"

#include "emulation/process_memory.hpp"
#include "objects/modules.hpp"

#include <algorithm>
#include <link.h>

namespace omptier {

namespace {

struct Counters {
  unsigned long long added = 0, removed = 0;
};

int count_objects(dl_phdr_info* object, std::size_t, void* to) {
  *static_cast<Counters*>(to) = {object->dlpi_adds, object->dlpi_subs};
  return 1; // the counters are the same in every entry
}

} // namespace

bool CodeMap::refresh() {
  const ModuleListUse use; // a forked child must find the loader's lock free
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
  MemoryLines lines;
  const auto copy = [](void* reader, std::uintptr_t at, void* to, std::size_t bytes) {
    return static_cast<MemoryLines*>(reader)->read(at, to, bytes);
  };
  return find_function(header_address, {0, ~std::uintptr_t{0}, copy, &lines}, address);
}

} // namespace omptier
