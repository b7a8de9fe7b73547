// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Answers about live memory. The kernel counts the pages at each call; the decision comes from the
// block's own record. No malloc: callable anywhere but in a signal handler.
#include "allocators/placement_text.hpp"

#include "allocators/allocation.hpp"
#include "base/notices.hpp"
#include "migration/region_moves.hpp"
#include "placement/block_list.hpp"
#include "traits/interned.hpp"

#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace omptier {
namespace {

const char* word_for(PlacementReason reason) {
  switch (reason) {
  case PlacementReason::required:
    return "required";
  case PlacementReason::preferred:
    return "preferred";
  case PlacementReason::next_best:
    return "next best, the preferred memory had no room";
  case PlacementReason::plan:
    return "by the plan";
  case PlacementReason::strategy:
    return "by OMPTIER_STRATEGY";
  case PlacementReason::declared:
    return "decided at ompx_commit";
  }
  return "";
}

const char* label_of(const Allocator* allocator) {
  const char* label = allocator != nullptr ? interned_text(allocator->traits.label) : nullptr;
  return label != nullptr ? label : "";
}

// "NVM: by the plan; 4194304 bytes from 8388608 in HBM, 2097152 bytes from 0 in DRAM": the latest
// part first, as many as fit.
void explain_parts(const BlockInfo& block, const char* reason, char* text, std::size_t size) {
  int length = std::snprintf(text, size, "%s: %s", title_of(block.charged).data(), reason);
  const char* before = "; ";
  for (const ExtentPart* part = block.parts; part != nullptr; part = part->next) {
    char piece[96];
    const int more =
        std::snprintf(piece, sizeof piece, "%s%zu bytes from %zu in %s", before,
                      part->end - part->begin, part->begin, title_of(part->kind).data());
    if (length + more + 6 > static_cast<int>(size)) {
      std::snprintf(text + length, size - static_cast<std::size_t>(length), ", …");
      return;
    }
    std::memcpy(text + length, piece, static_cast<std::size_t>(more) + 1);
    length += more;
    before = ", ";
  }
}

void explain_nodes(const BlockInfo& block, char* text, std::size_t size) {
  const Binding& binding = block.space->binding();
  text[0] = '\0';
  if (const char* folder = block.space->backing().folder()) {
    std::snprintf(text, size, "; from the folder %s", folder);
    return;
  }
  if (binding.nodes.count() < 2 || block.moved) return;
  switch (binding.spreading) {
  case Spreading::first_touch:
    std::snprintf(text, size, "; of its %u nodes the one next to the first touch",
                  binding.nodes.count());
    return;
  case Spreading::interleaved:
    std::snprintf(text, size, "; interleaved over its %u nodes", binding.nodes.count());
    return;
  case Spreading::blocked:
    std::snprintf(text, size, "; blocked over its %u nodes", binding.nodes.count());
    return;
  case Spreading::home:
    break;
  }
  PageCensus census;
  NodeSet home;
  home.add(binding.home);
  count_pages(block.begin, block.bytes, census);
  const std::uint64_t spilled = census.present() - census.on(home);
  if (spilled == 0)
    std::snprintf(text, size, "; node %u, next to the caller", binding.home);
  else
    std::snprintf(text, size,
                  "; %llu bytes on other nodes, as node %u, next to the caller, was full",
                  static_cast<unsigned long long>(spilled), binding.home);
}

void explain_decision(const BlockInfo& block, char* text, std::size_t size) {
  const Allocator* allocator = runtime().allocators.by_number(block.allocator);
  const MemoryKind kind = block.space->kind();
  if (!block.large) {
    std::snprintf(text, size, "%s: small block of %.*s, its pages were verified when taken",
                  title_of(kind).data(),
                  allocator != nullptr ? static_cast<int>(space_name(allocator->space).size()) : 4,
                  allocator != nullptr ? space_name(allocator->space).data() : "plan");
    return;
  }
  const PlanPlacement* plan = runtime().plan();
  if (block.split) {
    explain_parts(block, word_for(block.reason), text, size);
    return;
  }
  if (block.moved && block.charged != kind)
    std::snprintf(text, size, "%s: moved there by %s%s", title_of(block.charged).data(),
                  block.plan_entry != 0 ? "the plan for a region" : "ompx_apply",
                  block.besides != KindBytes{} ? ", not all of it" : "");
  else if (block.plan_entry != 0 && plan != nullptr)
    std::snprintf(text, size, "%s: by the plan, \"%s\"", title_of(kind).data(),
                  plan->plan().entries[block.plan_entry - 1].label.c_str());
  else
    std::snprintf(text, size, "%s: %s%s%.*s%s", title_of(kind).data(), word_for(block.reason),
                  allocator != nullptr ? ", " : "",
                  allocator != nullptr ? static_cast<int>(space_name(allocator->space).size()) : 0,
                  allocator != nullptr ? space_name(allocator->space).data() : "",
                  block.space->bound() ? "" : " (the kernel refused the memory policy)");
}

void explain_block(const BlockInfo& block, char* text, std::size_t size) {
  explain_decision(block, text, size);
  const std::size_t used = std::strlen(text);
  explain_nodes(block, text + used, size - used);
}

void explain_stock(const StockBlock& block, char* text, std::size_t size) {
  const Allocator* allocator = runtime().allocators.by_number(block.allocator);
  const std::string_view space = allocator != nullptr ? space_name(allocator->space) : "";
  if (block.reason == StockReason::default_space)
    std::snprintf(text, size, "the runtime's default memory, as omp_default_mem_space says");
  else
    std::snprintf(text, size, "fallback of %.*s: %s", static_cast<int>(space.size()), space.data(),
                  block.refusal == 0 ? "its pool was used up"
                                     : describe(static_cast<Refusal>(block.refusal)));
}

void explain_range(const PlacedRange& range, char* text, std::size_t size) {
  const PlanPlacement* plan = runtime().plan();
  if (range.plan_entry != 0 && plan != nullptr)
    std::snprintf(text, size, "%s: static %s, by the plan", title_of(range.kind).data(),
                  plan->plan().entries[range.plan_entry - 1].symbol.c_str());
  else
    std::snprintf(text, size, "%s: by ompx_place_range", title_of(range.kind).data());
}

MemoryKind kind_of_node(unsigned node) {
  Placer* placer = runtime().placer();
  return placer != nullptr ? placer->kind_of_node(node) : MemoryKind::unknown;
}

// Memory of a DAX directory is on no node; all of it is allocated in the file.
bool in_folder(const BlockInfo& block) {
  return block.space->backing().folder() != nullptr;
}

void fill_pages(std::uintptr_t begin, std::size_t bytes, PlacementReport& report) {
  PageCensus census;
  count_pages(begin, bytes, census);
  for (unsigned node = 0; node < k_max_nodes; ++node) {
    if (census.node[node] == 0) continue;
    report.node_bytes[node] = census.node[node];
    report.bytes[static_cast<std::size_t>(kind_of_node(node))] += census.node[node];
  }
  report.untouched = census.untouched;
  report.unqueried = census.unqueried;
}

class Writer {
public:
  explicit Writer(int fd) : fd_(fd) {}
  void line(const char* format, ...) __attribute__((format(printf, 2, 3))) {
    char text[512];
    va_list arguments;
    va_start(arguments, format);
    int length = std::vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    length = length < static_cast<int>(sizeof text) ? length : static_cast<int>(sizeof text) - 1;
    if (used_ + static_cast<std::size_t>(length) > sizeof buffer_) flush();
    std::memcpy(buffer_ + used_, text, static_cast<std::size_t>(length));
    used_ += static_cast<std::size_t>(length);
  }
  bool flush() {
    for (std::size_t at = 0; at < used_ && error_ == 0;) {
      const ssize_t written = os().write(fd_, buffer_ + at, used_ - at);
      if (written > 0)
        at += static_cast<std::size_t>(written);
      else if (errno != EINTR)
        error_ = errno != 0 ? errno : EIO;
    }
    used_ = 0;
    errno = error_;
    return error_ == 0;
  }

private:
  int fd_;
  int error_ = 0;
  std::size_t used_ = 0;
  char buffer_[8192];
};

void write_object(Writer& out, std::uintptr_t begin, std::size_t bytes, const char* reason,
                  const char* label, const void* caller, MemoryKind folder = MemoryKind::unknown) {
  PageCensus census;
  if (folder == MemoryKind::unknown) count_pages(begin, bytes, census);
  out.line("object 0x%llx bytes %zu caller %p label \"%s\" pages",
           static_cast<unsigned long long>(begin), bytes, caller, label);
  if (folder != MemoryKind::unknown) out.line(" %s(folder):%zu", name_of(folder).data(), bytes);
  for (unsigned node = 0; node < k_max_nodes; ++node)
    if (census.node[node] != 0)
      out.line(" %s(node %u):%llu", name_of(kind_of_node(node)).data(), node,
               static_cast<unsigned long long>(census.node[node]));
  if (census.untouched != 0)
    out.line(" untouched:%llu", static_cast<unsigned long long>(census.untouched));
  out.line(" reason \"%s\"\n", reason);
}

void write_job(Writer& out, JobLedger& job) {
  if (!job.active()) {
    out.line("job alone%s%s\n", *job.why_alone() != '\0' ? ": " : "", job.why_alone());
    return;
  }
  job.reclaim_slots();
  out.line("job \"%s\" processes %u\n", job.path(), job.processes());
  for (unsigned node = 0; node < k_max_nodes; ++node)
    if (job.capacity(node) != JobLedger::k_no_limit)
      out.line("job node %u granted %llu own %llu capacity %llu\n", node,
               static_cast<unsigned long long>(job.granted(node)),
               static_cast<unsigned long long>(job.own(node)),
               static_cast<unsigned long long>(job.capacity(node)));
}

void write_ledger(Writer& out, Placer& placer) {
  Ledger& ledger = placer.ledger();
  for (const MemoryKind kind : k_all_memory_kinds) {
    char limit[32] = "none";
    if (ledger.limit(kind) != Ledger::k_no_limit)
      std::snprintf(limit, sizeof limit, "%llu",
                    static_cast<unsigned long long>(ledger.limit(kind)));
    out.line(
        "ledger %s granted %llu peak %llu cached %llu limit %s%s refusals %llu by the job %llu\n",
        name_of(kind).data(), static_cast<unsigned long long>(ledger.used(kind)),
        static_cast<unsigned long long>(ledger.peak(kind)),
        static_cast<unsigned long long>(placer.cached_bytes(kind)), limit,
        placer.is_shared(kind) ? " (share)" : "",
        static_cast<unsigned long long>(ledger.refusals(kind)),
        static_cast<unsigned long long>(ledger.refusals_of_job(kind)));
  }
  if (placer.share().ranks > 1)
    out.line("share 1/%u of scarce kinds by %s\n", placer.share().ranks, placer.share().source);
  if (placer.cgroup().limited())
    out.line("cgroup limit %llu room %llu\n",
             static_cast<unsigned long long>(placer.cgroup().least_limit()),
             static_cast<unsigned long long>(placer.cgroup().room()));
  write_job(out, placer.job());
}

void write_moves(Writer& out, const PlanPlacement& plan) {
  for (std::uint32_t entry = 0; entry < plan.plan().entries.size(); ++entry) {
    const MoveTotals total = move_totals(entry);
    if (total.moves == 0 && total.without_room == 0) continue;
    out.line(
        "moves \"%.200s\" count %llu bytes %llu ns %llu first %llu last %llu without-room %llu\n",
        plan.plan().entries[entry].label.c_str(), static_cast<unsigned long long>(total.moves),
        static_cast<unsigned long long>(total.bytes),
        static_cast<unsigned long long>(total.nanoseconds),
        static_cast<unsigned long long>(total.first), static_cast<unsigned long long>(total.last),
        static_cast<unsigned long long>(total.without_room));
  }
}

} // namespace

