// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Another OMPT tool beside ours. libomp starts one tool only, so ours starts the next: the first
// after it in OMP_TOOL_LIBRARIES that accepts, else Archer if ThreadSanitizer is in the program, as
// libomp does. The other tool gets the runtime's own entry points; only the callbacks that we also
// need are kept here and called from ours. All ompt_data_t of the runtime belong to the other tool;
// our numbers of regions are in RegionNotes.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <omp-tools.h>

namespace omptier {

class OtherTool { // one per process
public:
  // Finds the tool; called while libomp looks for tools.
  void find(unsigned omp_version, const char* runtime_version);
  // False: there is none, or it declined.
  bool initialize(ompt_function_lookup_t runtime, int device);
  void finalize();
  bool active() const { return active_; }

  // Null if the tool has none for the event.
  template <typename Callback> Callback callback(ompt_callbacks_t event) const {
    const auto index = static_cast<unsigned>(event);
    return reinterpret_cast<Callback>(shared_[index].load(std::memory_order_acquire));
  }

private:
  static ompt_interface_fn_t look_up(const char* name);
  static ompt_set_result_t set_callback(ompt_callbacks_t event, ompt_callback_t callback);
  static int get_callback(ompt_callbacks_t event, ompt_callback_t* callback);

  ompt_start_tool_result_t* tool_ = nullptr;
  ompt_function_lookup_t runtime_ = nullptr;
  bool active_ = false;
  // By event number; ours are begin and end of threads and parallel regions, and barriers.
  std::array<std::atomic<ompt_callback_t>, ompt_callback_sync_region + 1> shared_{};
};

// By the address of the runtime's datum for each region.
class RegionNotes {
public:
  // If the table is full, the number is dropped, and take returns 0.
  void note(const ompt_data_t* region, std::uint64_t number);
  std::uint64_t take(const ompt_data_t* region);
  // In a forked child: the regions of other threads never end.
  void clear();

private:
  struct Note {
    std::atomic<const ompt_data_t*> region{nullptr};
    std::uint64_t number = 0;
  };
  std::array<Note, 256> notes_;
};

} // namespace omptier
