// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See held_names.hpp.
#include "cli/held_names.hpp"

#include "cli/access_lines.hpp"
#include "cli/code_text.hpp"
#include "log/name_records.hpp"

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <fcntl.h>
#include <fstream>
#include <poll.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <unistd.h>

namespace omptier {
namespace {

void tell(const std::string& line) {
  std::fprintf(stderr, "omptier record: %s\n", line.c_str());
}

// Decided by its first block.
bool is_of_recording(const std::string& path, std::uint64_t recording) {
  std::string start(sizeof(ProfileHeader) + k_largest_block, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(file.gcount()));
  const auto profile = parse_profile(start, path);
  return profile && profile->run.recording == recording;
}

PlaceInSource places_by(Symbols& symbols) {
  return [&symbols](const auto& modules, const auto& frames) {
    return place_in_source(symbols, modules, frames);
  };
}

StaticsOf statics_by(Symbols& symbols) {
  return [&symbols](const ModuleInfo& module) { return symbols.statics_of(module); };
}

// What report and advise ask, beside what things are called. Building their output would take
// longer.
void ask_for_places(const ProfileSummary& summary, Symbols& symbols) {
  const auto ask = [&](const std::vector<Frame>& frames) {
    for (const Frame& frame : frames)
      symbols.resolve(summary.modules[frame.module], frame.offset);
  };
  for (const SiteSummary& site : summary.sites)
    ask(site.frames);
  for (const RegionSummary& region : summary.regions)
    ask(region.frames);
  for (const PhaseSummary& phase : summary.phases)
    ask(phase.frames);
  access_lines(summary, symbols);
  functions_of(summary, symbols);
}

ResolvedNames names_for(Profile& profile, Symbols& symbols) {
  add_areas(profile, statics_by(symbols));
  const auto summary = summarize({&profile, 1}, places_by(symbols));
  if (!summary) return {};
  names_of(*summary, symbols);
  ask_for_places(*summary, symbols);
  return symbols.take_answers();
}

// Locks a profile's file, which works once the process that recorded into it has ended.
class FinishedProfile {
public:
  explicit FinishedProfile(const std::string& path)
      : path_(path), fd_(::open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    if (fd_ < 0)
      problem_ = std::strerror(errno);
    else if (::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK)
      problem_ = "its process still runs";
  }
  ~FinishedProfile() {
    if (fd_ >= 0) ::close(fd_);
  }
  FinishedProfile(const FinishedProfile&) = delete;
  FinishedProfile& operator=(const FinishedProfile&) = delete;

  std::string add_names(Symbols& symbols) {
    if (!problem_.empty()) return problem_;
    auto profile = read_profile(path_);
    if (!profile) return "it cannot be read back";
    if (profile->names) return {};
    const std::string bytes = encode_names(names_for(*profile, symbols), *profile);
    if (bytes.empty()) return "a name is longer than its format allows";
    return append(bytes, static_cast<off_t>(profile->bytes));
  }

private:
  // Replaces a block that was cut off.
  std::string append(const std::string& bytes, off_t end) {
    if (::ftruncate(fd_, end) != 0) return std::strerror(errno);
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t count = ::pwrite(fd_, bytes.data() + done, bytes.size() - done,
                                     end + static_cast<off_t>(done));
      if (count < 0 && errno == EINTR) continue;
      if (count > 0) {
        done += static_cast<std::size_t>(count);
        continue;
      }
      const int error = count < 0 ? errno : ENOSPC;
      if (::ftruncate(fd_, end) != 0) return "names are cut off"; // readers see it
      return std::strerror(error);
    }
    return {};
  }

  std::string path_, problem_;
  int fd_;
};

// Runs in the separate process.
void add_names_here(const std::vector<std::string>& profiles) {
  std::ofstream("/proc/self/oom_score_adj") << 1000; // the first to be killed if memory runs out
  std::signal(SIGXFSZ, SIG_IGN);                     // a file-size limit is an error like others
  Symbols symbols;
  for (const std::string& path : profiles)
    if (const std::string problem = FinishedProfile(path).add_names(symbols); !problem.empty())
      tell(path + " holds no names: " + problem + "; report resolves them by the program's files");
}

class IgnoredInterrupts {
public:
  IgnoredInterrupts() {
    struct sigaction ignore{};
    ignore.sa_handler = SIG_IGN;
    ::sigaction(SIGINT, &ignore, &interrupt_);
    ::sigaction(SIGQUIT, &ignore, &quit_);
  }
  ~IgnoredInterrupts() { restore(); }
  void restore() const {
    ::sigaction(SIGINT, &interrupt_, nullptr);
    ::sigaction(SIGQUIT, &quit_, nullptr);
  }
  IgnoredInterrupts(const IgnoredInterrupts&) = delete;
  IgnoredInterrupts& operator=(const IgnoredInterrupts&) = delete;

private:
  struct sigaction interrupt_{}, quit_{};
};

// Waits until the process says that it is done; false if it ended before.
bool wait_until_done(int from, std::chrono::milliseconds patience) {
  pollfd input = {from, POLLIN, 0};
  int ready = 0;
  while ((ready = ::poll(&input, 1, static_cast<int>(patience.count()))) < 0 && errno == EINTR)
    ;
  if (ready == 0)
    tell("names are being resolved; an interrupt leaves that to report, as --no-names does");
  char done = 0;
  ssize_t got = 0;
  while ((got = ::read(from, &done, 1)) < 0 && errno == EINTR)
    ;
  return got == 1;
}

} // namespace

std::uint64_t new_recording() {
  std::uint32_t number = 0;
  if (::getrandom(&number, sizeof number, GRND_NONBLOCK) != sizeof number)
    number = static_cast<std::uint32_t>(
        std::chrono::steady_clock::now().time_since_epoch().count());
  return std::uint64_t{number} << 16 | (static_cast<std::uint64_t>(::getpid()) & 0xffff) | 1;
}

void add_names(const std::vector<std::string>& profiles, std::uint64_t recording) {
  std::vector<std::string> ours;
  for (const std::string& path : profiles)
    if (is_of_recording(path, recording)) ours.push_back(path);
  int done[2];
  if (ours.empty() || ::pipe2(done, O_CLOEXEC) != 0) return;
  const IgnoredInterrupts interrupts;
  const pid_t process = ::fork();
  if (process == 0) {
    interrupts.restore();
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::close(done[0]);
    bool good = true;
    try {
      add_names_here(ours);
    } catch (const std::exception&) { // out of memory
      good = false;
    }
    ::_exit(good && ::write(done[1], "", 1) == 1 ? 0 : 1);
  }
  ::close(done[1]);
  const bool good = process > 0 && wait_until_done(done[0], std::chrono::seconds(1));
  ::close(done[0]);
  if (process > 0) ::waitpid(process, nullptr, 0);
  if (!good)
    tell("names were not resolved to the end; report resolves them by the program's files");
}

Parsed<ProfileSummary> summarize_with_names(Symbols& symbols,
                                            const std::vector<std::string>& profiles,
                                            Programs programs, bool anew) {
  return summarize_files(profiles, statics_by(symbols), programs, places_by(symbols),
                         [&](const Profile& profile) {
                           if (profile.names && !anew) symbols.hold(*profile.names);
                         });
}

} // namespace omptier
