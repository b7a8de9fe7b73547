// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See guest_run.hpp: finds the image, boots a machine or restores a snapshot, sends the request,
// passes the output on and explains how the run ended. A run owns nothing but memory, sockets and
// one child process.
#include "machine/guest_run.hpp"

#include "base/hex.hpp"
#include "base/program_path.hpp"
#include "borders/event_unit.h"
#include "machine/guest.hpp"
#include "machine/guest_image.hpp"
#include "machine/qemu_command.hpp"
#include "machine/snapshot.hpp"
#include "machine/timing_setup.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <linux/capability.h>
#include <sstream>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

namespace omptier {
namespace {

constexpr double k_boot_limit = 240; // seconds; a boot takes a few, or tens on a busy host
constexpr unsigned k_nobody = 65534;

// Variables of the caller that the command inherits; --env adds others.
constexpr std::string_view k_inherited[] = {
    "PATH=", "LD_LIBRARY_PATH=", "HOME=", "LANG=", "LC_", "OMP", "KMP", "GOMP", "LIBOMP"};

void report(const std::string& line) {
  std::fprintf(stderr, "omptier sandbox: %s\n", line.c_str());
}

File anonymous_file(const char* name, std::string_view content, std::size_t size) {
  File file(::memfd_create(name, MFD_CLOEXEC));
  if (!file || ::ftruncate(file.get(), static_cast<off_t>(size)) != 0 ||
      ::pwrite(file.get(), content.data(), content.size(), 0) !=
          static_cast<ssize_t>(content.size()))
    throw system_failure("cannot make an anonymous file", errno);
  return file;
}

std::string inherited_path(const File& file) {
  return "/proc/self/fd/" + std::to_string(file.get());
}

std::string identity(const std::filesystem::path& file) {
  struct stat information = {};
  ::stat(file.c_str(), &information); // follows symbolic links
  return std::to_string(information.st_ino) + "." + std::to_string(information.st_size) + "." +
         std::to_string(information.st_mtim.tv_sec);
}

// The guest's clock runs as the host's does; it is memory that is slowed down.
void report_time(double seconds, double dilation) {
  char line[160];
  std::snprintf(line, sizeof line,
                "%.2f s of guest time; memory took %g times its modelled time: compare with other "
                "times of this machine only",
                seconds, dilation);
  report(line);
}

// Members live as long as the machine needs, in the order of construction.
class Run {
public:
  Run(const Machine& machine, const SandboxOptions& options)
      : machine_(machine), options_(options), qemu_(find_qemu()), cache_(cache_folder()),
        image_(find_or_make_guest_image(cache_, options.make_guest, has_nvdimm(machine))),
        folder_(std::filesystem::current_path()),
        kernel_line_(kernel_command_line(options.kernel_options)),
        store_(cache_, machine.name, snapshot_key()) {
    begin_timeout();
  }

  int to_the_end();
  void one_after_the_other(const NextCommand& next, const CommandEnd& end);

private:
  bool models_time() const {
    return options_.dilation || options_.memory_events || !options_.misses.empty();
  }
  std::string snapshot_key() const;
  std::string symbols();
  void prepare_model();
  std::unique_ptr<Guest> start(bool restore);
  std::unique_ptr<Guest> boot();
  std::unique_ptr<Guest> boot_and_save();
  std::unique_ptr<Guest> ready_guest();
  void begin_timeout();
  std::optional<Deadline> deadline(double boot_limit) const;
  std::string request(const std::vector<std::string>& command, bool more = false) const;
  bool is_hidden(const std::filesystem::path& file) const;
  void explain(const RunResult& result, const std::string& program) const;
  EndedCommand run_one(Guest& guest, const std::vector<std::string>& command);

