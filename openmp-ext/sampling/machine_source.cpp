// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The virtual machine's memory-event unit: every n-th miss of the modelled last-level cache, with
// address, level and latency, read from shared memory without a system call. It corresponds to PEBS
// or IBS on real hardware. The timing plugin writes the records; borders/event_unit.h is all that
// both share.
//
// The unit knows vCPUs, not processes or threads. A record is kept if its pc is in code that this
// process has loaded, and not in this library or its decoder, which is the profiler's own work.
// (Another process with the same code at the same addresses would be taken for this one: a program
// that is not position-independent, run twice at once.) The thread is known where exactly one
// watched thread is bound to the vCPU, else 0.

#include "sampling/machine_source.hpp"

#include "base/kernel_files.hpp"
#include "base/os.hpp"
#include "borders/event_unit.h"
#include "sampling/code_facts.hpp"
#include "sampling/counter_clock.hpp"
#include "sampling/sources.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fcntl.h>
#include <mutex>
#include <new>
#include <sched.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>
#include <vector>

namespace omptier {

namespace {

// Largest difference on the timed machine between a sampled share and the count of all misses.
constexpr double k_unit_error = 0.02;

class MachineSource final : public SampleSource {
public:
  explicit MachineSource(const EventRegion& region);
  ~MachineSource() override { release(); }

  const char* name() const override { return "machine"; }
  Measure measure() const override { return Measure::misses; }
  double worst_error() const override { return k_unit_error; }
  std::string description() const override;
  bool thread_begin(pid_t thread) override;
  void thread_end(pid_t thread) override;
  void drain(SampleSink& sink) override;
  void forked_child() override;

private:
  struct Watched {
    pid_t thread = 0;
    int cpu = -1; // that it is bound to; -1 = not bound to one
    bool ended = false;
  };

  void release();
  void find_threads();
  void skip_old_records();
  void emit(const event_record& record, SampleSink& sink);

