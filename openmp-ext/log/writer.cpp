// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See writer.hpp. A record is encoded on the stack, then copied into the block: a record that would
// not fit ends the block first. Differences are made under the mutex, after that.
#include "log/writer.hpp"

#include "base/notices.hpp"
#include "base/os.hpp"
#include "base/owner_mark.hpp"
#include "objects/modules.hpp"

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

namespace omptier {

// One record's bytes, in a buffer of the writer's, because threads may have little stack. Texts and
// frame lists are cut so that the largest record fits a block.
class LogWriter::Body {
public:
  template <std::size_t room>
  Body(RecordType type, std::uint8_t (&bytes)[room]) : type_(type), bytes_(bytes), room_(room) {}
  void number(std::uint64_t value) {
    while (value >= 0x80) {
      put(static_cast<std::uint8_t>(value | 0x80));
      value >>= 7;
    }
    put(static_cast<std::uint8_t>(value));
  }
  template <typename... T> void numbers(T... values) {
    (number(static_cast<std::uint64_t>(values)), ...);
  }
  void difference(std::uint64_t value, std::uint64_t& reference) {
    number(fold_sign(static_cast<std::int64_t>(value - reference)));
    reference = value;
  }
  template <typename T> void raw(T value) {
    std::uint8_t bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    for (const std::uint8_t byte : bytes)
      put(byte);
  }
  void text(const char* text) {
    std::size_t length = std::strlen(text);
    if (length > k_longest_text) length = k_longest_text;
    number(length);
    for (std::size_t i = 0; i < length; ++i)
      put(static_cast<std::uint8_t>(text[i]));
  }
  void frames(const Frame* frames, unsigned count) {
    if (count > k_max_frames) count = k_max_frames;
    number(count);
    for (unsigned i = 0; i < count; ++i) {
      number(frames[i].module);
      number(frames[i].offset);
    }
  }
  void place(const BlockPlace& place) { // 0: none is known
    number(place.is_known() ? std::uint64_t{place.site} + 1 : 0);
    if (place.is_known()) numbers(place.offset, place.bytes);
  }
  RecordType type() const { return type_; }
  const std::uint8_t* bytes() const { return bytes_; }
  std::size_t size() const { return size_; }

private:
  static constexpr std::size_t k_longest_text = 1000;
  void put(std::uint8_t byte) {
    if (size_ < room_) bytes_[size_++] = byte;
  }
  RecordType type_;
  std::uint8_t* bytes_;
  std::size_t room_, size_ = 0;
};

namespace {

constexpr std::size_t k_beside_body = 4; // its type and length

std::uint64_t block_checksum(const std::uint8_t* block, std::size_t bytes) {
  const std::uint64_t head = hash_bytes(0, block, offsetof(BlockHeader, checksum));
  return hash_bytes(head, block + sizeof(BlockHeader), bytes - sizeof(BlockHeader));
}

// The lock tells other processes that this log is being written; it ends with the last descriptor.
// Where locks do not work, the file is used without.
int open_unshared(const char* path) {
  const int fd = os().open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (fd < 0) return fd;
  const bool busy = flock(fd, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  if (!busy && (ftruncate(fd, 0) == 0 || errno == EINVAL)) return fd;
  const int error = busy ? EWOULDBLOCK : errno;
  os().close(fd);
  errno = error;
  return -1;
}

} // namespace

bool LogWriter::open(char* path, std::size_t size) {
  int fd = open_unshared(path);
  if (fd < 0 && errno == EWOULDBLOCK) {
    const std::size_t length = std::strlen(path);
    std::snprintf(path + length, size - length, ".%d", static_cast<int>(getpid()));
    fd = open_unshared(path);
  }
  if (fd < 0) {
    warn_once(Notice::profile_unwritable, "cannot create profile %s: %s; nothing is recorded", path,
              strerrordesc_np(errno));
    return false;
  }
  const std::lock_guard<std::mutex> guard(mutex_);
  fd_ = move_up(fd);
  struct stat status;
  if (fstat(fd_, &status) == 0) {
    device_ = status.st_dev;
    inode_ = status.st_ino;
  }
  path_ = path;
  if (here_ == nullptr) here_ = page_wiped_in_children();
  if (here_ != nullptr) *here_ = 1;
  sequence_ = 0;
  samples_ = lost_ = refused_ = 0;
  phases_ = areas_ = moves_ = {};
  full_ = ending_ = false;
  written_ = 0;
  ProfileHeader header{};
  std::memcpy(header.magic, k_profile_magic, sizeof header.magic);
  header.version = k_profile_version;
  header.bytes = sizeof header;
  if (os().write(fd_, &header, sizeof header) != static_cast<ssize_t>(sizeof header)) {
    give_up(strerrordesc_np(errno));
    return false;
  }
  written_ = sizeof header;
  start_block();
  return true;
}

void LogWriter::start_block() {
  used_ = sizeof(BlockHeader);
  records_ = 0;
  base_time_ = monotonic_nanoseconds();
  state_ = {};
  state_.time = state_.sample_time = state_.stretch_time = base_time_;
}

void LogWriter::give_up(const char* why) {
  warn_once(Notice::profile_cut, "profile %s: %s; it ends here, the program goes on",
            path_ != nullptr ? path_ : "", why);
  if (fd_ >= 0) os().close(fd_);
  fd_ = -1;
}

// The program may have closed our descriptor and opened its own under the same number; and a write
// past the file-size limit would send it a deadly signal.
bool LogWriter::may_write(std::size_t bytes) {
  struct stat status;
  if (fstat(fd_, &status) != 0 || status.st_dev != device_ || status.st_ino != inode_) {
    fd_ = -1; // not ours to close
    give_up("the program closed its descriptor");
    return false;
  }
  rlimit limit;
  if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY &&
      written_ + bytes > limit.rlim_cur) {
    give_up("the file-size limit is reached");
    return false;
  }
  return true;
}

void LogWriter::write_block() {
  if (records_ == 0 || fd_ < 0) return;
  if (here_ != nullptr && *here_ == 0) return forget(); // the log is the parent's
  BlockHeader header{};
  header.magic = k_block_magic;
  header.bytes = static_cast<std::uint32_t>(used_ - sizeof header);
  header.sequence = sequence_++;
  header.records = records_;
  header.base_time = base_time_;
  std::memcpy(block_, &header, sizeof header);
  header.checksum = block_checksum(block_, used_);
  std::memcpy(block_, &header, sizeof header);
  if (!may_write(used_)) return;
  std::size_t done = 0;
  while (done < used_) {
    const ssize_t count = os().write(fd_, block_ + done, used_ - done);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) {
      give_up(strerrordesc_np(count < 0 ? errno : ENOSPC));
      return;
    }
    done += static_cast<std::size_t>(count);
  }
  written_.fetch_add(used_, std::memory_order_relaxed);
  start_block();
}

