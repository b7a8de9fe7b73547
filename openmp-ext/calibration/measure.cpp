// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See measure.hpp. Set-up is hidden from the virtual machine's time model (borders/model_marks.h);
// elsewhere its marks do nothing.
#include "calibration/measure.hpp"

#include "base/kernel_files.hpp"
#include "base/os.hpp"
#include "borders/model_marks.h"
#include "calibration/kernels.hpp"
#include "calibration/node_memory.hpp"
#include "calibration/repeats.hpp"
#include "calibration/team.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <sched.h>
#include <sys/mman.h>

namespace omptier {
namespace {

// Bytes that a thread should come to in a slice, and accesses of a latency.
constexpr double k_least_work = 8 << 20, k_least_accesses = 1 << 15;

double seconds_now() {
  return static_cast<double>(monotonic_nanoseconds()) * 1e-9;
}

// What a thread did in a slice.
struct Done {
  double amount = 0, seconds = 0;
};

// Memory of a task, by thread.
class Buffers {
public:
  // Returns why it cannot be had, or "".
  std::string take(const Task& task, const CpuGroup& group, Team& team) {
    const bool alone = team.size() == 1;
    const std::uint64_t caches = last_level_bytes(alone ? first_of(group) : group.usable, alone);
    if (std::string why = take_on(task.node, caches); !why.empty()) return why;
    if (task.other >= 0)
      if (std::string why = take_on(static_cast<unsigned>(task.other), caches); !why.empty())
        return why;
    if (task.quantity == Quantity::loaded_latency)
      if (std::string why = take_on(task.node, caches); !why.empty()) return why;
    divide(task, team.size());
    team.run([&](std::size_t number) { MeasuredMemory::touch(stretches[number].words); });
    for (const MeasuredMemory& memory : memory_)
      if (std::string why = memory.verify(); !why.empty()) return named(memory.node(), why);
    return {};
  }

  // Before a task: what is read last of what was written does not matter, but links do.
  void prepare(const Task& task) {
    for (Stretch& stretch : stretches)
      stretch.at = stretch.result = 0;
    if (task.quantity == Quantity::read_latency || task.quantity == Quantity::write_latency ||
        task.quantity == Quantity::loaded_latency)
      link_lines(stretches[0].words);
  }

  std::vector<Stretch> stretches; // by thread

private:
  static std::vector<unsigned> first_of(const CpuGroup& group) { return {group.usable[0]}; }
  static std::string named(unsigned node, const std::string& why) {
    return "node " + std::to_string(node) + ": " + why;
  }

  std::string take_on(unsigned node, std::uint64_t caches) {
    NodeMemory now;
    if (!read_node_memory(node, now)) return named(node, "the kernel does not show its memory");
    const std::size_t bytes = bytes_to_measure(caches, now.free);
    if (bytes == 0)
      return named(node, format_size(now.free) + " free are too little beside caches of " +
                             format_size(caches) + "; run it when the node is free");
    return [&](std::string why) {
      return why.empty() ? why : named(node, why);
    }(memory_.emplace_back().take(node, bytes));
  }

  // Equal parts, in lines and whole tiles; of two memories, one for each half of the threads, or
  // the second for all threads but the first.
  void divide(const Task& task, std::size_t threads) {
    stretches.assign(threads, {});
    const std::size_t first = memory_.size() < 2                          ? threads
                              : task.quantity == Quantity::loaded_latency ? 1
                                                                          : threads / 2;
    const auto part = [&](const MeasuredMemory& memory, std::size_t begin, std::size_t end) {
      constexpr std::size_t k_unit = (std::size_t{64} << 10) / sizeof(std::uint64_t);
      const std::size_t words = memory.words().size() / (end - begin) / k_unit * k_unit;
      for (std::size_t number = begin; number < end; ++number)
        stretches[number].words = memory.words().subspan((number - begin) * words, words);
    };
    part(memory_[0], 0, first);
    if (first < threads) part(memory_[1], first, threads);
  }

