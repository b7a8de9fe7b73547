// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A fixed amount of work by two bound threads, sampled or not: what sampling alone costs, without
// the rest of the recorder.
//
//   sampled_kernels memory|compute [SOURCE [RATE]]      SOURCE: perf or timer; RATE in Hz, default
//   100
//
// memory: random loads from 256 MB; compute: multiplications in registers and the cache. With a
// source, a helper thread drains it every 50 ms, as the recorder's does.

#include "sampling/source.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <pthread.h>
#include <sched.h>
#include <string>
#include <sys/mman.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr std::size_t k_elements = (256 << 20) / sizeof(double);
constexpr unsigned k_threads = 2;

struct Count final : omptier::SampleSink {
  std::uint64_t samples = 0, dropped = 0;
  void sample(const omptier::AccessSample&) override { ++samples; }
  void lost(std::uint64_t count) override { dropped += count; }
};

double work(bool memory, const double* data, unsigned thread) {
  std::uint64_t state = 88172645463325252u + thread;
  double sum = 0;
  std::uint64_t iterations = memory ? 100'000'000 : 600'000'000;
  std::size_t mask = memory ? k_elements - 1 : 1023;
  for (std::uint64_t i = 0; i < iterations; ++i) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    sum = sum * 0.999 + data[(state >> 8) & mask];
  }
  return sum;
}

} // namespace

int main(int count, char** arguments) {
  std::string kernel = count > 1 ? arguments[1] : "";
  if (kernel != "memory" && kernel != "compute") {
    std::fprintf(stderr, "usage: sampled_kernels memory|compute [perf|timer [RATE]]\n");
    return 2;
  }
  void* memory = mmap(nullptr, k_elements * sizeof(double), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 125;
  madvise(memory, k_elements * sizeof(double), MADV_HUGEPAGE);
  auto* data = static_cast<double*>(memory);
  for (std::size_t i = 0; i < k_elements; ++i)
    data[i] = 1;

  std::unique_ptr<omptier::SampleSource> source;
  std::string why;
  if (count > 2) {
    source = omptier::open_sample_source(
        {arguments[2], count > 3 ? std::atof(arguments[3]) : 100.0}, why);
    if (!source) {
      std::fprintf(stderr, "sampled_kernels: %s\n", why.c_str());
      return 125;
    }
  }
  std::atomic<bool> done = false;
  Count sink;
  std::thread helper;
  if (source)
    helper = std::thread([&] {
      while (!done) {
        source->drain(sink);
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
      }
      source->drain(sink);
    });
  std::vector<std::thread> threads;
  std::atomic<double> total = 0;
  for (unsigned i = 0; i < k_threads; ++i)
    threads.emplace_back([&, i] {
      cpu_set_t one;
      CPU_ZERO(&one);
      CPU_SET(i % std::thread::hardware_concurrency(), &one);
      sched_setaffinity(0, sizeof one, &one);
      if (source) source->thread_begin(gettid());
      total = total + work(kernel == "memory", data, i);
      if (source) source->thread_end(gettid());
    });
  for (std::thread& thread : threads)
    thread.join();
  done = true;
  if (helper.joinable()) helper.join();
  std::printf("%g; %llu samples, %llu lost\n", total.load(),
              static_cast<unsigned long long>(sink.samples),
              static_cast<unsigned long long>(sink.dropped));
  return source && sink.samples == 0 ? 1 : 0;
}
