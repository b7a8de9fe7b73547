// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See chunk_window.hpp. The figures are those of the placer's tiers, estimated where the firmware
// gives none.
#include "allocators/chunk_window.hpp"

#include "base/os.hpp"
#include "model/chunk_size.hpp"
#include "placement/own_threads.hpp"
#include "placement/pages.hpp"
#include "platform/usual_figures.hpp"

#include <algorithm>
#include <cstdlib>

namespace omptier {
namespace {

// Chosen buffers leave half of the room to others.
constexpr std::uint64_t k_part_of_room = 4;
// Halo rows are copied once more: at most an eighth of a chunk, where there is room.
constexpr std::size_t k_halos_in_chunk = 16;
constexpr std::size_t k_samples = 64; // pages that show where the array lies

struct Sampled {
  std::array<unsigned, k_max_nodes> on_node{};
  unsigned all = 0;
};
Sampled sample_pages(const char* array, std::size_t bytes) {
  Sampled found;
  const std::size_t step = std::max<std::size_t>(bytes / k_samples, 1);
  for (std::size_t at = 0; at < bytes; at += step) {
    PageCensus census;
    count_pages(reinterpret_cast<std::uintptr_t>(array) + at, 1, census);
    for (unsigned node = 0; node < k_max_nodes; ++node)
      if (census.node[node] != 0) ++found.on_node[node], ++found.all;
  }
  return found;
}

// Where most of the array's pages are; memory that is not touched yet goes where its block was
// placed, else to the processors' own.
MemoryKind kind_of_array(Placer& placer, const char* array, const Sampled& sampled) {
  std::array<unsigned, k_memory_kinds + 1> found{};
  for (unsigned node = 0; node < k_max_nodes; ++node)
    found[static_cast<std::size_t>(placer.kind_of_node(node))] += sampled.on_node[node];
  const auto most = std::max_element(found.begin(), found.end() - 1);
  if (*most != 0) return static_cast<MemoryKind>(most - found.begin());
  BlockInfo block;
  if (placer.holds(array) && placer.find(array, false, block)) return block.space->kind();
  return MemoryKind::dram;
}

// Of an array that is mostly on one node, the processors nearest to it: writing NVM from afar is
// several times slower.
std::span<const unsigned> processors_near(const Placer& placer, const Sampled& sampled) {
  for (unsigned number = 0; number < k_max_nodes; ++number) {
    if (sampled.on_node[number] == 0 || sampled.on_node[number] * 4 < sampled.all * 3) continue;
    const Node* node = placer.platform().node(number);
    if (node != nullptr && !node->views.empty()) return node->views.front().cpus;
  }
  return {};
}

Figures figures_of(const Placer& placer, MemoryKind kind) {
  const FigureEstimates estimates(placer.platform().tiers);
  const Tier* tier = placer.platform().tier(kind);
  return estimates.estimate(kind, tier != nullptr ? tier->figures : Figures{});
}

// The program's threads may be on several of the tier's nodes: then the buffers are, too.
Partition partition_on(const Placer& placer, std::size_t tier) {
  unsigned nodes_with_processors = 0;
  for (const unsigned number : placer.platform().tiers[tier].nodes)
    if (const Node* node = placer.platform().node(number); node != nullptr && !node->cpus.empty())
      ++nodes_with_processors;
  return nodes_with_processors > 1 && count_processors() > 1 ? Partition::interleaved
                                                             : Partition::environment;
}

class WindowMaker {
public:
  explicit WindowMaker(const WindowRequest& request) : request_(request) {}

  Window make() {
    placer_ = runtime().placer();
    if (placer_ != nullptr) {
      const Sampled sampled = sample_pages(request_.array, request_.array_bytes);
      window_.kind = kind_of_array(*placer_, request_.array, sampled);
      window_.near = processors_near(*placer_, sampled);
    }
    if (request_.allocator != k_null_allocator)
      by_allocator();
    else if (placer_ != nullptr)
      by_speed();
    else
      window_.why_none = "this machine's memory is not known";
    if (window_.buffers[0] == nullptr && request_.anywhere) anywhere();
    if (window_.buffers[0] == nullptr) choose_rows(window_.kind, ~std::uint64_t{0});
    return window_;
  }

private:
  std::size_t bytes_of(std::size_t rows) const {
    return (rows + 2 * request_.halo_rows) * request_.row_bytes;
  }

