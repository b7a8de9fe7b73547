// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Records objects. Blocks from 64 KiB are logged one by one. From 4 KiB on they are counted by
// site, and kept in a table for samples. Below: counts and 64 KiB areas only. Blocks of OpenMP's
// allocators are logged while a site has few. Once samples are thinned, busy sites are only
// counted.
#include "base/rounding.hpp"
#include "recorder/recorder.hpp"

#include "base/os.hpp"
#include "objects/stack.hpp"
#include "recorder/inside.hpp"

#include <algorithm>

namespace omptier {
namespace {

constexpr std::uint32_t k_no_module = k_max_modules;
constexpr std::size_t k_least_counted = 4096, k_least_logged = std::size_t{64} << 10;
constexpr std::size_t k_most_served = std::size_t{16} << 10; // by spans
constexpr std::uint32_t k_small_logged = 1024; // of one site

// Size of a table by site that has an element for this one.
std::size_t with_room(std::uint32_t site) {
  return std::size_t{site} + site / 4 + 64;
}

} // namespace

std::uint32_t Recorder::module_number(const LoadedModule* module) {
  const std::uint32_t number = module != nullptr ? module->number : k_no_module;
  std::uint8_t& byte = module_written_[number / 8];
  const auto bit = static_cast<std::uint8_t>(1u << number % 8);
  if ((byte & bit) != 0) return number;
  byte |= bit;
  ModuleText text;
  if (module != nullptr)
    text = {identity_of(*module), module->name, module->path, module->bias, module->system};
  log_.module(number, text);
  return number;
}

// Must not wait for the loader's lock under ours: a thread that holds it may be waiting for ours,
// in a malloc of its dl_iterate_phdr.
void Recorder::identify_modules(const ReturnAddress* frames, unsigned count) {
  refresh_modules();
  for (unsigned i = 0; i < count; ++i) {
    const ModuleListUse use;
    const LoadedModule* module = known_module_of(frames[i]);
    if (use && module != nullptr) identity_of(*module, use);
  }
}

// Some room is kept for stacks of one frame, which then stand for all further ones.
bool Recorder::is_full_of_stacks(const StackTable& table, unsigned frames) const {
  return table.count() >= (frames > 1 ? most_stacks_ : most_stacks_ + most_stacks_ / 4);
}

// A new stack's frames, and their modules, enter the log.
std::uint32_t Recorder::define(StackTable& table, const ReturnAddress* frames, unsigned count,
                               bool site) {
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    std::uint32_t number = table.known(frames, count);
    if (number == StackTable::k_full && count > 1 && is_full_of_stacks(table, count)) {
      (site ? by_caller_ : regions_by_caller_).fetch_add(1, std::memory_order_relaxed);
      count = 1;
      number = table.known(frames, count);
    }
    if (number != StackTable::k_full) return number;
  }
  identify_modules(frames, count);
  const std::lock_guard<std::mutex> guard(mutex_);
  if (is_full_of_stacks(table, count)) return table.known(frames, count);
  bool fresh = false;
  const std::uint32_t number = table.number_of(frames, count, fresh);
  if (!fresh) return number;
  Frame exact[k_max_frames];
  for (unsigned i = 0; i < count; ++i) {
    const LoadedModule* module = known_module_of(frames[i]);
    exact[i].offset = frames[i] - (module != nullptr ? module->bias : 0);
    exact[i].module = module_number(module);
  }
  if (site)
    log_.site(number, exact, count);
  else
    log_.region_definition(number, exact, count);
  return number;
}

void Recorder::allocated(const void* block, std::size_t bytes, std::uintptr_t allocator,
                         const void* caller) {
  if (!active() || block == nullptr) return;
  const Inside inside;
  ReturnAddress frames[k_max_frames];
  const unsigned count = capture_stack(caller, frames, options_.site_depth);
  object(block, bytes, allocator, frames, count);
}

// Under mutex_.
Recorder::SiteCount* Recorder::count_of(std::uint32_t site) {
  if (site >= site_counts_.size() && !site_counts_.resize(with_room(site), {})) return nullptr;
  return &site_counts_[site];
}

bool Recorder::must_log(std::size_t bytes, const SiteCount& count) const {
  if (source_wants_objects_.load(std::memory_order_relaxed)) return true;
  if (bytes >= k_least_logged) return count.logged < most_logged_.load(std::memory_order_relaxed);
  return bytes < k_least_counted && count.logged < k_small_logged;
}

// Under mutex_, for the block that begins there. True if the release must be logged.
bool Recorder::end_block(std::uint64_t address) {
  LiveBlock block;
  if (!live_.erase(address, monotonic_nanoseconds(), block)) return false;
  if (block.logged) return true;
  SiteCount& count = site_counts_[block.site];
  count.live -= std::min(count.live, block.bytes);
  count.changed = true;
  return false;
}

