// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Logs memory without recorded allocations: modules and their data, the threads' stacks, the heap
// as a whole. Modules are polled for, so a new one begins at the previous poll. One thread at a
// time.
#pragma once

#include "base/os.hpp"
#include "log/writer.hpp"
#include "objects/modules.hpp"

#include <cstdint>
#include <mutex>

namespace omptier {

class MemoryAreas {
public:
  // In a new process or log; now: monotonic.
  void restart(std::uint64_t now);

  // Logs modules that came and went since the last call, and how far the heap has grown.
  // name(module) registers a module in the log; it is called under the mutex, so it must not wait
  // for the loader's lock.
  template <typename Name> void look(LogWriter& log, std::mutex& mutex, Name&& name) {
    const std::uint64_t now = monotonic_nanoseconds();
    look_at_heap(log, now);
    if (!modules_have_changed()) return void(last_look_ = now);
    const std::lock_guard<std::mutex> guard(mutex);
    for (unsigned number = 0; number < module_count(); ++number) {
      const LoadedModule& module = module_at(number);
      if (module.loaded.load(std::memory_order_relaxed) == logged_[number] ||
          !module.is_identified())
        continue;
      if (!logged_[number]) name(module);
      tell(log, module, now);
    }
    last_look_ = now;
  }

  // For the calling thread's stack.
  static void thread_begin(LogWriter& log, std::uint32_t thread);
  static void thread_end(LogWriter& log, std::uint32_t thread);

private:
  bool modules_have_changed();
  void tell(LogWriter& log, const LoadedModule& module, std::uint64_t now);
  void look_at_heap(LogWriter& log, std::uint64_t now);

  std::uint64_t last_look_ = 0;
  std::uint32_t generation_ = 0;
  std::uintptr_t heap_begin_ = 0, heap_end_ = 0; // begin 0: not looked for yet; 1: cannot be known
  bool logged_[k_max_modules] = {};              // by number: the log holds it as loaded
};

} // namespace omptier