  const Machine& machine_;
  const SandboxOptions& options_;
  std::filesystem::path qemu_, cache_;
  GuestImage image_; // before watch_: make-guest runs with the caller's signals
  Watch watch_;
  std::filesystem::path folder_;
  std::string kernel_line_;
  SnapshotStore store_;
  std::optional<std::chrono::steady_clock::time_point> deadline_;
  File initial_files_, event_unit_, configuration_;
  bool modelled_ = false; // attach the model to machines started from now on
};

std::string Run::snapshot_key() const {
  std::string key =
      image_.identity + agent_identity() + "\n" + identity(qemu_) + "\n" + kernel_line_;
  for (const std::string& argument : machine_arguments(machine_))
    key += "\n" + argument;
  // The devices are the same in every run, but are part of the saved state.
  for (const std::string& argument : connection_arguments({}))
    if (!argument.starts_with("/proc/")) key += "\n" + argument;
  return key;
}

void Run::begin_timeout() {
  if (options_.timeout > 0)
    deadline_ = std::chrono::steady_clock::now() +
                std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                    std::chrono::duration<double>(options_.timeout));
}

std::optional<Deadline> Run::deadline(double boot_limit) const {
  std::optional<Deadline> earliest;
  if (deadline_) {
    char text[96];
    std::snprintf(text, sizeof text,
                  "no end within %g s (--timeout); the virtual machine was stopped",
                  options_.timeout);
    earliest = {*deadline_, Failure(k_status_time_out, text)};
  }
  if (boot_limit > 0) {
    auto limit = std::chrono::steady_clock::now() +
                 std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                     std::chrono::duration<double>(boot_limit));
    if (!earliest || limit < earliest->when)
      earliest = {limit,
                  Failure(k_status_our_failure, "the guest did not boot within " +
                                                    std::to_string(static_cast<int>(boot_limit)) +
                                                    " s; --console shows how far it came")};
  }
  return earliest;
}

std::unique_ptr<Guest> Run::start(bool restore) {
  Channels channels;
  Connections connections = {
      .control = channels.control.far.get(),
      .console = channels.console.far.get(),
      .monitor = channels.monitor.far.get(),
      .initial_files = initial_files_.get(),
      .event_unit = event_unit_.get(),
      .kernel = image_.kernel.string(),
      .command_line = kernel_line_,
      .shared = folder_.string(),
      .shared_writable = folder_ != "/",
      // Untimed, one thread is faster: page migration need not wait for CPUs that the host has
      // descheduled. Modelled time needs one thread a CPU.
      .one_thread = !(modelled_ && options_.dilation),
      .restore = restore,
      .plugin = modelled_ ? escape_commas(options_.plugin.string()) +
                                ",config=" + inherited_path(configuration_)
                          : "",
  };
  std::vector<std::string> command = {qemu_.string()};
  for (const auto& part : {machine_arguments(machine_), connection_arguments(connections)})
    command.insert(command.end(), part.begin(), part.end());
  std::vector<int> inherited = {initial_files_.get(), event_unit_.get()};
  if (modelled_) inherited.push_back(configuration_.get());
  return std::make_unique<Guest>(command, std::move(channels), inherited, watch_, options_.console);
}

std::unique_ptr<Guest> Run::boot() {
  std::unique_ptr<Guest> guest = start(false);
  watch_.set_deadline(deadline(k_boot_limit));
  guest->wait_until_ready();
  return guest;
}

// Boots and saves a machine. Null if another process has saved one meanwhile.
std::unique_ptr<Guest> Run::boot_and_save() {
  File lock;
  while (!(lock = store_.try_lock()))
    watch_.pause(50);
  if (store_.open()) return nullptr;
  // Without the model, which would slow the boot down and is no part of the saved state.
  const bool modelled = std::exchange(modelled_, false);
  std::unique_ptr<Guest> guest = boot();
  modelled_ = modelled;
  store_.save(*guest, watch_);
  return modelled_ ? nullptr : std::move(guest);
}

std::unique_ptr<Guest> Run::ready_guest() {
  if (!options_.snapshot) return boot();
  File saved = store_.open();
  if (!saved) {
    try {
      if (std::unique_ptr<Guest> guest = boot_and_save()) return guest;
      saved = store_.open();
    } catch (const NoSnapshot& failure) {
      report(std::string(failure.what()) + "; going on without a snapshot");
      return boot();
    }
  }
  std::unique_ptr<Guest> guest = start(true);
  watch_.set_deadline(deadline(k_boot_limit));
  try {
    SnapshotStore::restore(*guest, saved, watch_);
    return guest;
  } catch (const Failure& failure) {
    if (failure.status() != k_status_our_failure) throw;
    report(std::string("the saved machine is damaged (") + failure.what() + "); booting instead");
  }
  store_.remove();
  return boot();
}