void inform_about_moves() {
  const PlanPlacement* plan = runtime().plan();
  if (plan == nullptr || !plan->has_regions()) return;
  for (std::uint32_t entry = 0; entry < plan->plan().entries.size(); ++entry) {
    const MoveTotals total = move_totals(entry);
    if (total.moves != 0)
      inform(Notice::region_moves,
             "\"%.200s\": %llu moves, %llu MiB, %llu MiB of them between regions; the program "
             "waited %llu ms for the others.",
             plan->plan().entries[entry].label.c_str(),
             static_cast<unsigned long long>(total.moves),
             static_cast<unsigned long long>(total.bytes >> 20),
             static_cast<unsigned long long>(total.between >> 20),
             static_cast<unsigned long long>(total.nanoseconds / 1000000));
  }
  const Rounds::Verdict verdict = move_verdict();
  const bool is_between = verdict.way == Rounds::Way::between;
  if (verdict.known)
    inform(Notice::moves_measured,
           "A round of regions took %.3g ms with its moves%s, %.3g ms without.",
           verdict.with * 1e-6, is_between ? " between regions" : "", verdict.without * 1e-6);
  if (const std::uint64_t visits = visits_without_moves(); visits > 0)
    inform(
        Notice::moves_left_out,
        "%llu times a region began without its moves, which had not proved to save what they take.",
        static_cast<unsigned long long>(visits));
}

