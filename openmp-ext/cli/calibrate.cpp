// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omptier calibrate: measures what this machine's memory does, and writes the platform file from
// which topology, advise, run and the runtime take its figures. Progress goes to standard error;
// results are kept as they come, so that an interrupted calibration goes on when it is started
// again.
#include "base/kernel_files.hpp"
#include "base/options.hpp"
#include "base/os.hpp"
#include "calibration/measure.hpp"
#include "calibration/processors.hpp"
#include "calibration/result_file.hpp"
#include "cli/calibrate_text.hpp"
#include "cli/command.hpp"
#include "cli/table.hpp"
#include "platform/describe.hpp"
#include "platform/hwloc_export.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <map>
#include <memory>
#include <unistd.h>
#include <utility>

namespace omptier {
namespace {

constexpr double k_usual_minutes = 10, k_quick_minutes = 1.0 / 3;
constexpr double k_repeats_of_task = 8; // with its set-up

volatile sig_atomic_t calibration_ends = 0; // the signal

void end_calibration(int signal) {
  calibration_ends = signal;
}

struct CalibrateArguments {
  bool quick = false, system = false, json = false;
  double minutes = 0; // 0: as usual
  std::string output, xml;
};

// Where the platform file goes, or why there is no place for it. Makes the usual folder.
Parsed<std::string> output_file(const CalibrateArguments& arguments, const MachineKey& key) {
  using Outcome = Parsed<std::string>;
  std::string file = arguments.output;
  if (file == "-")
    return Outcome::failure("a platform file is read from a file: name one with -o; --json prints "
                            "what is found");
  if (file.empty()) {
    const std::string folder = arguments.system ? k_system_platform_folder : user_platform_folder();
    if (folder.empty())
      return Outcome::failure("neither HOME nor XDG_CONFIG_HOME names a folder; name a file: -o");
    std::error_code error;
    const bool made = std::filesystem::create_directories(folder, error);
    if (made && arguments.system) // whatever root's umask is, all users shall read it
      std::filesystem::permissions(folder, std::filesystem::perms(0755), error);
    if (error)
      return Outcome::failure(folder + ": cannot be made (" + error.message() +
                              "); name a file elsewhere (-o), which OMPTIER_PLATFORM then names");
    file = folder + "/" + platform_file_name(key);
  }
  if (std::string problem = problem_with_output(file); !problem.empty())
    return Outcome::failure(std::move(problem));
  return file;
}

// One line on a terminal, else a line for each pair of node and processors.
class Progress {
public:
  Progress(std::size_t tasks, double seconds)
      : tasks_(tasks), seconds_(seconds), terminal_(::isatty(STDERR_FILENO) == 1) {}

