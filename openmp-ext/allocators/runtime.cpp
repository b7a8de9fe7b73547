// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Start of the runtime's state, and what happens at fork.
#include "allocators/runtime.hpp"

#include "allocators/chunk_copier.hpp"
#include "allocators/declarations.hpp"
#include "allocators/region_hooks.hpp"
#include "allocators/site_list.hpp"
#include "base/leaky.hpp"
#include "base/notices.hpp"
#include "base/options.hpp"
#include "base/os.hpp"
#include "migration/region_moves.hpp"
#include "objects/modules.hpp"
#include "traits/interned.hpp"

#include <algorithm>
#include <pthread.h>
#include <stdexcept>
#include <unistd.h>
#include <utility>

namespace omptier {

constinit std::atomic<Runtime*> g_runtime{nullptr};
constinit const SpanTable g_no_spans{};
constinit std::atomic<const SpanTable*> g_quick_spans{&g_no_spans};

namespace {

// True on the thread that discovers the platform: its own allocations are not placed meanwhile.
__attribute__((tls_model("initial-exec"))) thread_local bool discovering = false;

Leaky<Runtime> runtime_storage;
pthread_once_t made = PTHREAD_ONCE_INIT;

Leaky<Placer> placer_storage;
Leaky<Parsed<Plan>> plan_read_storage;
Leaky<PlanPlacement> plan_storage;

void before_fork() {
  runtime().lock_all();
  close_modules_for_fork();
}
void after_fork_in_parent() {
  open_modules_after_fork(false);
  runtime().unlock_all();
}
void after_fork_in_child() {
  open_modules_after_fork(true);
  if (Placer* placer = runtime().placer_if_ready()) placer->forget_other_threads();
  cut_off_commit();
  end_region_moves_of_parent();
  listen_at_barriers();
  runtime().unlock_all();
}

// At the very end, when no other code of the process runs any more.
__attribute__((destructor)) void leave_job() {
  Runtime* ready = runtime_if_made();
  if (ready == nullptr) return;
  if (Placer* placer = ready->placer_if_ready()) placer->job().leave();
}

void mark_allocators(AllocatorTable::Marks& used) {
  Runtime& state = runtime();
  if (Placer* placer = state.placer_if_ready())
    placer->for_each_block([&](const BlockInfo& block) { used.add(block.allocator); });
  state.stock_blocks.for_each([&](const StockBlock& block) { used.add(block.allocator); });
}

void make_runtime() {
  Runtime& made_runtime = runtime_storage.make();
  made_runtime.allocators.set_mark_used(mark_allocators);
  g_runtime.store(&made_runtime, std::memory_order_release);
  pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}

CapacityRules capacity_rules() {
  const auto capacity = parse_capacity(option_text(Option::capacity));
  CapacityRules rules(capacity ? *capacity : CapacityByKind{});
  rules.allowed = allowed_nodes();
  if (option_is_set(Option::reserve)) rules.reserve = option_number(Option::reserve);
  const auto share = parse_share(option_text(Option::share));
  if (share)
    rules.share = *share;
  else
    warn_about_value(Option::share, share.error().c_str(), "no share is taken");
  rules.folder = option_text(Option::pmem);
  const std::string_view job = option_text(Option::job);
  if (job != "off") rules.job_ledger = job_ledger_path(job == "auto" ? job_name() : job);
  if (!rules.job_ledger.empty()) remove_stale_job_ledgers(rules.job_ledger.c_str());
  return rules;
}

void inform_about_share(Placer& placer) {
  for (const MemoryKind kind : k_all_memory_kinds)
    if (placer.is_shared(kind))
      inform(
          Notice::share_taken,
          "%s: this process may take %llu MiB, 1/%u of it, because of %s (OMPTIER_SHARE=off or "
          "OMPTIER_CAPACITY changes that).",
          title_of(kind).data(), static_cast<unsigned long long>(placer.ledger().limit(kind) >> 20),
          placer.share().ranks, placer.share().source);
}

// The variable counts milliseconds.
std::uint64_t decay_option() {
  return option_number(Option::decay) * 1'000'000;
}

DiscoverOptions discover_option() {
  DiscoverOptions options;
  const auto nodes = parse_nodes(option_text(Option::nodes));
  if (nodes) options.forced = *nodes;
  return options;
}

} // namespace

Runtime& runtime_made_now() {
  pthread_once(&made, make_runtime);
  return *g_runtime.load(std::memory_order_acquire);
}

void open_or_close_fast_paths() {
  Runtime& state = runtime();
  const Placer* placer = state.placer_if_ready();
  const bool open = placer != nullptr && state.observer.load(std::memory_order_acquire) == nullptr;
  const SpanTable* before = g_quick_spans.exchange(open ? &placer->ranges().first() : &g_no_spans);
  // Ends routes learnt before; none are learnt while the paths are closed.
  if (open || before == &g_no_spans) return;
  state.allocators.forget_all_routes();
  state.life_of_plan.fetch_add(2, std::memory_order_release);
}

Placer* Runtime::make_placer() {
  if (discovering || failed_.load(std::memory_order_acquire)) return nullptr;
  const std::lock_guard guard(making_);
  return make_placer_locked();
}

Placer* Runtime::placer_without_waiting() {
  Placer* ready = placer_.load(std::memory_order_acquire);
  if (ready != nullptr || discovering || failed_.load(std::memory_order_acquire)) return ready;
  const std::unique_lock guard(making_, std::try_to_lock);
  return guard.owns_lock() ? make_placer_locked() : nullptr;
}

Placer* Runtime::make_placer_locked() {
  if (Placer* ready = placer_.load(std::memory_order_acquire)) return ready;
  if (failed_.load(std::memory_order_acquire)) return nullptr;
  const NotCancelled meanwhile; // hwloc reads many files
  discovering = true;
  try {
    Parsed<Platform> platform = discover_platform(discover_option());
    if (!platform) throw std::runtime_error(platform.error());
    if (platform->tiers.empty()) throw std::runtime_error("No memory nodes were found");
    if (!platform->figures_problem.empty())
      warn_once(Notice::bad_platform_file, "%s.", platform->figures_problem.c_str());
    load_strategy();
    Placer& made_placer =
        placer_storage.make(std::move(*platform), capacity_rules(), decay_option());
    // Small blocks of malloc may come from a magazine that omp_alloc filled, and free knows blocks
    // by their bounds: each thread has to learn the new ones first.
    made_placer.ranges().when_grown(
        [] { runtime().life_of_plan.fetch_add(2, std::memory_order_release); });
    inform_about_share(made_placer);
    load_plan();
    placer_.store(&made_placer, std::memory_order_release);
    open_or_close_fast_paths();
  } catch (const std::exception& error) {
    warn_once(Notice::no_platform, "%s: memory is not placed.", error.what());
    failed_.store(true, std::memory_order_release);
  }
  discovering = false;
  return placer_.load(std::memory_order_acquire);
}

void Runtime::load_strategy() {
  const auto strategy = parse_strategy(option_text(Option::strategy));
  if (strategy)
    strategy_ = *strategy;
  else
    warn_about_value(Option::strategy, strategy.error().c_str(),
                     "allocations are placed without it");
}

Parsed<Plan>* Runtime::read_plan_locked() {
  if (plan_read_ != nullptr || !option_is_set(Option::plan)) return plan_read_;
  plan_read_ = &plan_read_storage.make(read_plan(option_text(Option::plan)));
  if (*plan_read_) plan_text_.store(&**plan_read_, std::memory_order_release);
  return plan_read_;
}

const Plan* Runtime::plan_text() {
  if (const Plan* text = plan_text_.load(std::memory_order_acquire)) return text;
  const NotCancelled meanwhile;
  const std::lock_guard guard(making_);
  read_plan_locked();
  return plan_text_.load(std::memory_order_acquire);
}

void Runtime::load_plan() {
  Parsed<Plan>* plan = read_plan_locked();
  if (plan == nullptr) return;
  if (!*plan)
    return warn_once(Notice::bad_plan, "%s: the program runs without a plan.",
                     plan->error().c_str());
  const PlanPlacement& placement = plan_storage.make(std::as_const(**plan));
  const unsigned foreign = placement.matcher().sites_without_module();
  // A launcher or shell: it has the preload library but none of the program's modules.
  const bool elsewhere = libomp.load() == nullptr && foreign == placement.matcher().site_count();
  if (foreign != 0 && !elsewhere) {
    if (option_flag(Option::strict))
      return warn_once(Notice::plan_refused,
                       "Plan %s: %u of %u allocation sites lie in modules that are not loaded: "
                       "refused (OMPTIER_STRICT), the program runs without a plan.",
                       option_text(Option::plan), foreign, placement.matcher().site_count());
    warn_once(Notice::plan_mismatch,
              "Plan %s: %u of %u allocation sites lie in modules that are not loaded (another "
              "build of the program, or a library to come): they are left alone.",
              option_text(Option::plan), foreign, placement.matcher().site_count());
  }
  plan_.store(&placement, std::memory_order_release);
  listen_at_barriers();
}

void Runtime::warn_about_unused_entries() const {
  const PlanPlacement* placement = plan();
  if (placement == nullptr || attached_in.load(std::memory_order_relaxed) != ::getpid()) return;
  if (libomp.load(std::memory_order_relaxed) == nullptr &&
      placement->matcher().sites_without_module() == placement->matcher().site_count())
    return; // another program's plan: this is its launcher, or a command that it runs
  if (!placement->was_used()) return; // no allocation came to us
  const unsigned unused = placement->entries_without_allocation();
  if (unused == 0) return;
  warn_once(Notice::plan_unused,
            "%u of %zu entries of the plan matched no allocation (another build, another input, or "
            "allocations that are made no more); 'omptier record' and 'omptier advise' make a new "
            "plan.",
            unused, placement->plan().entries.size());
}

// Waits for discovery (which takes none of the other locks), unless this thread does it.
void Runtime::lock_all() {
  hold_chunk_copies();
  site_list().lock();
  lock_declarations();
  allocators.lock();
  lock_names();
  stock_blocks.lock();
  placed_ranges.lock();
  if (!discovering) making_.lock();
  if (Placer* ready = placer_if_ready()) ready->lock_all();
}

void Runtime::unlock_all() {
  if (Placer* ready = placer_if_ready()) ready->unlock_all();
  if (!discovering) making_.unlock();
  placed_ranges.unlock();
  stock_blocks.unlock();
  unlock_names();
  allocators.unlock();
  unlock_declarations();
  site_list().unlock();
  go_on_with_chunk_copies();
}

void restart_runtime_for_tests(Platform platform, const CapacityRules& rules, Strategy strategy,
                               const PlanPlacement* plan) {
  auto* fresh = new Runtime();
  fresh->allocators.set_mark_used(mark_allocators);
  fresh->libomp.store(runtime().libomp.load());
  fresh->start_for_tests(new Placer(std::move(platform), rules), strategy, plan);
  g_runtime.store(fresh);
  open_or_close_fast_paths();
}

void Runtime::start_for_tests(Placer* placer, Strategy strategy, const PlanPlacement* plan) {
  strategy_ = strategy;
  plan_.store(plan);
  placer_.store(placer);
  places_everything.store(strategy.mode != Strategy::Mode::none || plan != nullptr);
}

} // namespace omptier
