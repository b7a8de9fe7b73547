// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An open-addressed table of (hash of a list's return addresses, list). A stack's hash is computed
// frame by frame, so every prefix is looked up; a hit is compared address by address.
#include "objects/frame_matcher.hpp"

#include "base/page_arena.hpp"
#include "objects/modules.hpp"

#include <algorithm>
#include <map>
#include <new>

namespace omptier {
namespace {

std::uint64_t extend_hash(std::uint64_t hash, ReturnAddress address) {
  hash = (hash ^ address) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 29;
}

} // namespace

// Lies in pages of its own, because the program's allocation path may have to rebuild it.
struct FrameMatcher::Table {
  struct Slot {
    std::uint64_t hash;
    std::uint32_t list; // k_none = empty
    std::uint32_t first;
  };
  std::atomic<std::uint32_t> generation;
  std::uint64_t lengths; // bit n: a list of n frames is here (n <= k_max_frames)
  std::uint32_t mask;
  std::uint32_t missing;
  Slot* slots;
  ReturnAddress* addresses;
  ReturnAddress *begins, *begins_end; // of the lists, in order
};

FrameMatcher::FrameMatcher(std::span<const std::string> identities,
                           std::span<const std::vector<Frame>> lists)
    : identities_(identities.begin(), identities.end()) {
  std::map<std::vector<std::pair<std::uint32_t, std::uint64_t>>, std::uint32_t> known;
  for (const std::vector<Frame>& list : lists) {
    std::vector<std::pair<std::uint32_t, std::uint64_t>> key;
    for (const Frame& frame : list)
      key.emplace_back(frame.module, frame.offset);
    const auto [at, fresh] = known.emplace(key, static_cast<std::uint32_t>(distinct_.size()));
    if (fresh) {
      distinct_.push_back(list);
      if (distinct_.back().size() > k_max_frames) distinct_.back().resize(k_max_frames);
      depth_ = std::max(depth_, static_cast<unsigned>(distinct_.back().size()));
    }
    given_to_distinct_.push_back(at->second);
  }
  refresh_modules();
  current();
}

FrameMatcher::~FrameMatcher() = default; // its pages stay: a thread may still be matching

FrameMatcher::Table* FrameMatcher::build(const ModuleListUse& use) const {
  const std::uint32_t generation = module_generation();
  std::size_t frames = 0;
  for (const auto& list : distinct_)
    frames += list.size();
  std::uint32_t slots = 8;
  while (slots < 2 * distinct_.size())
    slots *= 2;
  const std::size_t bias_bytes = (identities_.size() + 1) * sizeof(const LoadedModule*);
  const std::size_t bytes = sizeof(Table) + slots * sizeof(Table::Slot) +
                            (frames + distinct_.size()) * sizeof(ReturnAddress) + bias_bytes;
  void* memory = map_pages(bytes);
  if (memory == nullptr) return nullptr;
  auto* table = new (memory) Table{};
  table->slots = reinterpret_cast<Table::Slot*>(table + 1);
  table->addresses = reinterpret_cast<ReturnAddress*>(table->slots + slots);
  table->begins = table->begins_end = table->addresses + frames;
  auto* modules = reinterpret_cast<const LoadedModule**>(table->begins + distinct_.size());
  table->generation.store(generation, std::memory_order_relaxed);
  table->mask = slots - 1;
  for (std::uint32_t i = 0; i < slots; ++i)
    table->slots[i].list = k_none;
  for (std::size_t i = 0; i < identities_.size(); ++i)
    for (unsigned number = 0; number < module_count(); ++number)
      if (module_at(number).loaded.load(std::memory_order_relaxed) &&
          identities_[i] == identity_of(module_at(number), use))
        modules[i] = &module_at(number);

  std::uint32_t next = 0;
  for (std::uint32_t list = 0; list < distinct_.size(); ++list) {
    const std::uint32_t first = next;
    std::uint64_t hash = 0;
    if (distinct_[list].empty()) continue;
    bool here = true;
    for (const Frame& frame : distinct_[list]) {
      if (frame.module >= identities_.size() || modules[frame.module] == nullptr) {
        here = false;
        break;
      }
      table->addresses[next] = modules[frame.module]->bias + frame.offset;
      hash = extend_hash(hash, table->addresses[next++]);
    }
    if (!here) {
      next = first;
      ++table->missing;
      continue;
    }
    table->lengths |= std::uint64_t{1} << distinct_[list].size();
    *table->begins_end++ = table->addresses[first];
    std::uint32_t slot = static_cast<std::uint32_t>(hash) & table->mask;
    while (table->slots[slot].list != k_none)
      slot = (slot + 1) & table->mask;
    table->slots[slot] = {hash, list, first};
  }
  std::sort(table->begins, table->begins_end);
  return table;
}

// Rebuilt after the loader's list has changed. While another thread rebuilds it or forks, the old
// table is used: it lacks only modules that have just been loaded.
const FrameMatcher::Table* FrameMatcher::current() const {
  Table* table = table_.load(std::memory_order_acquire);
  if (table != nullptr && table->generation.load(std::memory_order_relaxed) == module_generation())
    return table;
  const ModuleListUse use; // so no child is forked with building_ set
  if (!use || building_.test_and_set(std::memory_order_acquire)) return table;
  if (Table* fresh = build(use); fresh != nullptr) {
    table_.store(fresh, std::memory_order_release);
    table = fresh;
  }
  building_.clear(std::memory_order_release);
  return table;
}

std::uint32_t FrameMatcher::match(const ReturnAddress* stack, unsigned count) const {
  const Table* table = current();
  if (table == nullptr || table->lengths == 0) return k_none;
  std::uint32_t found = k_none;
  std::uint64_t hash = 0;
  count = std::min(count, depth_);
  for (unsigned i = 0; i < count; ++i) {
    hash = extend_hash(hash, stack[i]);
    if ((table->lengths >> (i + 1) & 1) == 0) continue;
    for (std::uint32_t slot = static_cast<std::uint32_t>(hash) & table->mask;
         table->slots[slot].list != k_none; slot = (slot + 1) & table->mask) {
      const Table::Slot& candidate = table->slots[slot];
      if (candidate.hash == hash && distinct_[candidate.list].size() == i + 1 &&
          std::equal(stack, stack + i + 1, table->addresses + candidate.first)) {
        found = candidate.list;
        break;
      }
    }
  }
  return found;
}

bool FrameMatcher::may_begin(ReturnAddress address) const {
  const Table* table = current();
  return table != nullptr && std::binary_search(table->begins, table->begins_end, address);
}

bool FrameMatcher::is_current() const {
  const Table* table = current();
  return table != nullptr &&
         table->generation.load(std::memory_order_relaxed) == module_generation();
}

unsigned FrameMatcher::lists_without_module() const {
  const Table* table = current();
  return table != nullptr ? table->missing : distinct_lists();
}

} // namespace omptier