  void begins(std::size_t number, const Task& task, const CpuGroup& group, double taken,
              std::size_t measured) {
    const std::string pair =
        "node " + std::to_string(task.node) + " from CPUs " + format_numbers(group.all);
    if (!terminal_ && pair == last_) return;
    last_ = pair;
    const double left = std::min(
        seconds_left(measured + tasks_ - number, measured, taken, seconds_ / double(tasks_)),
        std::max(seconds_ - taken, 0.0));
    std::fprintf(stderr, "%somptier calibrate: %zu of %zu, at most %.0f s left: %s%s%s",
                 terminal_ ? "\r\033[K" : "", number + 1, tasks_, std::ceil(left), pair.c_str(),
                 terminal_ ? (", " + std::string(name_of(task.quantity))).c_str() : "",
                 terminal_ ? "" : "\n");
    std::fflush(stderr);
  }
  void ends() {
    if (terminal_) std::fputs("\r\033[K", stderr);
  }

private:
  std::size_t tasks_;
  double seconds_;
  bool terminal_;
  std::string last_;
};

void say(const std::string& line) {
  std::fprintf(stderr, "omptier calibrate: %s\n", line.c_str());
}

void say_processors(const std::vector<CpuGroup>& groups, std::vector<unsigned> allowed) {
  for (const CpuGroup& group : groups)
    if (group.usable.size() < group.all.size())
      say("only CPUs " + format_numbers(group.usable) + " of " + format_numbers(group.all) +
          " may be used: bandwidths are those CPUs', not the memory's, and are not used; start it "
          "without taskset or on the whole machine");
    else if (group.quota > 0 && group.quota < double(group.usable.size()))
      say("CPUs " + format_numbers(group.all) + ": a control group allows the time of " +
          std::to_string(group.quota).substr(0, 4) +
          " CPUs only (cpu.max): what more threads reach is not used; start it without a quota");
    else if (group.all.size() == 1)
      say("CPUs " + format_numbers(group.all) +
          ": one processor may not reach a memory's bandwidth; its own is measured");
  std::erase_if(allowed, [&](unsigned cpu) {
    return std::ranges::any_of(
        groups, [&](const CpuGroup& group) { return std::ranges::binary_search(group.all, cpu); });
  });
  if (!allowed.empty())
    say("CPUs " + format_numbers(allowed) +
        " have no memory of their own: nothing is measured from there, and from there memory "
        "counts as the firmware says");
}

// What the user should know before minutes pass.
void say_limits(const Platform& platform, const MachineKey& key,
                const std::vector<CpuGroup>& groups, const std::vector<unsigned>& allowed) {
  if (platform.tiers.size() == 1)
    say("this machine has one kind of memory (" + std::string(title_of(platform.tiers[0].kind)) +
        "), between which nothing is to be chosen; its figures still serve profiles and advice");
  for (const KeyNode& node : key.nodes)
    if (platform.node(node.number) == nullptr)
      say("node " + std::to_string(node.number) +
          " may not be used from here and is left out (a cpuset, see 'omptier check'); start it "
          "where all of the machine may be used");
  say_processors(groups, allowed);
  if (huge_page_size() == 0)
    say("transparent huge pages are off: latencies and random accesses contain page walks; 'echo "
        "madvise > /sys/kernel/mm/transparent_hugepage/enabled' as root turns them on");
  const double load = std::strtod(read_small_file("/proc/loadavg").c_str(), nullptr);
  if (load >= 0.5)
    say("other programs run here (load " + std::to_string(load).substr(0, 4) +
        "): noise will be larger; an idle machine is measured best");
}

// Measures, or takes what was measured before.
std::vector<Result> measure_all(const std::vector<Task>& tasks, const std::vector<CpuGroup>& groups,
                                const CalibrateArguments& arguments, ResultFile& file) {
  MeasureOptions options;
  const double share = arguments.minutes * 60 / k_repeats_of_task / double(tasks.size());
  options.slice = std::clamp(share, 0.003, options.slice);
  options.most_slice = std::clamp(share, options.most_slice / 2, options.most_slice);
  options.is_stopped = [] { return calibration_ends != 0; };
  Measurements measurements(options);
  Progress progress(tasks.size(), arguments.minutes * 60);
  const auto begin = std::chrono::steady_clock::now();
  std::size_t measured = 0;
  bool said_unkept = false;
  std::map<unsigned, std::string> unusable; // nodes
  std::vector<Result> results;
  for (std::size_t i = 0; i < tasks.size() && calibration_ends == 0; ++i) {
    const Task& task = tasks[i];
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - begin;
    std::optional<Result> result = file.find(task);
    if (!result) {
      const auto known = std::ranges::find_if(unusable, [&](const auto& node) {
        return node.first == task.node || static_cast<int>(node.first) == task.other;
      });
      if (known != unusable.end()) {
        results.push_back({task, 0, 0, 0, 0, known->second});
        continue;
      }
      if (taken.count() > arguments.minutes * 60) break;
      progress.begins(i, task, groups[task.group], taken.count(), measured);
      result = measurements.measure(task, groups[task.group]);
      ++measured;
      if (result->value <= 0 && result->problem.empty()) break; // stopped
      if (result->problem.empty() && !file.append(*result) && !std::exchange(said_unkept, true))
        say("results cannot be kept for a later start (" + std::string(std::strerror(errno)) + ")");
    }
    if (result->of_node && task.other < 0) unusable[task.node] = result->problem;
    results.push_back(std::move(*result));
  }
  progress.ends();
  return results;
}

std::string date_today() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  ::gmtime_r(&now, &parts);
  std::array<char, 16> text{};
  std::strftime(text.data(), text.size(), "%Y-%m-%d", &parts);
  return text.data();
}

// As a whole or not at all: programs may be reading it.
int write_whole(const std::string& path, const std::string& text, bool for_all) {
  const std::string next = path + ".new";
  std::error_code error;
  int failed = write_file("calibrate", next, text);
  if (failed == 0) {
    if (for_all) std::filesystem::permissions(next, std::filesystem::perms(0644), error);
    if (!error) std::filesystem::rename(next, path, error);
    if (error)
      failed = fail("calibrate", 125, path + ": cannot be written (" + error.message() + ")");
  }
  if (failed != 0) ::unlink(next.c_str());
  return failed;
}

// An earlier, better run is not lost by this one: by --quick, or beside other programs.
void keep_earlier_figures(PlatformFile& file, const std::string& path) {
  const auto before = read_platform_file(path);
  if (!before) return;
  if (const std::size_t kept = keep_earlier(file, *before); kept > 0)
    say(std::to_string(kept) + (kept > 1 ? " figures" : " figure") + " without confidence now " +
        (kept > 1 ? "are" : "is") + " kept as measured before, on " + before->measured +
        " at the latest (remove " + path + " to begin anew)");
}

void say_next(const std::string& written, bool usual) {
  std::error_code ignored;
  const std::string file = std::filesystem::absolute(written, ignored).lexically_normal().string();
  const char* named = option_text(Option::platform);
  if (usual && *named == '\0')
    std::printf("written to %s; topology, advise, run and the runtime find it there\n",
                file.c_str());
  else if (file != std::filesystem::absolute(named, ignored).lexically_normal().string())
    std::printf("written to %s; OMPTIER_PLATFORM=%s makes topology, advise, run and the runtime "
                "use it\n",
                file.c_str(), file.c_str());
  else
    std::printf("written to %s, which OMPTIER_PLATFORM names\n", file.c_str());
}

// What was measured is printed whether or not it can be written. is_done: there is nothing left for
// which results should be kept.
int write_results(const CalibrateArguments& arguments, const Calibrated& found, PlatformFile& file,
                  const std::string& path, bool& is_done) {
  is_done = file.figures.empty();
  const int printed = arguments.json ? 0 : write_file("calibrate", "-", calibrated_text(found));
  if (file.figures.empty()) {
    if (arguments.json) write_file("calibrate", "-", calibrated_json(found, file, {}));
    return fail("calibrate", 125,
                "no figure was measured with confidence, so no platform file is written: " +
                    (found.pairs.empty() || found.pairs[0].problem.empty()
                         ? "the machine is too busy, or --time too short"
                         : found.pairs[0].problem));
  }
  keep_earlier_figures(file, path);
  int failed = write_whole(path, write_platform_file(file), arguments.system);
  const bool written = failed == 0;
  if (written && !arguments.xml.empty())
    if (const std::string why = export_hwloc_xml(arguments.xml, file.figures); !why.empty())
      failed = fail("calibrate", 125, why);
  is_done = failed == 0;
  if (arguments.json) {
    const std::string text = calibrated_json(found, file, written ? path : "");
    if (const int unprinted = write_file("calibrate", "-", text); unprinted != 0) return unprinted;
  } else if (written) {
    say_next(path, arguments.output.empty());
  }
  return failed != 0 ? failed : printed;
}

// What results of an earlier start must have in common with this one. Bytes are no part of it,
// which in a virtual machine change while it runs; nor is --quick, whose tasks are the first of
// all.
std::string subject_of(const MachineKey& key, const std::vector<CpuGroup>& groups,
                       const std::string& version) {
  std::string text = version + " " + key.processor;
  for (const KeyNode& node : key.nodes)
    text += "; node " + std::to_string(node.number) + " CPUs " + format_numbers(node.cpus);
  for (const CpuGroup& group : groups)
    text += "; from " + format_numbers(group.usable);
  return text;
}

// Without what was measured before.
Parsed<Platform> platform_to_measure() {
  DiscoverOptions discovery;
  discovery.without_measured = true;
  if (option_is_set(Option::nodes)) discovery.forced = *parse_nodes(option_text(Option::nodes));
  auto platform = discover_platform(discovery);
  if (platform && !platform->this_machine)
    return Parsed<Platform>::failure("hwloc describes another machine, and memory is measured "
                                     "where it is; unset HWLOC_ variables");
  return platform;
}

// Why this process would not measure the machine that it describes, or "".
std::string problem_with_machine() {
  for (const char* variable : {"HWLOC_XMLFILE", "HWLOC_SYNTHETIC", "HWLOC_FSROOT"})
    if (std::getenv(variable) != nullptr)
      return std::string(variable) +
             " describes another machine, and memory is measured where it is; unset it";
  return {};
}

int calibrate(CalibrateArguments arguments, const std::string& version) {
  if (std::isnan(arguments.minutes))
    return fail("calibrate", 2, "--time must be a number of minutes");
  if (arguments.minutes <= 0)
    arguments.minutes = arguments.quick ? k_quick_minutes : k_usual_minutes;
  if (const std::string problem = problem_with_machine(); !problem.empty())
    return fail("calibrate", 2, problem);
  const MachineKey key = read_machine_key();
  if (key.nodes.empty())
    return fail("calibrate", 125,
                "the kernel shows no memory nodes (/sys/devices/system/node); mount /sys, or use a "
                "kernel with NUMA");
  const auto platform = platform_to_measure();
  if (!platform) return fail("calibrate", 125, platform.error());
  const std::vector<unsigned> allowed = allowed_processors();
  const std::vector<CpuGroup> groups = cpu_groups(*platform, allowed, cpu_quota());
  if (groups.empty())
    return fail("calibrate", 125,
                "no processor that this shell may use belongs to a memory node; see 'omptier "
                "check', and start it on the whole machine");
  const auto output = output_file(arguments, key);
  if (!output) return fail("calibrate", 2, output.error());
  if (!arguments.xml.empty())
    if (const std::string problem = problem_with_output(arguments.xml); !problem.empty())
      return fail("calibrate", 2, problem);
  auto kept = ResultFile::open(*output + ".part", subject_of(key, groups, version), date_today());
  if (!kept) return fail("calibrate", 2, kept.error());
  say_limits(*platform, key, groups, allowed);
  if (kept->known() > 0)
    say("goes on where it was interrupted, with " + std::to_string(kept->known()) +
        " measurements, begun on " + kept->begun() + " (" + *output +
        ".part; remove it to begin anew)");
  std::vector<unsigned> nodes;
  for (const Node& node : platform->nodes)
    nodes.push_back(node.number);
  const std::vector<Task> tasks = make_task_list(*platform, groups, nodes, arguments.quick);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP})
    if (std::signal(signal, end_calibration) == SIG_IGN) std::signal(signal, SIG_IGN); // nohup
  const std::vector<Result> all = measure_all(tasks, groups, arguments, *kept);
  if (calibration_ends != 0)
    return fail("calibrate", 128 + calibration_ends,
                "interrupted; started again in the same way, it goes on from here");
  const std::vector<Result> results = both_visits(all);
  const std::vector<PairOutcome> pairs = outcomes(results, groups);
  PlatformFile file{"omptier " + version, date_today(), key, views_of(pairs, groups)};
  bool is_done = false;
  const Calibrated found{*platform, groups,       results,
                         pairs,     tasks.size(), tasks.size() - all.size()};
  const int status = write_results(arguments, found, file, *output, is_done);
  if (is_done) kept->remove();
  return status;
}

} // namespace

void add_calibrate(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand(
      "calibrate", "Measure this machine's memory, once: its figures are used from then on");
  const auto arguments = std::make_shared<CalibrateArguments>();
  command->add_flag("--quick", arguments->quick,
                    "Only what decisions need, in at most 20 s: latencies and bandwidths, without "
                    "curves by threads, pairs of nodes and page moves");
  command
      ->add_option("--time", arguments->minutes,
                   "Minutes after which nothing more is measured; what matters most comes first "
                   "(default: 10; with --quick a third of one)")
      ->check(CLI::Range(0.001, 1e4));
  CLI::Option* output = command->add_option(
      "-o,--output", arguments->output,
      "Write the platform file there (default: ~/.config/omptier, where all programs find it)");
  command
      ->add_flag("--system", arguments->system,
                 std::string("Write it for all users, below ") + k_system_platform_folder)
      ->excludes(output);
  command->add_option("--xml", arguments->xml,
                      "Also write hwloc XML with the latencies and bandwidths, for omptier advise "
                      "--xml elsewhere");
  command->add_flag("--json", arguments->json, "All results as JSON: ns, bytes per second");
  command->callback(
      [arguments, &context] { context.status = calibrate(*arguments, context.version); });
}

} // namespace omptier