  EventRegion region_;
  CounterClock clock_;
  CodeFacts code_;
  std::array<std::uint64_t, EVENT_UNIT_MAX_VCPUS> lost_ = {};      // as reported last
  std::array<std::uint32_t, EVENT_UNIT_MAX_VCPUS> thread_on_ = {}; // 0 = unknown
  std::mutex lock_;
  std::vector<Watched> threads_; // under lock_
};

MachineSource::MachineSource(const EventRegion& region) : region_(region) {
  clock_.start(region.unit->tsc_frequency > 0 ? region.unit->tsc_frequency : 1e9);
  code_.refresh();
  skip_old_records();
}

std::string MachineSource::description() const {
  if (!region_.unit) return "no memory-event unit in a forked child";
  char text[200];
  std::snprintf(text, sizeof text,
                "every %llu-th miss of the modelled last-level cache, by the virtual machine's "
                "memory-event unit (%u vCPUs)",
                static_cast<unsigned long long>(region_.unit->period), region_.unit->vcpus);
  return text;
}

void MachineSource::skip_old_records() {
  for (std::uint32_t vcpu = 0; vcpu < region_.unit->vcpus; ++vcpu) {
    event_ring& ring = region_.unit->rings[vcpu];
    __atomic_store_n(&ring.tail, __atomic_load_n(&ring.head, __ATOMIC_ACQUIRE), __ATOMIC_RELEASE);
    lost_[vcpu] = __atomic_load_n(&ring.lost, __ATOMIC_RELAXED);
  }
}

bool MachineSource::thread_begin(pid_t thread) {
  std::lock_guard guard(lock_);
  threads_.push_back({thread, -1, false});
  return region_.unit != nullptr;
}

void MachineSource::thread_end(pid_t thread) {
  std::lock_guard guard(lock_);
  for (Watched& watched : threads_)
    if (watched.thread == thread) watched.ended = true; // its last records have not been read yet
}

// Maps vCPUs to the one watched thread that is bound to each. Repeated at each drain, because
// runtimes bind late. Threads that have ended are forgotten after the drain that reads their last
// records.
void MachineSource::find_threads() {
  std::lock_guard guard(lock_);
  std::array<unsigned, EVENT_UNIT_MAX_VCPUS> claims = {};
  thread_on_.fill(0);
  for (Watched& watched : threads_) {
    cpu_set_t allowed;
    if (!watched.ended && sched_getaffinity(watched.thread, sizeof allowed, &allowed) == 0) {
      watched.cpu = -1;
      for (int cpu = 0; cpu < EVENT_UNIT_MAX_VCPUS && CPU_COUNT(&allowed) == 1; ++cpu)
        if (CPU_ISSET(cpu, &allowed)) watched.cpu = cpu;
    }
    if (watched.cpu < 0) continue;
    auto cpu = static_cast<std::size_t>(watched.cpu);
    thread_on_[cpu] = ++claims[cpu] == 1 ? static_cast<std::uint32_t>(watched.thread) : 0;
  }
  std::erase_if(threads_, [](const Watched& watched) { return watched.ended; });
}

void MachineSource::emit(const event_record& record, SampleSink& sink) {
  AccessSample sample;
  sample.time = clock_.time_of(record.tsc + static_cast<std::uint64_t>(region_.clock_offset));
  sample.pc = record.pc;
  sample.address = record.virtual_address;
  sample.thread = record.vcpu < EVENT_UNIT_MAX_VCPUS ? thread_on_[record.vcpu] : 0;
  sample.kind = record.flags & EVENT_STORE ? AccessKind::store : AccessKind::load;
  sample.level = record.level == EVENT_LEVEL_MEMORY ? AccessLevel::memory : AccessLevel::unknown;
  code_.add_to(sample);
  sample.streamed = (record.flags & EVENT_STREAMED) != 0;
  sample.by_kernel = (record.flags & EVENT_KERNEL) != 0;
  sample.node = record.node;
  sample.weight = static_cast<float>(region_.unit->period);
  sample.latency = record.latency;
  sink.sample(sample);
}

void MachineSource::drain(SampleSink& sink) {
  if (!region_.unit || event_unit_problem(region_.unit, region_.size)) return;
  find_threads();
  clock_.advance();
  code_.refresh();
  std::array<event_record, 256> records;
  for (std::uint32_t vcpu = 0; vcpu < region_.unit->vcpus; ++vcpu) {
    // At most one ring of records, so that a fast producer cannot keep us here forever.
    for (std::uint64_t left = region_.unit->capacity; left > 0;) {
      std::uint64_t most = std::min<std::uint64_t>(left, records.size());
      std::uint64_t got = event_unit_read(region_.unit, vcpu, records.data(), most);
      for (std::uint64_t i = 0; i < got; ++i)
        if (code_.is_programs(records[i].pc)) emit(records[i], sink);
      left = got == most ? left - got : 0;
    }
    std::uint64_t lost = __atomic_load_n(&region_.unit->rings[vcpu].lost, __ATOMIC_RELAXED);
    if (lost > lost_[vcpu]) sink.lost(lost - lost_[vcpu]);
    lost_[vcpu] = lost;
  }
}

void MachineSource::release() {
  if (region_.mapped) os().unmap(region_.unit, region_.size);
  if (region_.fd >= 0) os().close(region_.fd);
  region_ = {};
}

void MachineSource::forked_child() {
  // A region has one consumer: the parent. A thread that does not exist here may have held lock_.
  release();
  new (&lock_) std::mutex;
  new (&threads_) std::vector<Watched>;
}

bool file_holds(const std::string& path, unsigned wanted) {
  return std::strtoul(read_small_file(path).c_str(), nullptr, 16) == wanted;
}

// Path of the shared memory of the first device that may be the unit; "" = none.
[[maybe_unused]] std::string find_device() {
  constexpr const char* k_devices = "/sys/bus/pci/devices";
  DIR* devices = opendir(k_devices);
  if (!devices) return "";
  std::string found;
  while (const dirent* entry = readdir(devices)) {
    if (entry->d_name[0] == '.') continue;
    std::string device = std::string(k_devices) + "/" + entry->d_name;
    if (!file_holds(device + "/vendor", EVENT_UNIT_PCI_VENDOR)) continue;
    if (!file_holds(device + "/device", EVENT_UNIT_PCI_DEVICE)) continue;
    found = device + "/resource2";
    break;
  }
  closedir(devices);
  return found;
}

} // namespace

std::unique_ptr<SampleSource> make_machine_source(const EventRegion& region) {
  return std::make_unique<MachineSource>(region);
}

std::unique_ptr<SampleSource> open_machine_source(std::string& why) {
#if !defined(__x86_64__)
  why = "memory-event unit: not on this architecture";
  return nullptr;
#else
  std::string path = find_device();
  if (path.empty()) {
    why = "no memory-event unit";
    return nullptr;
  }
  EventRegion region;
  region.size = EVENT_UNIT_SIZE;
  region.fd = os().open(path.c_str(), O_RDWR | O_CLOEXEC, 0);
  auto refuse = [&](const std::string& reason) {
    why = "memory-event unit: " + reason;
    if (region.mapped) os().unmap(region.unit, region.size);
    if (region.fd >= 0) os().close(region.fd);
    return nullptr;
  };
  if (region.fd < 0) return refuse(path + ": " + strerrordesc_np(errno));
  if (flock(region.fd, LOCK_EX | LOCK_NB) != 0) return refuse("another process reads it");
  void* mapped = os().map(nullptr, region.size, PROT_READ | PROT_WRITE, MAP_SHARED, region.fd, 0);
  if (mapped == MAP_FAILED) return refuse(strerrordesc_np(errno));
  region.unit = static_cast<event_unit*>(mapped);
  region.mapped = true;
  if (const char* problem = event_unit_problem(region.unit, region.size)) return refuse(problem);
  std::uint64_t window = 0;
  region.clock_offset = event_unit_clock_offset(region.unit, &window);
  if (window == ~std::uint64_t{0}) return refuse("the time model does not answer");
  return make_machine_source(region);
#endif
}

} // namespace omptier