// Under mutex_.
void Recorder::begin_block(SiteCount& count, std::uint64_t bytes, bool by_malloc) {
  ++count.objects;
  count.bytes += bytes;
  count.largest = std::max(count.largest, bytes);
  count.live += bytes;
  count.by_malloc = count.by_malloc || by_malloc;
  count.changed = true;
  if (count.live <= count.peak) return;
  count.peak = count.live;
  count.peak_time = monotonic_nanoseconds();
}

// The site if its further blocks should have spans, else k_full.
std::uint32_t Recorder::object(const void* block, std::size_t bytes, std::uintptr_t allocator,
                               const ReturnAddress* frames, unsigned count) {
  const std::uint32_t site = define(sites_, frames, count, true);
  if (site == StackTable::k_full) {
    unwatched_.fetch_add(1, std::memory_order_relaxed);
    return site;
  }
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  bool logged = false, busy = false;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    end_block(address); // whose release was not seen
    SiteCount* counted = count_of(site);
    if (counted != nullptr) logged = must_log(bytes, *counted);
    if (counted != nullptr && !logged && bytes < k_least_counted) {
      static_cast<void>(small_object(site, address, bytes, 1));
      return StackTable::k_full;
    }
    LiveBlock live{address, bytes, site, logged};
    if (counted == nullptr || !live_.insert(live)) {
      unwatched_.fetch_add(1, std::memory_order_relaxed);
      return StackTable::k_full;
    }
    if (logged) {
      ++counted->logged;
    } else {
      begin_block(*counted, live_.counted_bytes(bytes), allocator == 0);
      busy = is_busy(*counted);
    }
  }
  if (logged) log_.object(site, address, bytes, this_thread(), allocator);
  with_source([&](SampleSource& source) { source.object_begin(address, bytes); });
  return busy ? site : StackTable::k_full;
}

// Under mutex_. True once the site has allocated very many counted blocks, each of which costs a
// few hundred nanoseconds; again after four times as many, for calls that were not served. Not if
// many of them are live: the most that spans and others hold together is known from time to time
// only.
bool Recorder::is_busy(SiteCount& count) {
  constexpr std::uint64_t k_many = 4096, k_live_part = 256;
  if (count.objects < std::max(k_many, 4 * count.asked_at)) return false;
  if (count.live > count.bytes / k_live_part) return false;
  count.asked_at = count.objects;
  return true;
}

void Recorder::released(const void* block) {
  if (!active() || block == nullptr) return;
  const Inside inside;
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  with_source([&](SampleSource& source) { source.object_end(address); });
  bool logged = false, half_full = false;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto before = live_.next_ended();
    logged = end_block(address);
    const auto now = live_.next_ended();
    half_full = now != before && now % (LiveBlocks::k_ended / 2) == LiveBlocks::k_ended / 2 - 1;
  }
  if (logged) log_.release(address);
  if (half_full) helper_.wake();
}

namespace {

const LoadedModule* module_at_call(const void* caller) {
  const auto at = reinterpret_cast<std::uintptr_t>(caller);
  const LoadedModule* module = known_module_of(at);
  return module != nullptr ? module : module_of(at);
}

// Code that the OpenMP runtime or OMPTier calls for itself: the C library, dlopen, hwloc and the
// like. A parallel region of another system library is called by the runtime too.
bool is_called_by_runtime(const RuntimeMet& met) {
  if (met.at == 0) return false;
  const LoadedModule* module = module_at_call(reinterpret_cast<const void*>(met.called));
  return module != nullptr && (module->language || is_support_name(module->name));
}

// The stack of a block's site; empty: start-up of the C library. For an allocation by a system
// library: its own call, then the program's frames that led there; if there are none, the
// runtime's.
unsigned frames_of(const void* caller, ReturnAddress* frames, unsigned depth) {
  RuntimeMet met;
  const unsigned count = capture_stack(caller, frames, depth, &met);
  const LoadedModule* module = module_at_call(caller);
  if (module == nullptr || !module->system) return count;
  const auto own = reinterpret_cast<ReturnAddress>(caller);
  const bool alone = count == 1 && frames[0] == own;
  if (alone && is_called_by_runtime(met)) {
    frames[1] = met.at;
    return 2;
  }
  if (module->language) return alone ? 0 : count;
  if (alone) return count;
  const unsigned kept = std::min(count, k_max_frames - 1);
  std::copy_backward(frames, frames + kept, frames + kept + 1);
  frames[0] = own;
  return kept + 1;
}

} // namespace

