// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attributes determine the layout of CPU_CLOCK's records (perf_event_open(2)): IP, TID, TIME, READ,
// REGS_USER and, if requested, STACK_USER, in 8-byte words. Only user code is sampled, which
// perf_event_paranoid up to 2 allows all users. Time is CLOCK_MONOTONIC, as in profiles.

#include "sampling/perf_ring.hpp"

#include "base/os.hpp"

#include <bit>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#if defined(__x86_64__)
#include <asm/perf_regs.h>
#endif

namespace omptier {

namespace {

#if defined(__x86_64__)

// perf's numbers of the general registers, in our order.
constexpr unsigned k_perf_number[k_general_registers] = {
    PERF_REG_X86_AX,  PERF_REG_X86_CX,  PERF_REG_X86_DX,  PERF_REG_X86_BX,
    PERF_REG_X86_SP,  PERF_REG_X86_BP,  PERF_REG_X86_SI,  PERF_REG_X86_DI,
    PERF_REG_X86_R8,  PERF_REG_X86_R9,  PERF_REG_X86_R10, PERF_REG_X86_R11,
    PERF_REG_X86_R12, PERF_REG_X86_R13, PERF_REG_X86_R14, PERF_REG_X86_R15};

constexpr std::uint64_t wanted_registers() {
  std::uint64_t mask = std::uint64_t{1} << PERF_REG_X86_FLAGS;
  for (unsigned number : k_perf_number)
    mask |= std::uint64_t{1} << number;
  return mask;
}
constexpr std::uint64_t k_registers = wanted_registers();

// perf stores registers in ascending order of its numbers.
constexpr std::size_t place_of(unsigned perf_number) {
  return static_cast<std::size_t>(
      std::popcount(k_registers & ((std::uint64_t{1} << perf_number) - 1)));
}

// ip, pid and tid, time, number of clocks, their counts, abi, registers
constexpr std::size_t k_counts = 4, k_most_clocks = 2;
constexpr std::size_t k_sample_words = k_counts + 1 + std::popcount(k_registers);

bool parse_sample(std::span<const std::uint64_t> words, RegisterSample& sample) {
  if (words.size() < k_sample_words) return false;
  const std::uint64_t clocks = words[k_counts - 1];
  if (clocks > k_most_clocks || words.size() < k_sample_words + clocks) return false;
  if (words[k_counts + clocks] != PERF_SAMPLE_REGS_ABI_64) return false;
  sample.pc = words[0];
  sample.thread = static_cast<std::uint32_t>(words[1] >> 32);
  sample.time = words[2];
  if (clocks == k_most_clocks) sample.ran = words[k_counts]; // the first's, whichever fired
  const std::uint64_t* registers = words.data() + k_counts + clocks + 1;
  for (unsigned i = 0; i < k_general_registers; ++i)
    sample.general[i] = registers[place_of(k_perf_number[i])];
  sample.flags = registers[place_of(PERF_REG_X86_FLAGS)];
  // Words: bytes requested, these bytes, the number of bytes that the kernel could read.
  const auto rest = words.subspan(k_sample_words + clocks);
  if (rest.empty() || rest[0] != k_stack_kept || rest.size() < 2 + k_stack_kept / 8) return true;
  sample.stack_bytes =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(rest[1 + k_stack_kept / 8], k_stack_kept));
  std::memcpy(sample.stack.data(), rest.data() + 1, sample.stack_bytes);
  return true;
}

#else

constexpr std::uint64_t k_registers = 0;
bool parse_sample(std::span<const std::uint64_t>, RegisterSample&) {
  return false;
}

#endif

constexpr std::size_t k_largest_record = 1024; // larger than any of ours

} // namespace

