// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Frames are split into module and offset when a stack first occurs, because the module may be
// unloaded at the end. Only the end calls malloc.
#include "allocators/site_list.hpp"

#include "base/leaky.hpp"
#include "base/notices.hpp"
#include "objects/stack.hpp"
#include "plan/plan.hpp"

#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <stdexcept>
#include <unistd.h>

namespace omptier {
namespace {

Leaky<SiteList> site_storage;

std::uint32_t number_of(Plan& plan, const LoadedModule& module) {
  const char* identity = identity_of(module);
  for (std::uint32_t i = 0; i < plan.modules.size(); ++i)
    if (plan.modules[i].identity == identity) return i;
  plan.modules.push_back({identity, module.name});
  return static_cast<std::uint32_t>(plan.modules.size() - 1);
}

bool write_file(const std::string& path, const std::string& text) {
  const int fd = os().open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (fd < 0) return false;
  std::size_t done = 0;
  for (ssize_t written = 1; done < text.size() && written > 0;
       done += written > 0 ? static_cast<std::size_t>(written) : 0)
    written = os().write(fd, text.data() + done, text.size() - done);
  return os().close(fd) == 0 && done == text.size();
}

} // namespace

SiteList& site_list() {
  static SiteList& list = site_storage.make();
  return list;
}

SiteList::SeenSite* SiteList::site_of(const void* caller) {
  ReturnAddress stack[k_max_frames];
  const unsigned count = capture_stack(caller, stack, frames_to_keep());
  if (sites_ == nullptr) sites_ = arena_.take_array<SeenSite>(k_most_sites);
  bool fresh = false;
  const std::uint32_t number = stacks_.number_of(stack, count, fresh);
  if (sites_ == nullptr || number >= k_most_sites) {
    warn_once(Notice::sites_left_out,
              "OMPTIER_SITES: only the first %u call stacks are listed; a smaller OMPTIER_DEPTH "
              "makes fewer of them.",
              sites_ != nullptr ? std::min(stacks_.count(), k_most_sites) : 0);
    return nullptr;
  }
  SeenSite& site = sites_[number];
  if (!fresh) return &site;
  site.frames = arena_.take_array<SeenFrame>(count);
  for (unsigned i = 0; site.frames != nullptr && i < count; ++i) {
    SeenFrame frame{};
    if (!identify(stack[i], frame.module, frame.offset)) break;
    // A stack of system or runtime frames only is not one of the program's sites.
    if (frame.module->system || frame.module->runtime) break;
    site.frames[site.frame_count++] = frame;
  }
  return &site;
}

void SiteList::add(const void* block, std::size_t bytes, const void* caller) {
  const std::lock_guard guard(lock_);
  SeenSite* site = site_of(caller);
  if (site == nullptr) return;
  site->blocks += 1;
  site->live += bytes;
  site->peak = std::max(site->peak, site->live);
  site->largest = std::max<std::uint64_t>(site->largest, bytes);
  StockBlock entry;
  entry.begin = reinterpret_cast<std::uintptr_t>(block);
  entry.bytes = bytes;
  entry.allocator = static_cast<std::uint32_t>(site - sites_);
  live_.add(entry);
}

void SiteList::remove(const void* block) {
  if (live_.empty()) return;
  const std::lock_guard guard(lock_);
  StockBlock entry;
  if (live_.remove(block, entry)) sites_[entry.allocator].live -= entry.bytes;
}

void SiteList::write(const char* path) {
  const std::lock_guard guard(lock_);
  if (sites_ == nullptr) return;
  try {
    Plan plan;
    plan.made_by = "omptier sites";
    if (module_count() > 0) plan.program = module_at(0).name;
    std::map<std::vector<std::pair<std::uint32_t, std::uint64_t>>, SeenSite> merged;
    for (std::uint32_t i = 0; i < std::min(stacks_.count(), k_most_sites); ++i) {
      const SeenSite& site = sites_[i];
      if (site.frame_count == 0) continue;
      std::vector<std::pair<std::uint32_t, std::uint64_t>> frames;
      for (unsigned f = 0; f < site.frame_count; ++f)
        frames.emplace_back(number_of(plan, *site.frames[f].module), site.frames[f].offset);
      SeenSite& sum = merged[frames];
      sum.blocks += site.blocks;
      sum.peak += site.peak;
      sum.largest = std::max(sum.largest, site.largest);
    }
    for (const auto& [frames, site] : merged) {
      PlanEntry entry;
      for (const auto& [module, offset] : frames)
        entry.frames.push_back({module, offset, {}});
      entry.kinds = {MemoryKind::dram};
      entry.bytes = site.peak;
      entry.reason = std::to_string(site.blocks) + (site.blocks == 1 ? " block" : " blocks") +
                     ", the largest of " + std::to_string(site.largest) + " bytes";
      plan.entries.push_back(std::move(entry));
    }
    std::ranges::stable_sort(plan.entries, std::greater{}, &PlanEntry::bytes);
    if (plan.entries.empty()) return;
    const std::string file = std::string(path) + "." + std::to_string(::getpid());
    // Paths of the modules' files: plans do not hold them, but `omptier sites` needs them.
    std::string paths;
    for (const PlanModule& module : plan.modules)
      for (unsigned number = 0; number < module_count(); ++number)
        if (module.identity == identity_of(module_at(number))) {
          paths += std::string(module_at(number).path) + "\n";
          break;
        }
    if (!write_file(file, write_plan(plan)) || !write_file(file + ".modules", paths))
      throw std::runtime_error(file + ": cannot be written");
  } catch (const std::exception& error) {
    warn_once(Notice::sites_unwritable, "OMPTIER_SITES: %s.", error.what());
  }
}

} // namespace omptier