void LogWriter::append(const Body& body) {
  const std::size_t before = used_;
  block_[used_++] = static_cast<std::uint8_t>(body.type());
  std::size_t size = body.size();
  for (; size >= 0x80; size >>= 7)
    block_[used_++] = static_cast<std::uint8_t>(size | 0x80);
  block_[used_++] = static_cast<std::uint8_t>(size);
  std::memcpy(block_ + used_, body.bytes(), body.size());
  used_ += body.size();
  if (Quota* quota = quota_of(body.type())) quota->bytes += used_ - before;
  ++records_;
}

void LogWriter::flush() {
  const std::lock_guard<std::mutex> guard(mutex_);
  write_block();
}

void LogWriter::close() {
  const std::lock_guard<std::mutex> guard(mutex_);
  write_block();
  if (fd_ >= 0) os().close(fd_);
  fd_ = -1;
}

void LogWriter::forget() {
  if (fd_ >= 0) os().close(fd_);
  fd_ = -1;
  used_ = records_ = 0;
}

LogWriter::Quota* LogWriter::quota_of(RecordType type) {
  switch (type) {
  case RecordType::phase:
    return &phases_;
  case RecordType::area:
  case RecordType::area_end:
    return &areas_;
  case RecordType::move:
    return &moves_;
  default:
    return nullptr;
  }
}

