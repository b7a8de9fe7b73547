// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See measure.hpp. Set-up is hidden from the virtual machine's time model (borders/model_marks.h);
// elsewhere its marks do nothing.
#include "calibration/measure.hpp"

#include "base/kernel_files.hpp"
#include "base/os.hpp"
#include "base/text.hpp"
#include "borders/model_marks.h"
#include "calibration/kernels.hpp"
#include "calibration/node_memory.hpp"
#include "calibration/processors.hpp"
#include "calibration/repeats.hpp"
#include "calibration/team.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <numeric>
#include <utility>

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

struct Problem {
  std::string text;     // "" = none
  bool of_node = false; // no other task will fare better on it
};

// Memory of a task, by thread.
class Buffers {
public:
  Problem take(const Task& task, const std::vector<unsigned>& cpus, Team& team) {
    if (Problem problem = take_all(task, cpus); !problem.text.empty()) return problem;
    divide(task, team.size());
    team.run([&](std::size_t number) { MeasuredMemory::touch(stretches[number].words); });
    for (const MeasuredMemory& memory : memory_)
      if (std::string why = memory.verify(); !why.empty()) return {named(memory.node(), why), true};
    return {};
  }

  // Before a task: what is read last of what was written does not matter, but links do. Making them
  // takes seconds where caches are large, and chases keep them.
  void prepare(const Task& task) {
    for (Stretch& stretch : stretches)
      stretch.at = stretch.result = 0;
    if (task.quantity == Quantity::write || task.quantity == Quantity::copy) linked_ = false;
    if ((task.quantity == Quantity::read_latency || task.quantity == Quantity::write_latency ||
         task.quantity == Quantity::loaded_latency) &&
        !std::exchange(linked_, true))
      link_lines(stretches[0].words);
  }

  std::vector<Stretch> stretches; // by thread

private:
  static std::string named(unsigned node, const std::string& why) {
    return "node " + std::to_string(node) + ": " + why;
  }

  // All sizes are decided before anything is taken: one reading for all of them.
  Problem take_all(const Task& task, const std::vector<unsigned>& cpus) {
    std::vector<unsigned> nodes = {task.node};
    if (task.other >= 0) nodes.push_back(static_cast<unsigned>(task.other));
    if (task.quantity == Quantity::loaded_latency) nodes.push_back(task.node);
    const std::uint64_t caches = cache_bytes(cpus);
    std::vector<std::size_t> sizes;
    for (const unsigned node : nodes) {
      const auto on_node = static_cast<std::size_t>(std::ranges::count(nodes, node));
      const MeasuredRoom room = room_on(node, on_node, nodes.size());
      if (!room.node_is_shown) return {named(node, room.limit), true};
      sizes.push_back(bytes_to_measure(caches, room.bytes, cpus.size()));
      if (sizes.back() == 0)
        return {named(node, room.limit + " are too little beside caches of " + format_size(caches) +
                                "; run it when more is free"),
                false};
    }
    for (std::size_t i = 0; i < nodes.size(); ++i)
      if (std::string why = memory_.emplace_back().take(nodes[i], sizes[i]); !why.empty())
        return {named(nodes[i], why), true};
    return {};
  }

  // Equal parts, in lines and whole tiles; of two memories, one for each half of the threads, or
  // the second for all threads but the first.
  void divide(const Task& task, std::size_t threads) {
    stretches.assign(threads, {});
    const std::size_t first = memory_.size() < 2                          ? threads
                              : task.quantity == Quantity::loaded_latency ? 1
                                                                          : threads / 2;
    const auto part = [&](MeasuredMemory& memory, std::size_t begin, std::size_t end) {
      constexpr std::size_t k_unit = (std::size_t{64} << 10) / sizeof(std::uint64_t);
      const std::size_t words = memory.words().size() / (end - begin) / k_unit * k_unit;
      for (std::size_t number = begin; number < end; ++number)
        stretches[number].words = memory.words().subspan((number - begin) * words, words);
      memory.keep_first((end - begin) * words);
    };
    part(memory_[0], 0, first);
    if (first < threads) part(memory_[1], first, threads);
  }

  std::vector<MeasuredMemory> memory_;
  bool linked_ = false; // the first stretch
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

// Pages to be moved, made present on the node they come from; and the time that moving them takes.
class PageMove {
public:
  PageMove(const Task& task, std::size_t page, std::size_t count)
      : task_(task), page_(page), count_(count) {}