bool describe_placement(const void* address, std::size_t bytes, PlacementReport& report) {
  std::memset(&report, 0, sizeof report);
  report.wanted_kind = -1;
  auto begin = reinterpret_cast<std::uintptr_t>(address);
  Runtime& state = runtime();
  Placer* placer = state.placer_if_ready();
  BlockInfo block;
  ExtentPart parts[8]; // more than fit a text
  StockBlock stock;
  if (placer != nullptr && placer->holds(address) && placer->find(address, false, block, parts)) {
    if (bytes == 0) begin = block.begin, bytes = block.bytes;
    report.block_bytes = block.bytes;
    explain_block(block, report.reason, sizeof report.reason);
    const Allocator* allocator = state.allocators.by_number(block.allocator);
    const PlanPlacement* plan = state.plan();
    MemoryKind wanted = allocator != nullptr ? wanted_kind(*allocator) : MemoryKind::unknown;
    if (block.plan_entry != 0 && plan != nullptr) {
      const auto& kinds = plan->plan().entries[block.plan_entry - 1].kinds;
      wanted = kinds.empty() ? MemoryKind::unknown : kinds.front();
    } else if (wanted == MemoryKind::unknown) {
      wanted = block.space->kind();
    }
    report.wanted_kind = wanted == MemoryKind::unknown ? -1 : static_cast<int>(wanted);
    report.required = allocator != nullptr && allocator->required() ? 1 : 0;
  } else if (!state.stock_blocks.empty() && state.stock_blocks.find(address, stock)) {
    if (bytes == 0) begin = stock.begin, bytes = stock.bytes;
    report.block_bytes = stock.bytes;
    explain_stock(stock, report.reason, sizeof report.reason);
    const Allocator* allocator = state.allocators.by_number(stock.allocator);
    report.wanted_kind =
        stock.wanted == static_cast<std::uint8_t>(MemoryKind::unknown) ? -1 : stock.wanted;
    report.required = allocator != nullptr && allocator->required() ? 1 : 0;
  } else if (PlacedRange range; state.placed_ranges.find(address, range)) {
    if (bytes == 0) return false; // a range of the program has no length of its own
    explain_range(range, report.reason, sizeof report.reason);
    report.wanted_kind = static_cast<int>(range.kind);
  } else if (bytes == 0) {
    return false;
  }
  if (block.space != nullptr && in_folder(block))
    report.bytes[static_cast<std::size_t>(block.space->kind())] = bytes;
  else
    fill_pages(begin, bytes, report);
  return true;
}