void LogWriter::add_refused(Shortages& all) {
  const std::lock_guard<std::mutex> guard(mutex_);
  all.phases = phases_.refused;
  all.areas = areas_.refused;
  all.moves = moves_.refused;
}

// The last two blocks are reserved for the end of the log: counts, then losses and the end.
bool LogWriter::accepts(RecordType type) {
  if (Quota* quota = quota_of(type); quota != nullptr && quota->bytes >= most_bytes_ / 8) {
    ++quota->refused;
    return false;
  }
  const std::uint64_t blocks = ending_.load(std::memory_order_relaxed) ? 1 : 2;
  const std::uint64_t reserve = blocks * k_largest_block;
  if (written_.load(std::memory_order_relaxed) + used_ + reserve <= most_bytes_) return true;
  if (type == RecordType::end || type == RecordType::lost) return true;
  full_.store(true, std::memory_order_relaxed);
  if (type == RecordType::sample) ++refused_;
  return false;
}

// Begins every record below: the mutex, and room in the block; returns if there is no file.
#define OMPTIER_BEGIN_RECORD(kind)                                                                 \
  const std::lock_guard<std::mutex> guard(mutex_);                                                 \
  if (fd_ < 0 || !accepts(RecordType::kind)) return;                                               \
  if (used_ + k_largest_body + k_beside_body > sizeof block_) write_block();                       \
  if (fd_ < 0) return;                                                                             \
  Body body(RecordType::kind, body_)

void LogWriter::run(const RunRecord& record) {
  OMPTIER_BEGIN_RECORD(run);
  body.numbers(record.process, record.rank, record.start_time, record.wall_clock_start,
               record.measure);
  body.raw(record.worst_error);
  body.raw(record.rate);
  for (const std::string* text : {&record.host, &record.program, &record.command_line, &record.job,
                                  &record.source, &record.source_description})
    body.text(text->c_str());
  body.numbers(record.caches.own, record.caches.all, record.recording);
  append(body);
}

void LogWriter::module(std::uint32_t number, const ModuleText& module) {
  OMPTIER_BEGIN_RECORD(module);
  body.numbers(number, module.bias, module.system);
  for (const char* text : {module.identity, module.name, module.path})
    body.text(text);
  append(body);
}

void LogWriter::site(std::uint32_t site, const Frame* frames, unsigned count) {
  OMPTIER_BEGIN_RECORD(site);
  body.number(site);
  body.frames(frames, count);
  append(body);
}

void LogWriter::object(std::uint32_t site, std::uint64_t address, std::uint64_t bytes,
                       std::uint32_t thread, std::uint64_t allocator) {
  OMPTIER_BEGIN_RECORD(object);
  body.difference(monotonic_nanoseconds(), state_.time);
  body.difference(address, state_.object_address);
  body.numbers(bytes, site, thread, allocator);
  append(body);
}

void LogWriter::release(std::uint64_t address) {
  OMPTIER_BEGIN_RECORD(release);
  body.difference(monotonic_nanoseconds(), state_.time);
  body.difference(address, state_.object_address);
  append(body);
}

void LogWriter::small_objects(std::uint32_t site, std::uint64_t objects, std::uint64_t bytes) {
  OMPTIER_BEGIN_RECORD(small_objects);
  body.numbers(site, objects, bytes);
  append(body);
}

void LogWriter::small_area(std::uint64_t address) {
  OMPTIER_BEGIN_RECORD(small_area);
  body.number(address / k_small_area);
  append(body);
}

