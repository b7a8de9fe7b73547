// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One interface for all sources of memory-access samples: exact counts, the virtual machine's
// memory-event unit, the processor's events (PEBS, IBS, SPE), perf CPU_CLOCK rings with operand
// decoding, and timers of thread CPU time. The recorder passes it the threads that run; one helper
// thread drains it, never the threads that it watches.
#pragma once

#include "objects/access.hpp"
#include "objects/loop_counts.hpp"
#include "objects/pattern.hpp"
#include "objects/reuse.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <sys/types.h>

namespace omptier {

class SampleSink {
public:
  virtual void sample(const AccessSample& sample) = 0;
  virtual void lost(std::uint64_t count) = 0;
  // Only from sources that know amount and steps of accesses.
  virtual void pattern(const AccessPattern&) {}
  // Only from sources that can watch addresses.
  virtual void reuse(const AddressReuse&) {}
  // Samples whose loops were handled so far; only from sources that emulate them.
  virtual void emulated(const LoopCounts&) {}

protected:
  ~SampleSink() = default;
};

class SampleSource {
public:
  virtual ~SampleSource() = default;
  virtual const char* name() const = 0; // "exact", "machine", "hardware", "perf", "timer"
  virtual Measure measure() const = 0;
  virtual double worst_error() const = 0;      // largest error to assume for a share, as a fraction
  virtual std::string description() const = 0; // for the report, one line: what, rate, limits
  // Called on the watched thread when it begins or ends, which must not be slowed down: no
  // decoding, at most a few system calls. False: the thread cannot be watched (reported once).
  virtual bool thread_begin(pid_t thread) = 0;
  virtual void thread_end(pid_t thread) = 0;
  // A new thread is watched only from the next drain on, so the caller should drain soon.
  virtual bool watches_when_drained() const { return false; }
  // Passes everything collected so far to the sink. Helper thread only.
  virtual void drain(SampleSink& sink) = 0;
  // A source that counts every access attributes it to objects and regions. It needs calls when a
  // block has been recorded as live, is about to be recorded as freed, and when a region's begin or
  // end has been recorded (0: outside). One call at a time.
  virtual bool wants_objects() const { return false; }
  virtual void object_begin(std::uint64_t, std::uint64_t) {}
  virtual void object_end(std::uint64_t) {}
  virtual void region_changed(std::uint64_t) {}
  // After fork, in the child: drops the parent's state without touching it.
  virtual void forked_child() = 0;
};

struct SourceRequest {
  std::string which; // name of a source, "auto" or "none" (OMPTIER_EVENTS)
  double rate = 100; // timer samples per second of CPU time of a thread
};

// Whether instructions of this architecture are decoded, as samples of time (perf, timer) require.
inline constexpr bool k_decodes_instructions =
#if defined(__x86_64__)
    true;
#else
    false;
#endif

// The best source that works here, in the order exact, machine, hardware, perf, timer; null for
// "none" or if nothing works. why: one line with the choice and the reasons against better ones.
std::unique_ptr<SampleSource> open_sample_source(const SourceRequest& request, std::string& why);

} // namespace omptier
