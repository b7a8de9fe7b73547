// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See guest_image.hpp. The archives are in cpio's "new ASCII" format, the only one that Linux
// unpacks; several may be concatenated, each padded to four bytes.
#include "machine/guest_image.hpp"

#include "machine/failure.hpp"
#include "machine/hash.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <string_view>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern "C" const char omptier_guest_agent[];
extern "C" const char omptier_guest_agent_end[];

namespace omptier {
namespace {

std::string_view agent() {
  return {omptier_guest_agent,
          static_cast<std::size_t>(omptier_guest_agent_end - omptier_guest_agent)};
}

std::string archive_entry(std::string_view name, unsigned mode, std::string_view data) {
  char head[128];
  std::snprintf(head, sizeof head, "070701%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X%08X", 1u,
                mode, 0u, 0u, 1u, 0u, static_cast<unsigned>(data.size()), 0u, 0u, 0u, 0u,
                static_cast<unsigned>(name.size() + 1), 0u);
  std::string entry = head + std::string(name) + '\0';
  entry.resize((entry.size() + 3) / 4 * 4);
  entry += data;
  entry.resize((entry.size() + 3) / 4 * 4);
  return entry;
}

void write_whole(int file, std::string_view data) {
  while (!data.empty()) {
    ssize_t n = ::write(file, data.data(), data.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) throw system_failure("cannot build the guest's initial files", errno);
    data.remove_prefix(static_cast<std::size_t>(n));
  }
}

std::string value_of(const std::filesystem::path& about, std::string_view key) {
  std::ifstream lines(about);
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with(std::string(key) + "=")) return line.substr(key.size() + 1);
  return "";
}

// identity is empty if the image is missing or incomplete.
GuestImage look_for_image(const std::filesystem::path& cache, bool nvdimm) {
  GuestImage image;
  std::error_code error;
  std::filesystem::path folder = std::filesystem::canonical(cache / "guest" / "current", error);
  if (error) return image;
  image.kernel = folder / "vmlinux";
  image.modules = folder / "modules.cpio";
  image.release = value_of(folder / "about", "release");
  struct stat kernel, modules;
  if (::stat(image.kernel.c_str(), &kernel) != 0 || ::stat(image.modules.c_str(), &modules) != 0 ||
      image.release.empty())
    return image;
  struct stat more = {};
  if (nvdimm) {
    image.nvdimm = folder / "nvdimm.cpio";
    if (::stat(image.nvdimm.c_str(), &more) != 0) return image;
  }
  for (const struct stat& file : {kernel, modules, more})
    if (file.st_size != 0)
      image.identity += std::to_string(file.st_size) + "." + std::to_string(file.st_mtim.tv_sec) +
                        "." + std::to_string(file.st_mtim.tv_nsec) + " ";
  return image;
}

void run_make_guest(const std::filesystem::path& make_guest, const std::filesystem::path& cache) {
  pid_t child = ::fork();
  if (child < 0) throw system_failure("cannot start make-guest", errno);
  if (child == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGTERM);
    ::dup2(2, 1); // stdout belongs to the program
    ::execl(make_guest.c_str(), make_guest.c_str(), "--cache", cache.c_str(), nullptr);
    _exit(127);
  }
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return;
  throw Failure(k_status_our_failure,
                "the guest's kernel is missing and could not be made; run " + make_guest.string() +
                    " to see the reason (it needs python3, apt-get and dpkg-deb)");
}

} // namespace

std::filesystem::path cache_folder() {
  auto set = [](const char* name) {
    const char* value = std::getenv(name);
    return value && *value ? value : nullptr;
  };
  if (const char* folder = set("OMPTIER_CACHE")) return std::filesystem::absolute(folder);
  if (const char* folder = set("XDG_CACHE_HOME"))
    return std::filesystem::absolute(folder) / "omptier";
  if (const char* folder = set("HOME")) return std::filesystem::path(folder) / ".cache" / "omptier";
  throw Failure(k_status_our_failure, "no cache folder: set OMPTIER_CACHE or HOME");
}

GuestImage find_or_make_guest_image(const std::filesystem::path& cache,
                                    const std::filesystem::path& make_guest, bool nvdimm) {
  GuestImage image = look_for_image(cache, nvdimm);
  if (!image.identity.empty()) return image;
  if (!std::filesystem::exists(make_guest))
    throw Failure(k_status_our_failure,
                  "no guest kernel in " + cache.string() +
                      ", and nothing here makes one; install " +
                      "the package omptier-machine (from sources: ./bootstrap demo)");
  run_make_guest(make_guest, cache);
  image = look_for_image(cache, nvdimm);
  if (image.identity.empty())
    throw Failure(k_status_our_failure, "make-guest left no whole image in " + cache.string() +
                                            "; remove its folder guest and try again");
  return image;
}

int open_initial_files(const GuestImage& image) {
  int file = ::memfd_create("omptier-initial-files", MFD_CLOEXEC);
  if (file < 0) throw system_failure("cannot make an anonymous file", errno);
  write_whole(file, archive_entry("dev", 0040755, ""));
  write_whole(file, archive_entry("init", 0100755, agent()));
  write_whole(file, archive_entry("TRAILER!!!", 0, ""));
  for (const std::filesystem::path& archive : {image.modules, image.nvdimm}) {
    if (archive.empty()) continue;
    int modules = ::open(archive.c_str(), O_RDONLY | O_CLOEXEC);
    if (modules < 0) {
      int error = errno;
      ::close(file);
      throw system_failure("cannot read " + archive.string(), error);
    }
    while (::sendfile(file, modules, nullptr, 1 << 20) > 0) {
    }
    ::close(modules);
  }
  return file;
}

std::string agent_identity() {
  return hash_text(agent());
}

} // namespace omptier