// Nothing is locked during the write, because the reader of the descriptor may allocate.
bool write_dump(int fd) {
  Writer out(fd);
  Runtime& state = runtime();
  Placer* placer = state.placer_if_ready();
  out.line("# omptier objects\n");
  char reason[192];
  BlockList blocks;
  PageArray<StockBlock> stock;
  PageArray<PlacedRange> ranges;
  bool complete = placer == nullptr || blocks.fill(*placer);
  state.stock_blocks.for_each(
      [&](const StockBlock& block) { complete = stock.add(block) && complete; });
  state.placed_ranges.for_each(
      [&](const PlacedRange& range) { complete = ranges.add(range) && complete; });
  for (const BlockInfo& block : blocks.all()) {
    explain_block(block, reason, sizeof reason);
    write_object(out, block.begin, block.bytes, reason,
                 label_of(state.allocators.by_number(block.allocator)), block.caller,
                 in_folder(block) ? block.space->kind() : MemoryKind::unknown);
  }
  for (const StockBlock& block : stock) {
    explain_stock(block, reason, sizeof reason);
    write_object(out, block.begin, block.bytes, reason,
                 label_of(state.allocators.by_number(block.allocator)), block.caller);
  }
  if (!complete) out.line("# memory for a list of all objects cannot be had: some are missing\n");
  for (const PlacedRange& range : ranges) {
    explain_range(range, reason, sizeof reason);
    write_object(out, range.begin, range.end - range.begin, reason, "", nullptr);
  }
  if (placer != nullptr) write_ledger(out, *placer);
  if (const PlanPlacement* plan = state.plan()) write_moves(out, *plan);
  if (const std::uint64_t wins = state.source_wins.load())
    out.line("plan overruled by placement=required in the source: %llu allocations\n",
             static_cast<unsigned long long>(wins));
  return out.flush();
}

} // namespace omptier
