// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See reader.hpp. Handles the file and its blocks (length, checksum, cut or corrupt);
// record_reader.hpp handles the records in them. A senseless record inside a block with a correct
// checksum comes from a faulty writer; it is reported like corruption.
#include "log/reader.hpp"

#include "log/format.hpp"
#include "log/record_reader.hpp"
#include "objects/modules.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>

namespace omptier {
namespace {
class Reader {
public:
  explicit Reader(const std::string& name) { profile_.file = name; }

  Parsed<Profile> read(std::string_view bytes) {
    ProfileHeader header{};
    if (bytes.size() < sizeof header) {
      if (bytes.empty() || std::memcmp(bytes.data(), k_profile_magic,
                                       std::min(bytes.size(), sizeof header.magic)) == 0)
        return fail(0, "the log was cut off before its first block; record again");
      return fail(0, "this is not a profile; give a file that omptier record wrote");
    }
    std::memcpy(&header, bytes.data(), sizeof header);
    if (std::memcmp(header.magic, k_profile_magic, sizeof header.magic) != 0)
      return fail(0, "this is not a profile; give a file that omptier record wrote");
    if (header.version < k_oldest_profile_version || header.version > k_profile_version)
      return fail(8, "profile version " + std::to_string(header.version) + ", this omptier reads " +
                         std::to_string(k_profile_version) + "; record again");
    if (header.bytes < sizeof header || header.bytes > 4096)
      return fail(12, "impossible header length; record again");
    records_.begin(header.version);
    std::size_t at = header.bytes;
    std::uint32_t sequence = 0;
    while (at < bytes.size()) {
      std::string problem;
      const std::size_t next = read_block(bytes, at, sequence++, problem);
      if (!problem.empty()) return Parsed<Profile>::failure(problem);
      if (next == 0) break; // cut off
      at = next;
      ++profile_.blocks;
    }
    profile_.bytes = std::min(at, bytes.size());
    if (!records_.has_run())
      return fail(at, "the log was cut off before its first record; record again");
    if (!profile_.end && profile_.cut.empty())
      profile_.cut = at_byte(at) + "the program ended without closing the log (killed?)";
    records_.finish();
    return std::move(profile_);
  }

private:
  std::string at_byte(std::size_t offset) const {
    return profile_.file + ": byte " + std::to_string(offset) + ": ";
  }
  Parsed<Profile> fail(std::size_t offset, const std::string& why) const {
    return Parsed<Profile>::failure(at_byte(offset) + why);
  }

  // 0 when the file ends inside this block.
  std::size_t read_block(std::string_view bytes, std::size_t at, std::uint32_t sequence,
                         std::string& problem) {
    BlockHeader header{};
    if (bytes.size() - at < sizeof header) return cut(at);
    std::memcpy(&header, bytes.data() + at, sizeof header);
    if (header.magic != k_block_magic || header.bytes > k_largest_block - sizeof header ||
        header.sequence != sequence) {
      problem = at_byte(at) + "corrupt block header; record again";
      return 0;
    }
    if (bytes.size() - at - sizeof header < header.bytes) return cut(at);
    const char* records = bytes.data() + at + sizeof header;
    const std::uint64_t head = hash_bytes(0, bytes.data() + at, offsetof(BlockHeader, checksum));
    if (hash_bytes(head, records, header.bytes) != header.checksum) {
      problem = at_byte(at) + "checksum of the block is wrong, the file is corrupt; record again";
      return 0;
    }
    records_.begin_block(header.base_time);
    RecordBody body(records, records + header.bytes);
    std::uint32_t count = 0;
    while (!body.empty()) {
      const char* start = body.at();
      ++count;
      if (!records_.read(body) || count > header.records) {
        problem = at_byte(static_cast<std::size_t>(start - bytes.data())) +
                  "impossible record, the writer was faulty; record again";
        return 0;
      }
    }
    return at + sizeof header + header.bytes;
  }

  std::size_t cut(std::size_t at) {
    profile_.cut = at_byte(at) + "the log is cut off here; what is before is used";
    return 0;
  }

  Profile profile_;
  RecordReader records_{profile_};
};

// Whether the process that began the log still has it open.
bool is_being_written(const Profile& profile, const struct stat& log) {
  char host[256] = "";
  gethostname(host, sizeof host - 1);
  if (profile.end || profile.run.host != host) return false;
  const std::string folder = "/proc/" + std::to_string(profile.run.process) + "/fd";
  DIR* open_files = opendir(folder.c_str());
  if (open_files == nullptr) return false;
  bool found = false;
  while (const dirent* entry = readdir(open_files)) {
    struct stat file{};
    if (fstatat(dirfd(open_files), entry->d_name, &file, 0) == 0)
      found = found || (file.st_dev == log.st_dev && file.st_ino == log.st_ino);
  }
  closedir(open_files);
  return found;
}

} // namespace

Parsed<Profile> parse_profile(std::string_view bytes, const std::string& name) {
  return Reader(name).read(bytes);
}

Parsed<Profile> read_profile(const std::string& path) {
  const auto failure = [&](int error) {
    return Parsed<Profile>::failure(path + ": " + std::strerror(error));
  };
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failure(errno);
  std::string bytes;
  struct stat status{};
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode))
    bytes.reserve(static_cast<std::size_t>(status.st_size));
  std::vector<char> chunk(1 << 20);
  for (;;) {
    const ssize_t count = read(fd, chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) {
      const int error = errno;
      close(fd);
      return failure(error);
    }
    if (count == 0) break;
    bytes.append(chunk.data(), static_cast<std::size_t>(count));
  }
  close(fd);
  Parsed<Profile> profile = parse_profile(bytes, path);
  if (profile && is_being_written(*profile, status)) {
    profile->running = true;
    profile->cut = path + ": process " + std::to_string(profile->run.process) +
                   " still runs: this is what it has recorded so far";
  }
  return profile;
}

} // namespace omptier