  std::vector<MeasuredMemory> memory_;
};

// One thread's slice. others_end: set by the thread that chases beside readers.
Done run_slice(Quantity quantity, Stretch& stretch, const MeasureOptions& options,
               const std::function<bool()>& ended) {
  const double least = is_time(quantity) ? k_least_accesses : k_least_work;
  const double begin = seconds_now();
  Done done;
  do {
    done.amount += static_cast<double>(run_block(quantity, stretch));
    done.seconds = seconds_now() - begin;
  } while (ended ? !ended()
                 : done.seconds < options.slice ||
                       (done.amount < least && done.seconds < options.most_slice));
  return done;
}

// One repeat by all threads: the value.
double repeat(const Task& task, Buffers& buffers, Team& team, const MeasureOptions& options) {
  std::vector<Done> done(team.size());
  // Written lines that the caches still hold are those of all cores that a CPU there stands for.
  if (is_time(task.quantity)) omptier_model_reset();
  const bool beside = task.quantity == Quantity::loaded_latency;
  std::atomic<bool> ended{false};
  omptier_model_on();
  team.run([&](std::size_t number) {
    team.begin_together();
    const bool reads_beside = beside && number > 0;
    done[number] =
        run_slice(reads_beside ? Quantity::read : task.quantity, buffers.stretches[number], options,
                  reads_beside ? [&] { return ended.load(); } : std::function<bool()>());
    if (number == 0) ended = true;
  });
  omptier_model_off();
  if (is_time(task.quantity)) return done[0].seconds * 1e9 / done[0].amount;
  return std::accumulate(done.begin(), done.end(), 0.0, [](double sum, const Done& one) {
    return sum + one.amount / one.seconds;
  });
}

Result with_values(Result result, const std::vector<double>& values) {
  if (values.size() < k_least_repeats) return result;
  const Median median = median_of(values);
  result.value = median.value;
  result.low = median.low;
  result.high = median.high;
  result.repeats = static_cast<unsigned>(values.size());
  return result;
}

template <typename Repeat>
Result repeated(const Task& task, const MeasureOptions& options, Repeat&& once) {
  std::vector<double> values;
  Result result{task, 0, 0, 0, 0, {}};
  while (!is_settled(values) && values.size() < options.most_repeats) {
    if (options.is_stopped()) return result;
    const double value = once(result.problem);
    if (!result.problem.empty()) return result;
    values.push_back(value);
  }
  return with_values(result, values);
}

// Pages there and back count as one direction's if only the way there is timed.
Result measure_moves(const Task& task, const MeasureOptions& options) {
  const bool huge = task.quantity == Quantity::move_huge;
  Result result{task, 0, 0, 0, 0, {}};
  if (huge && huge_page_size() == 0) {
    result.problem = "transparent huge pages are off";
    return result;
  }
  const std::size_t page = huge ? huge_page_size() : page_size();
  const std::size_t count = huge ? 8 : 512;
  const auto from = static_cast<unsigned>(task.other);
  return repeated(task, options, [&](std::string& problem) {
    MeasuredMemory memory;
    problem = memory.take(from, count * page, huge);
    if (!problem.empty()) return 0.0;
    MeasuredMemory::touch(memory.words());
    problem = memory.verify();
    if (!problem.empty()) return 0.0;
    std::vector<void*> pages(count);
    for (std::size_t i = 0; i < count; ++i)
      pages[i] = reinterpret_cast<char*>(memory.words().data()) + i * page;
    const std::vector<int> nodes(count, static_cast<int>(task.node));
    std::vector<int> status(count, -1);
    omptier_model_on();
    const double begin = seconds_now();
    const long failed = os().move_pages(0, count, pages.data(), nodes.data(), status.data(), 2);
    const double took = seconds_now() - begin;
    omptier_model_off();
    const bool arrived =
        std::ranges::all_of(status, [&](int at) { return at == static_cast<int>(task.node); });
    if (failed != 0 || !arrived)
      problem = "pages cannot be moved to node " + std::to_string(task.node) +
                (failed < 0 ? std::string(" (move_pages: ") + std::strerror(errno) + ")" : "");
    return took * 1e9 / static_cast<double>(count);
  });
}

} // namespace

// Threads and memory of a task, which others may use, too.
class Measurements::Bench {
public:
  Bench(const Task& task, const CpuGroup& group) : task_(task), team_(processors_of(task, group)) {
    problem_ = team_.problem();
    if (problem_.empty()) problem_ = buffers_.take(task, group, team_);
  }

  bool serves(const Task& task) const {
    const auto own = [](const Task& one) { return one.quantity == Quantity::loaded_latency; };
    return task.group == task_.group && task.node == task_.node && task.other == task_.other &&
           task.threads == task_.threads && own(task) == own(task_);
  }

  Result measure(const Task& task, const MeasureOptions& options) {
    if (!problem_.empty()) return {task, 0, 0, 0, 0, problem_};
    buffers_.prepare(task);
    omptier_model_reset();
    repeat(task, buffers_, team_, options); // warms up: what the caches hold is of this task
    return repeated(task, options,
                    [&](std::string&) { return repeat(task, buffers_, team_, options); });
  }

private:
  // Spread over the group: neighbours may be threads of one core.
  static std::vector<unsigned> processors_of(const Task& task, const CpuGroup& group) {
    const std::size_t usable = group.usable.size();
    const std::size_t threads = std::min<std::size_t>(task.threads, usable);
    std::vector<unsigned> cpus;
    for (std::size_t i = 0; i < threads; ++i)
      cpus.push_back(group.usable[i * usable / threads]);
    return cpus;
  }

  Task task_;
  Team team_;
  Buffers buffers_;
  std::string problem_;
};

Measurements::Measurements(MeasureOptions options) : options_(std::move(options)) {
  omptier_model_off();
}
Measurements::~Measurements() = default;

Result Measurements::measure(const Task& task, const CpuGroup& group) {
  const bool moves = task.quantity == Quantity::move_small || task.quantity == Quantity::move_huge;
  if (moves || !bench_ || !bench_->serves(task)) bench_.reset(); // first: its memory is needed
  if (moves) return measure_moves(task, options_);
  if (!bench_) bench_ = std::make_unique<Bench>(task, group);
  return bench_->measure(task, options_);
}

std::vector<unsigned> allowed_processors() {
  constexpr int k_most = 1 << 16;
  std::vector<unsigned> cpus;
  cpu_set_t* const set = CPU_ALLOC(k_most);
  if (set == nullptr) return cpus;
  const std::size_t bytes = CPU_ALLOC_SIZE(k_most);
  CPU_ZERO_S(bytes, set);
  if (::sched_getaffinity(0, bytes, set) == 0)
    for (unsigned cpu = 0; cpu < k_most; ++cpu)
      if (CPU_ISSET_S(cpu, bytes, set)) cpus.push_back(cpu);
  CPU_FREE(set);
  return cpus;
}

} // namespace omptier