bool Recorder::is_runtimes(const void* caller) {
  const LoadedModule* module = module_at_call(caller);
  return module != nullptr && module->runtime;
}

void Recorder::malloc_allocated(const void* block, std::size_t bytes, const void* caller) {
  if (!active() || block == nullptr || is_runtimes(caller)) return;
  ReturnAddress frames[k_max_frames];
  const unsigned count = frames_of(caller, frames, options_.site_depth);
  if (count == 0) return;
  const std::uint32_t busy = object(block, bytes, 0, frames, count);
  if (busy != StackTable::k_full && bytes <= k_most_served) serve_call(caller, busy);
}

void Recorder::small_allocated(const void* block, std::size_t bytes, const void* caller,
                               std::uint32_t stands_for) {
  if (!active() || is_runtimes(caller)) return;
  ReturnAddress frames[k_max_frames];
  RuntimeMet met;
  unsigned count = capture_stack(caller, frames, options_.site_depth, &met);
  const bool runtimes = is_called_by_runtime(met);
  if (runtimes) frames[count++] = met.at;
  const std::uint32_t site = define(sites_, frames, count, true);
  if (site == StackTable::k_full)
    return void(unwatched_.fetch_add(stands_for, std::memory_order_relaxed));
  bool serve = false;
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    serve = small_object(site, reinterpret_cast<std::uintptr_t>(block), bytes, stands_for);
  }
  if (serve && !runtimes) serve_call(caller, StackTable::k_full);
}

// Under mutex_. True once the site has allocated enough to get spans of its own; again after four
// times as much, for calls of the site that were not served.
bool Recorder::small_object(std::uint32_t site, std::uint64_t address, std::size_t bytes,
                            std::uint32_t stands_for) {
  constexpr std::uint64_t k_least_served = std::uint64_t{128} << 10, k_part = 1024;
  if (site >= small_counts_.size() && !small_counts_.resize(with_room(site), {})) {
    unwatched_.fetch_add(stands_for, std::memory_order_relaxed);
    return false;
  }
  SmallCount& count = small_counts_[site];
  count.objects += stands_for;
  count.bytes += bytes * stands_for;
  small_bytes_ += bytes * stands_for;
  const std::uint64_t area = round_down(address, k_small_area);
  if (small_areas_.add(area)) log_.small_area(area);
  if (count.bytes < std::max({k_least_served, small_bytes_ / k_part, 4 * count.asked_at}))
    return false;
  count.asked_at = count.bytes;
  return true;
}

// Passes on the call's words on the stack. These may be less than the site's frames, and then name
// another site. only: the one that they must name; k_full: any.
void Recorder::serve_call(const void* caller, std::uint32_t only) {
  if (spans_ == nullptr) return;
  StackWord words[OMPTIER_MOST_CALL_WORDS];
  omptier_call_words call{};
  call.count = capture_words(caller, words, OMPTIER_MOST_CALL_WORDS, options_.site_depth);
  ReturnAddress frames[k_max_frames];
  unsigned count = 0;
  for (unsigned i = 0; i < call.count; ++i) {
    call.code[i] = words[i].code;
    call.above[i] = words[i].above;
    if (words[i].own) frames[count++] = words[i].code;
  }
  if (call.count == 0) return;
  if (count == 0) frames[count++] = reinterpret_cast<ReturnAddress>(caller);
  if (only == StackTable::k_full) {
    call.site = define(sites_, frames, count, true);
  } else {
    const std::lock_guard<std::mutex> guard(mutex_);
    call.site = sites_.known(frames, count);
    if (call.site != only) return;
  }
  if (call.site != StackTable::k_full) spans_->serve(&call);
}

// Adds the spans' counts since the last time to the sites'.
void Recorder::take_small_counts() {
  if (spans_ == nullptr) return;
  const auto take = [](void* self, const omptier_small_counts* counts) {
    auto& recorder = *static_cast<Recorder*>(self);
    const std::lock_guard<std::mutex> guard(recorder.mutex_);
    PageArray<omptier_small_counts>& served = recorder.served_;
    SiteCount* count = recorder.count_of(counts->site);
    if (count == nullptr || (counts->site >= served.size() &&
                             !served.resize(with_room(counts->site), {})))
      return;
    omptier_small_counts& before = served[counts->site];
    if (before.objects == counts->objects && before.live == counts->live) return;
    count->objects += counts->objects - before.objects;
    count->bytes += counts->bytes - before.bytes;
    count->largest = std::max<std::uint64_t>(count->largest, counts->largest);
    const std::uint64_t others = count->live - std::min(count->live, before.live);
    count->live = others + counts->live;
    count->by_malloc = count->changed = true;
    if (const std::uint64_t peak = others + std::max(counts->live, counts->peak);
        peak > count->peak) {
      count->peak = peak;
      count->peak_time = monotonic_nanoseconds();
    }
    before = *counts;
  };
  spans_->counts(take, this);
}