// The guest kernel's symbol table, read from a separate guest once for each image.
std::string Run::symbols() {
  const std::filesystem::path file = image_.kernel.parent_path() / "kallsyms";
  if (std::filesystem::exists(file)) return file.string();
  std::string text;
  std::unique_ptr<Guest> guest = ready_guest();
  watch_.set_deadline(deadline(k_boot_limit));
  RunResult result = guest->run(request({"/bin/cat", "/proc/kallsyms"}), false,
                                [&](int standard, const std::string& bytes) {
                                  if (standard == 1) text += bytes;
                                });
  if (result.status != 0 || text.size() < (1 << 20))
    throw Failure(k_status_our_failure, "could not read the symbols of the guest's kernel");
  const std::string partial = file.string() + "." + std::to_string(::getpid());
  File out(::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  const bool written =
      out && ::write(out.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  if (!written || ::rename(partial.c_str(), file.c_str()) != 0) {
    const int error = errno;
    ::unlink(partial.c_str());
    throw system_failure("cannot write " + file.string(), error);
  }
  return file.string();
}

void Run::prepare_model() {
  if (has_nvdimm(machine_))
    throw Failure(k_status_our_failure, "the time model does not know the NVDIMMs of " +
                                            std::string(machine_.name) +
                                            "; icelake-optane has such memory");
  if (!std::filesystem::exists(options_.plugin))
    throw Failure(k_status_our_failure, "the time model " + options_.plugin.string() +
                                            " is missing; install the package omptier-machine "
                                            "(from sources: ./bootstrap demo)");
  TimingOptions timing;
  timing.count_only = !options_.dilation;
  timing.dilation = options_.dilation.value_or(1);
  timing.symbols = symbols();
  if (!options_.misses.empty()) timing.misses = std::filesystem::absolute(options_.misses);
  if (!options_.statistics.empty())
    timing.statistics = std::filesystem::absolute(options_.statistics);
  if (options_.memory_events) timing.events = inherited_path(event_unit_);
  timing.event_period = options_.events_period;
  const std::string text = timing_configuration(machine_, timing);
  configuration_ = anonymous_file("omptier-time-model", text, text.size());
  modelled_ = true;
}

std::string Run::request(const std::vector<std::string>& command, bool more) const {
  std::string text;
  auto add = [&](const std::string& key, const std::string& value) {
    text += key + "=" + value + '\0';
  };
  for (const std::string& word : command)
    add("arg", word);
  bool waits_actively = true, moves_threads = true;
  for (char** variable = environ; *variable; ++variable) {
    const std::string_view entry = *variable;
    if (is_inherited(entry)) add("env", std::string(entry));
    if (entry.starts_with("OMP_WAIT_POLICY=")) waits_actively = false;
    if (entry.starts_with("OMP_PROC_BIND=")) moves_threads = false;
  }
  // Emulated CPUs share the host's: a spinning thread takes time from a working one.
  if (waits_actively) add("env", "OMP_WAIT_POLICY=passive");
  // The caches of the time model and the rings of the memory-event unit belong to a CPU.
  if (moves_threads && modelled_) add("env", "OMP_PROC_BIND=true");
  for (const std::string& variable : options_.environment)
    add("env", variable);
  add("cwd", folder_);
  if (folder_ != "/") add("folder", folder_);
  add("host", std::string(machine_.name));
  timespec now;
  ::clock_gettime(CLOCK_REALTIME, &now);
  add("time", std::to_string(now.tv_sec) + "." + std::to_string(now.tv_nsec));
  unsigned char seed[32];
  if (::getrandom(seed, sizeof seed, 0) == sizeof seed) add("seed", hex_of(seed, sizeof seed));
  if (options_.unprivileged) {
    add("unprivileged", "1");
    const unsigned user = ::getuid();
    add("user", std::to_string(user == 0 ? k_nobody : user));
    add("group", std::to_string(user == 0 ? k_nobody : ::getgid()));
    // For root's files in the current folder, which must stay writable.
    if (user == 0) add("capability", std::to_string(CAP_DAC_OVERRIDE));
  }
  if (modelled_) add("model", "1");
  if (modelled_ && options_.dilation) add("dilation", std::to_string(*options_.dilation));
  if (more) add("more", "1");
  return text;
}

// Whether the machine's own /tmp or /run lies over this file of the host.
bool Run::is_hidden(const std::filesystem::path& file) const {
  std::error_code none;
  const std::string path = std::filesystem::absolute(file, none).lexically_normal().string();
  const bool shared = folder_ != "/" && path.starts_with(folder_.string() + "/");
  return !shared && (path.starts_with("/tmp/") || path.starts_with("/run/"));
}

void Run::explain(const RunResult& result, const std::string& program) const {
  bool started = true;
  for (const std::string& note : result.notes) {
    const std::size_t equals = note.find('=');
    const std::string key = note.substr(0, equals), value = note.substr(equals + 1);
    if (key == "exec") {
      started = false;
      report("cannot run " + program + ": " + std::strerror(std::atoi(value.c_str())) +
             (is_hidden(path_of_program(program))
                  ? "; the machine has a /tmp and /run of its own, so keep programs elsewhere"
                  : ""));
    } else if (key == "folder")
      report("cannot enter " + folder_.string() + ": " + std::strerror(std::atoi(value.c_str())) +
             "; --unprivileged needs a folder that its user may enter");
    else if (key == "illegal")
      report(value + " used an instruction that the virtual CPU lacks (such as AVX-512); build it "
                     "for x86-64-v3 instead of -march=native");
    else if (key == "kept-folder")
      report("the current folder could not be unmounted: " + value +
             "; its files may be incomplete");
    else if (result.status == 0)
      continue; // the rest explains failures
    else if (key == "memory")
      report("the machine ran out of memory and its kernel killed " + value +
             "; take less, or leave memory unbound");
    else if (key == "full-tmp")
      report("/tmp of the machine is full (" + value +
             " MiB of its memory); write to the current folder instead");
    else if (key == "full-folder")
      report("no space left for " + value + " on the host; free some");
  }
  // By then a shell, or the loader, has said that a file is not there.
  if (result.status == 127 && started && is_hidden(options_.make_guest))
    report("the machine does not see OMPTier's libraries: it has a /tmp and /run of its own, and " +
           options_.make_guest.parent_path().string() + " is there; install OMPTier elsewhere");
}

// QEMU 10.0 warns of deprecated options for which 7.2 has no other name.
std::string without_deprecations(const std::string& messages) {
  std::string kept;
  std::istringstream lines(messages);
  for (std::string line; std::getline(lines, line);)
    if (line.find(" is deprecated") == std::string::npos) kept += (kept.empty() ? "" : "\n") + line;
  return kept;
}

int Run::to_the_end() {
  initial_files_ = File(open_initial_files(image_));
  event_unit_ = anonymous_file("omptier-event-unit", "", EVENT_UNIT_SIZE);
  if (models_time()) prepare_model();
  std::unique_ptr<Guest> guest = ready_guest();
  watch_.set_deadline(deadline(0));
  const auto begin = std::chrono::steady_clock::now();
  const RunResult result = guest->run(request(options_.command), options_.forward_input);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  watch_.set_deadline(deadline(k_boot_limit));
  if (modelled_) guest->quit(); // the model writes its files when QEMU ends
  explain(result, options_.command[0]);
  if (options_.dilation) report_time(seconds.count(), *options_.dilation);
  if (modelled_) {
    const std::string messages = without_deprecations(guest->take_messages());
    if (!messages.empty()) report("QEMU: " + messages);
  }
  return result.status;
}

EndedCommand Run::run_one(Guest& guest, const std::vector<std::string>& command) {
  EndedCommand ended;
  begin_timeout();
  watch_.set_deadline(deadline(0));
  const auto begin = std::chrono::steady_clock::now();
  const RunResult result = guest.run(request(command, true), false,
                                     [&](int standard, const std::string& bytes) {
                                       (standard == 1 ? ended.output : ended.errors) += bytes;
                                     });
  ended.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  ended.status = result.status;
  ended.errors += without_deprecations(guest.take_messages());
  explain(result, command[0]);
  return ended;
}

void Run::one_after_the_other(const NextCommand& next, const CommandEnd& end) {
  initial_files_ = File(open_initial_files(image_));
  event_unit_ = anonymous_file("omptier-event-unit", "", EVENT_UNIT_SIZE);
  if (models_time()) prepare_model();
  std::unique_ptr<Guest> guest;
  for (std::vector<std::string> command; !(command = next()).empty();) {
    if (!guest) {
      deadline_.reset();
      guest = ready_guest();
      guest->take_messages();
    }
    try {
      end(run_one(*guest, command));
    } catch (const Failure& failure) {
      if (failure.status() != k_status_time_out) throw;
      guest.reset();
      end({k_status_time_out, options_.timeout, "", failure.what()});
    }
  }
}

} // namespace

namespace {

int status_of(const std::function<int()>& run) {
  try {
#if !defined(__x86_64__)
    throw Failure(k_status_our_failure, "the virtual machine needs an x86-64 host");
#endif
    return run();
  } catch (const Failure& failure) {
    if (*failure.what()) report(failure.what());
    return failure.status();
  } catch (const std::exception& error) {
    report(error.what());
    return k_status_our_failure;
  }
}

} // namespace

bool is_inherited(std::string_view variable) {
  if (variable.starts_with("OMPTIER_CACHE=")) return false; // the launcher's, not the program's
  return std::ranges::any_of(k_inherited,
                             [&](std::string_view prefix) { return variable.starts_with(prefix); });
}

int run_sandbox(const Machine& machine, const SandboxOptions& options) {
  return status_of([&] { return Run(machine, options).to_the_end(); });
}

int run_commands(const Machine& machine, const SandboxOptions& options, const NextCommand& next,
                 const CommandEnd& end) {
  return status_of([&] {
    Run(machine, options).one_after_the_other(next, end);
    return 0;
  });
}

} // namespace omptier