void LogWriter::site_totals(const SiteTotals& totals) {
  OMPTIER_BEGIN_RECORD(site_totals);
  const std::uint64_t now = monotonic_nanoseconds();
  body.difference(now, state_.time);
  body.number(std::uint64_t{totals.site} << 1 | (totals.by_malloc ? 1 : 0));
  body.numbers(totals.objects, totals.bytes, totals.largest, totals.live, totals.peak,
               now > totals.peak_time ? now - totals.peak_time : 0);
  append(body);
}

void LogWriter::shortages(const Shortages& all) {
  OMPTIER_BEGIN_RECORD(shortages);
  body.numbers(all.objects, all.by_caller, all.runs, all.stretches, all.phases, all.areas,
               all.moves, all.regions_by_caller, all.loops.emulated, all.loops.alike,
               all.loops.left_out);
  append(body);
}

void LogWriter::area(AreaKind kind, std::uint32_t number, std::uint64_t address,
                     std::uint64_t bytes, std::uint64_t begin) {
  OMPTIER_BEGIN_RECORD(area);
  body.numbers(kind, number, address, bytes, begin);
  append(body);
}

void LogWriter::area_end(AreaKind kind, std::uint32_t number, std::uint64_t end) {
  OMPTIER_BEGIN_RECORD(area_end);
  body.numbers(kind, number, end);
  append(body);
}

void LogWriter::region_definition(std::uint32_t region, const Frame* frames, unsigned count) {
  OMPTIER_BEGIN_RECORD(region_definition);
  body.number(region);
  body.frames(frames, count);
  append(body);
}

void LogWriter::region(const RegionRecord& record) {
  OMPTIER_BEGIN_RECORD(region);
  body.difference(record.time, state_.time);
  body.numbers(std::uint64_t{record.region} << 1 | (record.begin ? 1 : 0), record.threads,
               record.thread);
  append(body);
}

void LogWriter::region_totals(std::uint32_t region, const RegionTotals& totals) {
  OMPTIER_BEGIN_RECORD(region_totals);
  body.numbers(region, totals.entries, totals.entered_anew, totals.nanoseconds, totals.threads);
  append(body);
}

void LogWriter::stretch_definition(std::uint32_t stretch, const StretchDefinition& definition) {
  OMPTIER_BEGIN_RECORD(stretch_definition);
  body.numbers(stretch, definition.kind, definition.region, definition.next_region);
  if (definition.kind == StretchDefinition::Kind::barrier) body.frames(&definition.frame, 1);
  append(body);
}

void LogWriter::stretch(const StretchRecord& record) {
  OMPTIER_BEGIN_RECORD(stretch);
  body.difference(record.end, state_.stretch_time);
  body.numbers(record.nanoseconds, record.stretch, record.thread);
  append(body);
}

void LogWriter::stretch_count(std::uint32_t stretch, std::uint64_t entries,
                              std::uint64_t nanoseconds) {
  OMPTIER_BEGIN_RECORD(stretch_count);
  body.numbers(stretch, entries, nanoseconds);
  append(body);
}

// The last phase for which there is room ends the phase before; what follows is in none.
void LogWriter::phase(const char* name) {
  OMPTIER_BEGIN_RECORD(phase);
  const bool last = phases_.bytes + k_largest_body >= most_bytes_ / 8;
  body.difference(monotonic_nanoseconds(), state_.time);
  body.text(last ? "" : name);
  append(body);
  if (!last) return;
  phases_.bytes = most_bytes_;
  ++phases_.refused;
}

void LogWriter::move(const MoveRecord& record) {
  OMPTIER_BEGIN_RECORD(move);
  body.difference(record.time, state_.time);
  body.numbers(record.address, record.bytes, record.from, record.to);
  body.raw(record.seconds);
  if (record.at_barrier) body.number(1);
  append(body);
}