std::uint64_t walk_perf_records(const std::uint8_t* ring, std::uint64_t size, std::uint64_t tail,
                                std::uint64_t head, const PerfRecordVisitor& visit) {
  alignas(8) std::uint8_t record[k_largest_record];
  auto copy = [&](std::uint64_t from, std::size_t bytes) { // also across the end of the ring
    std::uint64_t at = from & (size - 1);
    std::size_t first = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, size - at));
    std::memcpy(record, ring + at, first);
    std::memcpy(record + first, ring, bytes - first);
  };
  while (head - tail >= sizeof(perf_event_header)) {
    perf_event_header header;
    copy(tail, sizeof header);
    std::memcpy(&header, record, sizeof header);
    if (header.size < sizeof header || header.size > head - tail) return head;
    std::size_t bytes = std::min<std::size_t>(header.size, sizeof record);
    copy(tail, bytes);
    visit(header.type, {reinterpret_cast<const std::uint64_t*>(record + sizeof header),
                        (bytes - sizeof header) / 8});
    tail += header.size;
  }
  return head;
}

std::uint64_t lost_samples(std::uint32_t type, std::span<const std::uint64_t> words) {
  if (type == PERF_RECORD_LOST && words.size() >= 2) return words[1];
  if (type == PERF_RECORD_LOST_SAMPLES && !words.empty()) return words[0];
  return 0;
}

namespace {

void note_record(std::uint32_t type, std::span<const std::uint64_t> words, PerfRecords& records) {
  RegisterSample sample;
  if (type == PERF_RECORD_SAMPLE && parse_sample(words, sample)) records.samples.push_back(sample);
  if (type == PERF_RECORD_THROTTLE) ++records.throttled;
  records.lost += lost_samples(type, words);
}

} // namespace

std::uint64_t parse_perf_records(const std::uint8_t* ring, std::uint64_t size, std::uint64_t tail,
                                 std::uint64_t head, PerfRecords& records) {
  return walk_perf_records(ring, size, tail, head, [&](std::uint32_t type, auto words) {
    note_record(type, words, records);
  });
}

perf_event_attr perf_attributes(std::uint32_t type, std::uint64_t config) {
  perf_event_attr attributes = {};
  attributes.size = sizeof attributes;
  attributes.type = type;
  attributes.config = config;
  attributes.exclude_kernel = 1;
  attributes.exclude_hv = 1;
  attributes.use_clockid = 1;
  attributes.clockid = CLOCK_MONOTONIC;
  attributes.watermark = 1; // no thread waits for this ring
  attributes.wakeup_watermark = ~0u;
  return attributes;
}

std::size_t cpu_clock_record_bytes(bool with_stack) {
  constexpr std::size_t k_registers_only = 200;
  return k_registers_only + (with_stack ? k_stack_kept + 2 * sizeof(std::uint64_t) : 0);
}

