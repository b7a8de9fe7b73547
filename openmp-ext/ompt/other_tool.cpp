// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The runtime's look-up and set functions take no argument of ours: OtherTool is a global here.
#include "ompt/other_tool.hpp"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <string_view>

namespace omptier {
namespace {

using StartTool = ompt_start_tool_result_t* (*)(unsigned, const char*);

std::atomic<OtherTool*> g_tool{nullptr};

StartTool start_function(const std::string& library) {
  void* handle = library.empty() ? nullptr : dlopen(library.c_str(), RTLD_LAZY);
  return handle != nullptr ? reinterpret_cast<StartTool>(dlsym(handle, "ompt_start_tool"))
                           : nullptr;
}

// Compared by address: the name is the same, since libomp itself has a symbol of that name.
bool is_ours(StartTool start) {
  Dl_info it, we;
  return dladdr(reinterpret_cast<void*>(start), &it) != 0 && dladdr(&g_tool, &we) != 0 &&
         it.dli_fbase == we.dli_fbase;
}

constexpr bool is_shared(ompt_callbacks_t event) {
  return (event >= ompt_callback_thread_begin && event <= ompt_callback_parallel_end) ||
         event == ompt_callback_sync_region;
}

} // namespace

void OtherTool::find(unsigned omp_version, const char* runtime_version) {
  const char* list = std::getenv("OMP_TOOL_LIBRARIES");
  std::string_view rest = list != nullptr ? list : "";
  bool behind_us = false; // libomp has tried those in front, and they declined
  while (!rest.empty() && tool_ == nullptr) {
    const std::size_t colon = rest.find(':');
    const StartTool start = start_function(std::string(rest.substr(0, colon)));
    rest.remove_prefix(colon == std::string_view::npos ? rest.size() : colon + 1);
    if (start == nullptr) continue;
    if (is_ours(start))
      behind_us = true;
    else if (behind_us)
      tool_ = start(omp_version, runtime_version);
  }
  if (tool_ != nullptr || dlsym(RTLD_DEFAULT, "__tsan_func_entry") == nullptr) return;
  if (const StartTool archer = start_function("libarcher.so"))
    tool_ = archer(omp_version, runtime_version);
}

bool OtherTool::initialize(ompt_function_lookup_t runtime, int device) {
  if (tool_ == nullptr) return false;
  runtime_ = runtime;
  g_tool.store(this, std::memory_order_release);
  active_ = tool_->initialize(&OtherTool::look_up, device, &tool_->tool_data) != 0;
  if (!active_)
    for (auto& callback : shared_)
      callback.store(nullptr, std::memory_order_release);
  return active_;
}

void OtherTool::finalize() {
  if (active_) tool_->finalize(&tool_->tool_data);
  active_ = false;
}

ompt_interface_fn_t OtherTool::look_up(const char* name) {
  if (std::strcmp(name, "ompt_set_callback") == 0)
    return reinterpret_cast<ompt_interface_fn_t>(&OtherTool::set_callback);
  if (std::strcmp(name, "ompt_get_callback") == 0)
    return reinterpret_cast<ompt_interface_fn_t>(&OtherTool::get_callback);
  return g_tool.load(std::memory_order_acquire)->runtime_(name);
}

ompt_set_result_t OtherTool::set_callback(ompt_callbacks_t event, ompt_callback_t callback) {
  OtherTool& tool = *g_tool.load(std::memory_order_acquire);
  if (is_shared(event)) {
    tool.shared_[event].store(callback, std::memory_order_release);
    return ompt_set_always;
  }
  const auto set = reinterpret_cast<ompt_set_callback_t>(tool.runtime_("ompt_set_callback"));
  return set(event, callback);
}

int OtherTool::get_callback(ompt_callbacks_t event, ompt_callback_t* callback) {
  OtherTool& tool = *g_tool.load(std::memory_order_acquire);
  if (is_shared(event)) {
    *callback = tool.shared_[event].load(std::memory_order_acquire);
    return *callback != nullptr ? 1 : 0;
  }
  const auto get = reinterpret_cast<ompt_get_callback_t>(tool.runtime_("ompt_get_callback"));
  return get(event, callback);
}

void RegionNotes::note(const ompt_data_t* region, std::uint64_t number) {
  if (number == 0) return;
  for (Note& note : notes_) {
    const ompt_data_t* none = nullptr;
    if (!note.region.compare_exchange_strong(none, region, std::memory_order_acquire)) continue;
    note.number = number;
    return;
  }
}

// A region begins and ends on the same thread, so no other thread uses its note.
std::uint64_t RegionNotes::take(const ompt_data_t* region) {
  for (Note& note : notes_) {
    if (note.region.load(std::memory_order_relaxed) != region) continue;
    const std::uint64_t number = note.number;
    note.region.store(nullptr, std::memory_order_release);
    return number;
  }
  return 0;
}

void RegionNotes::clear() {
  for (Note& note : notes_)
    note.region.store(nullptr, std::memory_order_relaxed);
}

} // namespace omptier