void LogWriter::pattern(const AccessPattern& pattern, const BlockPlace& place,
                        const BlockPlace& through) {
  OMPTIER_BEGIN_RECORD(pattern);
  const bool run = pattern.run_nanoseconds > 0;
  body.place(place);
  body.place(through);
  body.difference(pattern.loop, state_.loop);
  body.number(run ? 1 : 0);
  if (run) body.raw(pattern.run_nanoseconds), body.raw(pattern.run_bytes);
  body.difference(pattern.pc, state_.pattern_pc);
  body.difference(pattern.address, state_.pattern_address);
  body.numbers(pattern.through, pattern.kind);
  body.raw(pattern.accesses);
  body.raw(pattern.bytes);
  body.raw(pattern.chased);
  if (pattern.through != 0) body.raw(pattern.fresh);
  for (const AccessPattern::Stride& stride : pattern.strides) {
    if (!(stride.share > 0)) break;
    body.number(fold_sign(stride.bytes));
    body.raw(stride.share);
  }
  append(body);
}

void LogWriter::reuse(const AddressReuse& reuse, const BlockPlace& place) {
  OMPTIER_BEGIN_RECORD(reuse);
  body.place(place);
  body.numbers(reuse.time, reuse.pc, reuse.address, reuse.range, reuse.samples, reuse.thread);
  body.raw(reuse.watched);
  body.raw(reuse.until_next_use);
  append(body);
}

void LogWriter::sample(const AccessSample& sample, const BlockPlace& place) {
  OMPTIER_BEGIN_RECORD(sample);
  const bool weight = sample.weight != state_.sample_weight;
  const bool loop = sample.loop != state_.sample_loop, nest = sample.nest != state_.sample_nest;
  const auto facts = static_cast<std::uint8_t>((sample.stored_back ? k_fact_stored_back : 0) |
                                               (sample.gathered ? k_fact_gathered : 0) |
                                               (loop ? k_fact_loop : 0) | (nest ? k_fact_nest : 0));
  const bool extras = sample.node != 255 || sample.latency > 0 || facts != 0 || sample.loop != 0;
  const unsigned level =
      sample.by_kernel ? k_sample_by_kernel : static_cast<unsigned>(sample.level);
  const auto kind = static_cast<unsigned>(sample.kind);
  body.raw(
      static_cast<std::uint8_t>(kind << 5 | level << 3 | (sample.streamed ? k_sample_streamed : 0) |
                                (weight ? k_sample_weight : 0) | (extras ? k_sample_extras : 0) |
                                (place.is_known() ? k_sample_place : 0)));
  body.difference(sample.time, state_.sample_time);
  body.number(sample.thread);
  body.difference(sample.pc, state_.sample_pc);
  body.difference(sample.address, state_.sample_address);
  if (weight) body.raw(state_.sample_weight = sample.weight);
  if (extras) {
    body.raw(sample.node);
    body.number(static_cast<std::uint64_t>(std::lround(sample.latency * 10)));
    body.raw(facts);
    if (loop) body.difference(sample.loop, state_.sample_loop);
    if (nest) body.difference(sample.nest, state_.sample_nest);
  }
  if (place.is_known()) body.place(place);
  append(body);
  ++samples_;
}

void LogWriter::lost(std::uint64_t samples, LossReason reason) {
  OMPTIER_BEGIN_RECORD(lost);
  lost_ += samples;
  body.numbers(samples, reason);
  append(body);
}

void LogWriter::thinned(std::uint64_t kept_of) {
  OMPTIER_BEGIN_RECORD(thinned);
  body.difference(monotonic_nanoseconds(), state_.time);
  body.number(kept_of);
  append(body);
}

void LogWriter::waiting(std::uint64_t samples, double weight) {
  OMPTIER_BEGIN_RECORD(waiting);
  body.number(samples);
  body.raw(weight);
  append(body);
}

void LogWriter::end() {
  if (refused_ > 0) lost(refused_, LossReason::log);
  OMPTIER_BEGIN_RECORD(end);
  body.difference(monotonic_nanoseconds(), state_.time);
  body.numbers(samples_, lost_);
  append(body);
}

#undef OMPTIER_BEGIN_RECORD

} // namespace omptier