  // room: bytes that both buffers together may take. False: too few for chunks that pay.
  bool choose_rows(MemoryKind fast, std::uint64_t room) {
    window_.copiers = 1;
    window_.chunk_rows = request_.chunk_rows;
    ChunkTraffic traffic{{}, {}, 1, request_.in, request_.back};
    if (placer_ != nullptr) {
      traffic.slow = figures_of(*placer_, array_kind_);
      traffic.fast = figures_of(*placer_, fast);
      traffic.copiers = window_.copiers = chunk_copiers(traffic.slow, count_processors());
    }
    if (window_.chunk_rows != 0) return true;
    const auto row = static_cast<double>(request_.row_bytes);
    const auto in_rows = [&](double bytes) { return static_cast<std::uint64_t>(bytes / row) + 1; };
    const std::uint64_t halo = request_.halo_rows,
                        most = room / k_part_of_room / request_.row_bytes;
    least_rows_ = std::min<std::uint64_t>(
        std::max({in_rows(least_chunk_bytes(traffic)), halo, std::uint64_t{1}}), request_.rows);
    if (most < least_rows_ + 2 * halo) return false;
    const double array = static_cast<double>(request_.array_bytes);
    const std::uint64_t wished =
        std::max(in_rows(chunk_bytes(array, traffic)), k_halos_in_chunk * halo);
    window_.chunk_rows =
        std::clamp<std::uint64_t>(std::min(wished, most - 2 * halo), least_rows_, request_.rows);
    return true;
  }

  // Calls take(bytes) for each buffer, with fewer rows if that fails and the rows are ours to
  // choose.
  template <typename Take> bool take_both(Take&& take) {
    for (;;) {
      for (void*& buffer : window_.buffers)
        buffer = take(bytes_of(window_.chunk_rows));
      if (window_.buffers[0] != nullptr && window_.buffers[1] != nullptr) return true;
      give_back_window(window_);
      if (request_.chunk_rows != 0 || window_.chunk_rows <= least_rows_) return false;
      window_.chunk_rows = std::max(window_.chunk_rows / 2, least_rows_);
    }
  }

  void by_speed() {
    array_kind_ = window_.kind;
    window_.why_none = "no memory is faster than the array's";
    for (const std::size_t tier : placer_->choices().tiers(Preference::bandwidth, current_cpu())) {
      const MemoryKind kind = placer_->kind_of_tier(tier);
      if (kind == array_kind_) return;
      if (take_from(tier)) {
        window_.kind = kind;
        return;
      }
      window_.why_none = "faster memory has no room for two buffers";
    }
  }

  bool take_from(std::size_t tier) {
    if (!choose_rows(placer_->kind_of_tier(tier), placer_->room_on(tier))) return false;
    BlockRequest block;
    block.alignment = page_size();
    block.required = true;
    block.partition = partition_on(*placer_, tier);
    block.allocator = k_no_allocator;
    block.caller = request_.caller;
    return take_both([&](std::size_t bytes) {
      bool fresh = false;
      Refusal why = Refusal::none;
      block.bytes = bytes;
      void* buffer = placer_->place(tier, block, fresh, why);
      if (buffer != nullptr) report_allocated(buffer, bytes, k_default_mem_alloc, request_.caller);
      return buffer;
    });
  }

  void by_allocator() {
    array_kind_ = window_.kind;
    Allocator* allocator = runtime().allocators.find(request_.allocator);
    std::uint64_t room = ~std::uint64_t{0};
    MemoryKind kind = MemoryKind::dram;
    if (placer_ != nullptr && allocator != nullptr)
      if (const TierOrder tiers = tiers_of(*placer_, *allocator); !tiers.empty()) {
        kind = placer_->kind_of_tier(tiers.front());
        room = placer_->room_on(tiers.front());
      }
    window_.why_none = "the allocator gives no memory for two buffers";
    if (choose_rows(kind, room) &&
        take_both([&](std::size_t bytes) { return take_by(request_.allocator, bytes); }))
      find_kind();
  }

  void anywhere() {
    choose_rows(array_kind_, ~std::uint64_t{0});
    if (take_both([&](std::size_t bytes) { return take_by(k_default_mem_alloc, bytes); }))
      find_kind();
  }

  void* take_by(OmpValue handle, std::size_t bytes) {
    void* buffer = nullptr;
    if (allocate({bytes, page_size(), handle, false, request_.caller}, &buffer)) return buffer;
    buffer = stock_allocate(bytes, page_size(), handle);
    if (buffer != nullptr) report_allocated(buffer, bytes, handle, request_.caller);
    return buffer;
  }

  void find_kind() {
    BlockInfo block;
    const void* buffer = window_.buffers[0];
    window_.kind =
        placer_ != nullptr && placer_->holds(buffer) && placer_->find(buffer, true, block)
            ? block.space->kind()
            : MemoryKind::dram;
  }

  const WindowRequest& request_;
  Placer* placer_ = nullptr;
  MemoryKind array_kind_ = MemoryKind::dram;
  std::size_t least_rows_ = 1;
  Window window_;
};

} // namespace

Window make_window(const WindowRequest& request) {
  return WindowMaker(request).make();
}

void give_back_window(Window& window) {
  for (void*& buffer : window.buffers) {
    if (buffer != nullptr && !release(buffer)) {
      stock_released(buffer);
      const omptier_runtime* libomp = runtime().libomp.load(std::memory_order_acquire);
      libomp != nullptr ? libomp->stock_free(buffer) : std::free(buffer);
    }
    buffer = nullptr;
  }
}

} // namespace omptier
