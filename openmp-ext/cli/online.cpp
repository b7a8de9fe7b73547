// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See online.hpp.
#include "cli/online.hpp"

#include "advisor/placement.hpp"
#include "base/options.hpp"
#include "base/text.hpp"
#include "cli/online_look.hpp"
#include "cli/recorded_launch.hpp"
#include "cli/temporary_folder.hpp"
#include "platform/choice.hpp"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace omptier {
namespace {

using Seconds = std::chrono::duration<double>;
using Clock = std::chrono::steady_clock;

std::vector<OnlineFiles> profiles_in(const std::string& folder) {
  std::vector<OnlineFiles> files;
  std::error_code error;
  for (const auto& file : std::filesystem::directory_iterator(folder, error))
    if (file.path().extension() == ".profile") files.push_back({file.path().string()});
  std::ranges::sort(files, {}, &OnlineFiles::profile);
  return files;
}

// A profile's name ends with the number of its process.
bool runs(const OnlineFiles& files) {
  const std::string name = std::filesystem::path(files.profile).stem().string();
  const int process = std::atoi(name.c_str() + name.find_last_of("-.") + 1);
  return process > 0 && (::kill(process, 0) == 0 || errno == EPERM);
}

// One look at a time.
class Looks {
public:
  Looks(const std::string& folder, const CapacityByKind& limits)
      : folder_(folder), limits_(limits) {}
  ~Looks() { stop(); }
  Looks(const Looks&) = delete;
  Looks& operator=(const Looks&) = delete;

  void watch() {
    try {
      go_on();
    } catch (const std::exception&) { // no state to be read, as the looks say
    }
  }
  void go_on() {
    if (looker_ > 0 && ::waitpid(looker_, nullptr, WNOHANG) == looker_) ended();
    if (looker_ <= 0 && Clock::now() >= next_) begin();
  }
  void stop() {
    if (looker_ <= 0) return;
    ::kill(looker_, SIGKILL);
    ::waitpid(looker_, nullptr, 0);
    looker_ = -1;
  }

private:
  static constexpr Seconds k_first{1}, k_longest{30};
  static constexpr double k_rest = 10; // times what a look took

  void begin() {
    begun_ = Clock::now();
    const pid_t ours = ::getpid();
    looker_ = ::fork();
    if (looker_ == 0) look(ours);
    if (looker_ < 0) ended();
  }
  [[noreturn]] void look(pid_t parent) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(0);
    std::ofstream("/proc/self/oom_score_adj") << 1000;           // rather than the program
    for (const int signal : {SIGTERM, SIGHUP, SIGUSR1, SIGUSR2}) // not ours to forward
      ::signal(signal, SIG_DFL);
    std::vector<OnlineFiles> profiles = profiles_in(folder_);
    std::erase_if(profiles, [](const OnlineFiles& files) { return !runs(files); });
    for (const OnlineFiles& files : profiles)
      try {
        look_at(files, limits_, static_cast<unsigned>(profiles.size()));
      } catch (const std::exception& error) {
        std::fprintf(stderr, "omptier run: --online: %s\n", error.what());
      }
    ::_exit(0);
  }
  unsigned changes() const {
    unsigned changes = 0;
    for (const OnlineFiles& files : profiles_in(folder_))
      if (const auto state = read_state(files)) changes += state->changes;
    return changes;
  }
  void ended() {
    looker_ = -1;
    next_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(k_longest);
    const unsigned now = changes();
    const Seconds took = Clock::now() - begun_; // moves are no reason to look later
    const Seconds rest = now != changes_ ? 2 * k_first : std::max(every_, k_rest * took);
    every_ = now != changes_ ? 2 * k_first : std::min(2 * every_, k_longest);
    changes_ = now;
    next_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(rest);
  }

  std::string folder_;
  CapacityByKind limits_;
  pid_t looker_ = -1;
  unsigned changes_ = 0;
  Seconds every_ = k_first;
  Clock::time_point begun_,
      next_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(k_first);
};

std::string bytes_in_words(const OnlineState& state) {
  std::string words;
  for (const MemoryKind kind : k_all_memory_kinds)
    if (const std::uint64_t bytes = state.moved_into[static_cast<std::size_t>(kind)]; bytes > 0)
      words +=
          (words.empty() ? "" : ", ") + format_size(bytes) + " into " + std::string(title_of(kind));
  return words;
}

std::string outcome_in_words(const std::optional<OnlineState>& state) {
  if (!state) return "nothing was moved: no look found enough samples before the program ended";
  if (state->refused && bytes_in_words(*state).empty())
    return "the kernel refuses to move pages (move_pages; a container or sandbox may forbid it)";
  if (state->changes == 0)
    return "nothing was moved: no other placement was expected to save twice what its moves take";
  const std::string bytes = bytes_in_words(*state);
  if (bytes.empty()) return "nothing could be moved: the pages are busy, or there is no room";
  std::string line = "moved " + bytes + " in " + format_duration(state->seconds * 1e9) +
                     "; expected to save " + format_percent(state->expected, 0) + " of the time";
  char pace[64];
  std::snprintf(pace, sizeof pace, "%.2f of the time they took before", state->pace);
  if (state->pace > 0) line += "; parallel regions then took " + std::string(pace);
  if (state->undone) line += ", so it was moved back and left there";
  return line;
}