  // ns a page; by the thread that it is called by.
  double once(std::string& problem) {
    const bool huge = page_ > page_size();
    const auto from = static_cast<unsigned>(task_.other);
    MeasuredMemory memory;
    problem = memory.take(from, count_ * page_, huge);
    if (!problem.empty()) return 0;
    MeasuredMemory::touch(memory.words());
    problem = memory.verify();
    if (!problem.empty()) return 0;
    if (huge && memory.huge_bytes() < count_ * page_) {
      problem = "node " + std::to_string(from) +
                ": the kernel gives no huge pages now (its memory is in small pieces); run it "
                "after a restart, or when more is free";
      return 0;
    }
    return moved(reinterpret_cast<char*>(memory.words().data()), problem);
  }

private:
  double moved(char* first, std::string& problem) {
    std::vector<void*> pages(count_);
    for (std::size_t i = 0; i < count_; ++i)
      pages[i] = first + i * page_;
    const std::vector<int> nodes(count_, static_cast<int>(task_.node));
    std::vector<int> status(count_, -1);
    omptier_model_on();
    const double begin = seconds_now();
    const long failed = os().move_pages(0, count_, pages.data(), nodes.data(), status.data(), 2);
    const int why = errno;
    const double took = seconds_now() - begin;
    omptier_model_off();
    const bool arrived =
        std::ranges::all_of(status, [&](int at) { return at == static_cast<int>(task_.node); });
    if (failed != 0 || !arrived)
      problem = "pages cannot be moved to node " + std::to_string(task_.node) +
                (failed < 0 ? std::string(" (move_pages: ") + std::strerror(why) + ")" : "");
    return took * 1e9 / static_cast<double>(count_);
  }

  const Task& task_;
  std::size_t page_, count_;
};

// Pages there and back count as one direction's if only the way there is timed.
Result measure_moves(const Task& task, const CpuGroup& group, const MeasureOptions& options) {
  constexpr std::size_t k_most_bytes = std::size_t{64} << 20;
  const bool huge = task.quantity == Quantity::move_huge;
  Result result{task, 0, 0, 0, 0, {}};
  if (huge && huge_page_size() == 0) {
    result.problem = "transparent huge pages are off";
    return result;
  }
  const std::size_t page = huge ? huge_page_size() : page_size();
  const std::size_t count = std::min<std::size_t>(huge ? 8 : 512, k_most_bytes / page);
  for (const unsigned node : {task.node, static_cast<unsigned>(task.other)})
    if (const MeasuredRoom room = room_on(node, 1, 1); count > 0 && room.bytes / 2 < count * page)
      result.problem = "node " + std::to_string(node) + ": " + room.limit +
                       " are too little for moving pages; run it when more is free";
  if (count == 0) result.problem = "huge pages of " + format_size(page) + " are not moved";
  Team team({spread_over_cores(group.usable, 1, true)});
  if (result.problem.empty()) result.problem = team.problem();
  if (!result.problem.empty()) return result;
  PageMove move(task, page, count);
  return repeated(task, options, [&](std::string& problem) {
    double value = 0;
    team.run([&](std::size_t) { value = move.once(problem); });
    return value;
  });
}

} // namespace

// Threads and memory of a task, which others may use, too.
class Measurements::Bench {
public:
  Bench(const Task& task, const CpuGroup& group)
      : task_(task), cpus_(processors_of(task, group)), team_(cpus_) {
    problem_.text = team_.problem();
    if (problem_.text.empty()) problem_ = buffers_.take(task, cpus_, team_);
  }

  bool serves(const Task& task) const {
    const auto own = [](const Task& one) { return one.quantity == Quantity::loaded_latency; };
    return task.group == task_.group && task.node == task_.node && task.other == task_.other &&
           task.threads == task_.threads && own(task) == own(task_);
  }

  Result measure(const Task& task, const MeasureOptions& options) {
    if (!problem_.text.empty()) return {task, 0, 0, 0, 0, problem_.text, problem_.of_node};
    buffers_.prepare(task);
    omptier_model_reset();
    repeat(task, buffers_, team_, options); // warms up: what the caches hold is of this task
    return repeated(task, options,
                    [&](std::string&) { return repeat(task, buffers_, team_, options); });
  }

private:
  static std::vector<unsigned> processors_of(const Task& task, const CpuGroup& group) {
    return spread_over_cores(group.usable, task.threads, task.quantity == Quantity::loaded_latency);
  }

  Task task_;
  std::vector<unsigned> cpus_; // the first chases
  Team team_;
  Buffers buffers_;
  Problem problem_;
};

Measurements::Measurements(MeasureOptions options) : options_(std::move(options)) {
  omptier_model_off();
}
Measurements::~Measurements() = default;

Result Measurements::measure(const Task& task, const CpuGroup& group) {
  const bool moves = task.quantity == Quantity::move_small || task.quantity == Quantity::move_huge;
  if (moves || !bench_ || !bench_->serves(task)) bench_.reset(); // first: its memory is needed
  if (moves) return measure_moves(task, group, options_);
  if (!bench_) bench_ = std::make_unique<Bench>(task, group);
  return bench_->measure(task, options_);
}

} // namespace omptier