perf_event_attr cpu_clock_attributes(std::uint64_t period, bool with_stack) {
  perf_event_attr attributes = perf_attributes(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
  attributes.sample_period = period;
  attributes.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_READ |
                           PERF_SAMPLE_REGS_USER;
  attributes.read_format = PERF_FORMAT_GROUP;
  attributes.sample_regs_user = k_registers;
  if (with_stack) attributes.sample_type |= PERF_SAMPLE_STACK_USER;
  if (with_stack) attributes.sample_stack_user = k_stack_kept;
  return attributes;
}

PerfRing& PerfRing::operator=(PerfRing&& other) noexcept {
  if (this == &other) return *this;
  close();
  fd_ = other.fd_;
  id_ = other.id_;
  control_ = other.control_;
  packets_ = other.packets_;
  bytes_ = other.bytes_;
  other.fd_ = -1;
  other.control_ = nullptr;
  other.packets_ = nullptr;
  return *this;
}

int PerfRing::open(pid_t thread, const perf_event_attr& attributes, std::size_t bytes, int leader) {
  perf_event_attr copy = attributes; // the kernel may write the size that it supports
  fd_ = os().perf_event_open(&copy, thread, -1, leader, PERF_FLAG_FD_CLOEXEC);
  if (fd_ < 0) return errno;
  fd_ = move_up(fd_);
  if (ioctl(fd_, PERF_EVENT_IOC_ID, &id_) != 0) id_ = 0;
  if (rlimit files;
      getrlimit(RLIMIT_NOFILE, &files) == 0 && static_cast<rlim_t>(fd_) >= files.rlim_cur / 4 * 3) {
    close(); // the last quarter of descriptors is for the program
    return EMFILE;
  }
  int refused = 0;
  for (bytes_ = std::bit_ceil(std::max(bytes, page_size())); bytes_ >= page_size(); bytes_ /= 2) {
    void* mapped =
        os().map(nullptr, page_size() + bytes_, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
    if (mapped != MAP_FAILED) {
      control_ = static_cast<perf_event_mmap_page*>(mapped);
      return 0;
    }
    refused = errno;
    if (refused != EPERM && refused != ENOMEM && refused != EAGAIN) break;
  }
  close();
  return refused;
}

int PerfRing::open_packets(std::size_t bytes) {
  control_->aux_offset = page_size() + bytes_;
  control_->aux_size = bytes;
  void* mapped = os().map(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_,
                          static_cast<off_t>(control_->aux_offset));
  if (mapped == MAP_FAILED) return errno;
  packets_ = static_cast<std::uint8_t*>(mapped);
  return 0;
}

void PerfRing::drain(const PerfRecordVisitor& visit) {
  if (!control_) return;
  std::uint64_t head = __atomic_load_n(&control_->data_head, __ATOMIC_ACQUIRE);
  const auto* ring = reinterpret_cast<const std::uint8_t*>(control_) + page_size();
  std::uint64_t tail = walk_perf_records(ring, bytes_, control_->data_tail, head, visit);
  __atomic_store_n(&control_->data_tail, tail, __ATOMIC_RELEASE);
}

void PerfRing::drain(PerfRecords& records) {
  drain([&](std::uint32_t type, auto words) { note_record(type, words, records); });
}

std::vector<std::uint8_t> PerfRing::drain_packets() {
  std::vector<std::uint8_t> bytes;
  if (!packets_) return bytes;
  const std::uint64_t head = __atomic_load_n(&control_->aux_head, __ATOMIC_ACQUIRE);
  const std::uint64_t size = control_->aux_size;
  for (std::uint64_t at = control_->aux_tail; at != head;) {
    const std::uint64_t place = at & (size - 1), count = std::min(head - at, size - place);
    bytes.insert(bytes.end(), packets_ + place, packets_ + place + count);
    at += count;
  }
  __atomic_store_n(&control_->aux_tail, head, __ATOMIC_RELEASE);
  return bytes;
}

double PerfRing::nanoseconds_per_tick() const {
  if (!control_ || !control_->cap_user_time) return 0;
  return static_cast<double>(control_->time_mult) /
         static_cast<double>(std::uint64_t{1} << control_->time_shift);
}

void PerfRing::close() {
  // A forked child may hold the descriptor, and with it the event, until it ends.
  if (fd_ >= 0 && descriptor_is_ours()) ioctl(fd_, PERF_EVENT_IOC_DISABLE, 0);
  if (packets_) os().unmap(packets_, control_->aux_size);
  if (control_) os().unmap(control_, page_size() + bytes_);
  abandon();
}

// Some programs close all descriptors; the number may now be one of their own files.
bool PerfRing::descriptor_is_ours() const {
  std::uint64_t id = 0;
  return id_ == 0 || (ioctl(fd_, PERF_EVENT_IOC_ID, &id) == 0 && id == id_);
}

void PerfRing::abandon() {
  control_ = nullptr;
  packets_ = nullptr;
  if (fd_ >= 0 && descriptor_is_ours()) os().close(fd_);
  fd_ = -1;
}

} // namespace omptier