// The plan for the next start, from all that was recorded. False after an error message, or if the
// user interrupts it.
bool write_learned(const CommandContext& context, const OnlineArguments& arguments,
                   const std::vector<OnlineFiles>& profiles) {
  std::vector<std::string> words = {context.self + "/omptier", "advise", "--no-traits", "-o",
                                    arguments.learn};
  if (!arguments.capacity.empty()) words.insert(words.end(), {"--capacity", arguments.capacity});
  if (const std::string nodes = option_text(Option::nodes); !nodes.empty())
    words.insert(words.end(), {"--nodes", nodes});
  for (const OnlineFiles& files : profiles)
    words.push_back(files.profile);
  ::signal(SIGCHLD, SIG_DFL);
  ::signal(SIGINT, SIG_IGN); // ends the advisor only
  const pid_t advisor = ::fork();
  if (advisor == 0) {
    ::signal(SIGINT, SIG_DFL);
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    ::dup2(nowhere, STDOUT_FILENO);
    std::vector<char*> list;
    for (std::string& word : words)
      list.push_back(word.data());
    list.push_back(nullptr);
    ::execv(list[0], list.data());
    ::_exit(127);
  }
  int status = 0;
  return advisor > 0 && ::waitpid(advisor, &status, 0) == advisor && status == 0;
}

void report(const CommandContext& context, const OnlineArguments& arguments,
            const std::string& folder, int status) {
  const std::vector<OnlineFiles> profiles = profiles_in(folder);
  bool undone = false, known = false;
  for (const OnlineFiles& files : profiles) {
    const auto state = read_state(files);
    undone = undone || (state && state->undone);
    known = known || state;
    const std::string name =
        profiles.size() > 1 ? std::filesystem::path(files.profile).stem().string() + ": " : "";
    std::fprintf(stderr, "omptier run: --online: %s%s\n", name.c_str(),
                 outcome_in_words(state).c_str());
  }
  if (profiles.empty())
    std::fprintf(stderr,
                 "omptier run: --online: nothing was recorded, so nothing was moved; "
                 "'omptier check %s' looks for what is in the way\n",
                 arguments.command[0].c_str());
  if (arguments.learn.empty() || profiles.empty()) return;
  const char* const why = status != 0 ? "the program did not end with status 0"
                          : undone    ? "moves did not pay"
                          : !known    ? "no look found enough samples"
                                      : nullptr;
  if (why != nullptr)
    std::fprintf(stderr, "omptier run: --learn: no plan is written, since %s\n", why);
  else if (write_learned(context, arguments, profiles))
    std::fprintf(stderr, "omptier run: --learn: plan written to %s; the next start uses it\n",
                 arguments.learn.c_str());
}

// "", or why there is nothing to decide here.
std::string why_nothing_to_decide(const CapacityByKind& limits) {
  DiscoverOptions options;
  if (const auto forced = parse_nodes(option_text(Option::nodes))) options.forced = *forced;
  const auto platform = discover_platform(options);
  if (!platform) return platform.error();
  return usable_tiers(*platform, limits).size() > 1
             ? ""
             : "only one kind of memory may be used here, so nothing is recorded or moved";
}

} // namespace

int run_online(const CommandContext& context, const OnlineArguments& arguments) {
  CapacityByKind limits;
  if (!arguments.capacity.empty()) limits = *parse_capacity(arguments.capacity);
  const TemporaryFolder folder;
  std::string none = why_nothing_to_decide(limits);
  if (folder.path().empty())
    none = "no temporary folder can be made (TMPDIR), so nothing is recorded or moved";
  if (!none.empty()) {
    std::fprintf(stderr, "omptier run: --online: %s\n", none.c_str());
    Launch what;
    what.command = arguments.command;
    if (arguments.runtime != "own") what.libraries = find_libraries(context);
    if (!arguments.capacity.empty())
      what.environment.emplace_back("OMPTIER_CAPACITY", arguments.capacity);
    return launch("run", what);
  }
  RecordArguments recorded;
  recorded.command = arguments.command;
  recorded.runtime = arguments.runtime;
  recorded.capacity = arguments.capacity;
  recorded.strict = arguments.strict;
  recorded.output = folder.path() + "/%h-%p.profile";
  Launch what;
  HandedPlan handed;
  if (const int status = prepare_recording("run", context, recorded, handed, what); status != 0)
    return status;
  what.environment.emplace_back("OMPTIER_QUIET", "1");
  Looks looks(folder.path(), limits);
  what.watch = [&looks](pid_t) { looks.watch(); };
  const int status = launch("run", what);
  looks.stop();
  try {
    if (status < 125 || status > 127) report(context, arguments, folder.path(), status);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "omptier run: --online: %s\n", error.what());
  }
  return status;
}

} // namespace omptier