void Recorder::write_small_objects() {
  const std::lock_guard<std::mutex> guard(mutex_);
  for (std::uint32_t site = 0; site < small_counts_.size(); ++site) {
    SmallCount& count = small_counts_[site];
    if (count.objects == count.written) continue;
    log_.small_objects(site, count.objects, count.bytes);
    count.written = count.objects;
  }
}

// Each part is rounded up, so together they may exceed the whole, which is not a new peak.
void Recorder::add_rest(SiteCount& count, std::uint64_t bytes) {
  count.live = std::min(count.live + bytes, count.peak);
}

// Under mutex_. Mappings of a site that has logged many are counted, as blocks are.
bool Recorder::begin_mapping(const Mapping& fresh) {
  SiteCount* count = count_of(fresh.site);
  if (count == nullptr || !mappings_.add(fresh)) return false;
  const std::uint64_t bytes = fresh.end - fresh.begin;
  if (fresh.logged) {
    ++count->logged;
    log_.object(fresh.site, fresh.begin, bytes, this_thread(), ObjectRecord::k_mapping);
    return true;
  }
  end_block(fresh.begin); // malloc's, unseen
  if (!live_.insert({fresh.begin, bytes, fresh.site, false})) return false;
  begin_block(*count, live_.counted_bytes(bytes), false);
  return true;
}

// Under mutex_.
void Recorder::end_mappings(std::uint64_t begin, std::uint64_t end, std::uint64_t before) {
  const bool tell = source_ != nullptr && source_wants_objects_.load(std::memory_order_relaxed);
  mappings_.remove(
      begin, end, before,
      [&](const Mapping& old) {
        if (tell) source_->object_end(old.begin);
        if (old.logged)
          log_.release(old.begin);
        else
          end_block(old.begin);
      },
      [&](const Mapping& rest) {
        const std::uint64_t bytes = rest.end - rest.begin;
        if (tell) source_->object_begin(rest.begin, bytes);
        if (rest.logged)
          log_.object(rest.site, rest.begin, bytes, this_thread(), ObjectRecord::k_rest);
        else if (live_.insert({rest.begin, bytes, rest.site, false}))
          add_rest(site_counts_[rest.site], live_.counted_bytes(bytes));
      });
}

void Recorder::mapped(const void* address, std::size_t bytes, const void* caller) {
  if (!active() || Inside::now()) return;
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  ReturnAddress frames[k_max_frames];
  const unsigned count = is_runtimes(caller) ? 0 : frames_of(caller, frames, options_.site_depth);
  const std::uint32_t site = count == 0 ? StackTable::k_full : define(sites_, frames, count, true);
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    const std::uint64_t number = ++mappings_logged_;
    end_mappings(begin, begin + bytes, number); // what was there, whoever unmapped it
    if (count == 0) return;
    const SiteCount* counted = site != StackTable::k_full ? count_of(site) : nullptr;
    const bool logged =
        counted != nullptr && (source_wants_objects_.load(std::memory_order_relaxed) ||
                               counted->logged < most_logged_.load(std::memory_order_relaxed));
    if (counted == nullptr || !begin_mapping({begin, begin + bytes, number, site, logged}))
      return void(unwatched_.fetch_add(1, std::memory_order_relaxed));
  }
  with_source([&](SampleSource& source) { source.object_begin(begin, bytes); });
}

void Recorder::unmapped(const void* address, std::size_t bytes, std::uint64_t before) {
  const auto begin = reinterpret_cast<std::uintptr_t>(address);
  if (!active() || Inside::now() || begin + bytes <= begin)
    return; // the kernel refuses ranges that wrap around
  const std::lock_guard<std::mutex> guard(mutex_);
  end_mappings(begin, begin + bytes, before);
}

void Recorder::look_at_areas() {
  areas_.look(log_, mutex_, [&](const LoadedModule& module) { module_number(&module); });
}

void Recorder::write_site_totals() {
  const std::lock_guard<std::mutex> guard(mutex_);
  for (std::uint32_t site = 0; site < site_counts_.size(); ++site) {
    SiteCount& count = site_counts_[site];
    if (!count.changed) continue;
    log_.site_totals({site, count.by_malloc, count.objects, count.bytes, count.largest, count.live,
                      count.peak, count.peak_time, 0});
    count.changed = false;
    count.peak = count.live;
    count.peak_time = monotonic_nanoseconds();
  }
}

} // namespace omptier
