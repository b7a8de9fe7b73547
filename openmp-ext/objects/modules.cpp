// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See modules.hpp. The list changes only inside dl_iterate_phdr callbacks, so the loader's own
// lock, held from the first callback of a pass to the last, is the only one. Readers see an entry
// after the count that covers it has been stored.
#include "objects/modules.hpp"

#include "base/hex.hpp"
#include "base/page_arena.hpp"

#include <algorithm>
#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <elf.h>
#include <link.h>
#include <pthread.h>
#include <sys/auxv.h>
#include <time.h>
#include <unistd.h>

namespace omptier {
namespace {

struct ModuleList {
  std::atomic<unsigned> count{0};
  std::atomic<std::uint32_t> generation{0};
  std::atomic<unsigned long long> adds{0}, subs{0}; // the loader's counters at the last pass
  std::atomic<std::uint32_t> pass{0};
  std::atomic<LoadedModule*> entries[k_max_modules] = {};
  PageArena arena;
};
// Constant-initialised, no destructor: usable before constructors and after destructors have run.
constinit ModuleList g_modules;

// Number of threads inside the loader's list, and the thread that forks (0: none).
struct Gate {
  std::atomic<std::uint32_t> inside{0};
  std::atomic<pthread_t> forking{0};
};
constinit Gate g_gate;
constexpr std::uint64_t k_longest_wait = 1'000'000'000; // nanoseconds

struct Pass {
  bool first = true;
  bool changed = false;
  std::uint32_t number = 0; // when changed
};

bool read_build_id(const char* note, std::size_t bytes, char* identity) {
  const char* end = note + bytes;
  while (note + sizeof(ElfW(Nhdr)) <= end) {
    ElfW(Nhdr) header;
    std::memcpy(&header, note, sizeof header);
    const char* name = note + sizeof header;
    const char* description = name + ((header.n_namesz + 3) & ~3u);
    const char* next = description + ((header.n_descsz + 3) & ~3u);
    if (next > end || next <= note) return false;
    if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 &&
        std::memcmp(name, "GNU", 4) == 0 && header.n_descsz > 0) {
      write_build_id(identity, description, header.n_descsz);
      return true;
    }
    note = next;
  }
  return false;
}

const char* path_of(const dl_phdr_info& info, bool program) {
  if (!program) return info.dlpi_name != nullptr ? info.dlpi_name : "";
  static char path[PATH_MAX]; // one pass at a time, under the loader's lock
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
  path[length > 0 ? length : 0] = 0;
  // Without /proc: the path that started the program, valid if its folder is still the current one.
  if (length <= 0 && realpath(reinterpret_cast<const char*>(getauxval(AT_EXECFN)), path) == nullptr)
    path[0] = 0;
  return path;
}

void add_module(const dl_phdr_info& info, bool program) {
  const unsigned number = g_modules.count.load(std::memory_order_relaxed);
  if (number == k_max_modules) return;
  void* memory = g_modules.arena.take(sizeof(LoadedModule));
  if (memory == nullptr) return;
  auto* module = new (memory) LoadedModule;
  module->number = number;
  module->bias = info.dlpi_addr;
  module->path = g_modules.arena.copy(path_of(info, program));
  const char* slash = std::strrchr(module->path, '/');
  module->name = slash != nullptr ? slash + 1 : module->path;
  module->begin = UINTPTR_MAX;
  for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info.dlpi_phdr[i];
    const std::uintptr_t address = info.dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_LOAD) {
      if (address < module->begin) module->begin = address;
      const std::uintptr_t end = address + segment.p_memsz;
      if (end > module->end) module->end = end;
      if ((segment.p_flags & PF_W) == 0) continue;
      if (module->data_end == 0 || address < module->data_begin) module->data_begin = address;
      if (end > module->data_end) module->data_end = end;
    } else if (segment.p_type == PT_GNU_EH_FRAME) {
      module->unwind_table = reinterpret_cast<const std::uint8_t*>(address);
    } else if (segment.p_type == PT_NOTE && module->identified.load() == 0 &&
               read_build_id(reinterpret_cast<const char*>(address), segment.p_memsz,
                             module->identity)) {
      module->identified.store(2);
    }
  }
  const bool kernel = module->path[0] != '/'; // linux-vdso.so.1
  module->system = !program && (kernel || is_system_path(module->path));
  module->language = module->system && (kernel || is_language_name(module->name));
  module->runtime = !program && is_runtime_name(module->name);
  module->loaded.store(true, std::memory_order_relaxed);
  module->seen.store(g_modules.pass.load(std::memory_order_relaxed), std::memory_order_relaxed);
  g_modules.entries[number].store(module, std::memory_order_release);
  g_modules.count.store(number + 1, std::memory_order_release);
}

std::uintptr_t first_address(const dl_phdr_info& info) {
  std::uintptr_t begin = UINTPTR_MAX;
  for (unsigned i = 0; i < info.dlpi_phnum; ++i) {
    const std::uintptr_t address = info.dlpi_addr + info.dlpi_phdr[i].p_vaddr;
    if (info.dlpi_phdr[i].p_type == PT_LOAD && address < begin) begin = address;
  }
  return begin;
}

LoadedModule* find_known(const dl_phdr_info& info, bool program) {
  const unsigned count = g_modules.count.load(std::memory_order_acquire);
  if (program) return count > 0 ? g_modules.entries[0].load() : nullptr;
  const char* name = info.dlpi_name != nullptr ? info.dlpi_name : "";
  for (unsigned i = 1; i < count; ++i) {
    LoadedModule* module = g_modules.entries[i].load(std::memory_order_relaxed);
    if (module->loaded.load(std::memory_order_relaxed) && module->bias == info.dlpi_addr &&
        module->begin == first_address(info) && std::strcmp(module->path, name) == 0)
      return module;
  }
  return nullptr;
}

int visit_module(dl_phdr_info* info, std::size_t, void* argument) {
  auto* pass = static_cast<Pass*>(argument);
  const bool program = pass->first;
  if (pass->first) {
    pass->first = false;
    if (g_modules.count.load(std::memory_order_relaxed) > 0 &&
        g_modules.adds.load(std::memory_order_relaxed) == info->dlpi_adds &&
        g_modules.subs.load(std::memory_order_relaxed) == info->dlpi_subs)
      return 1; // nothing has changed: stop
    g_modules.adds.store(info->dlpi_adds, std::memory_order_relaxed);
    g_modules.subs.store(info->dlpi_subs, std::memory_order_relaxed);
    pass->number = g_modules.pass.fetch_add(1, std::memory_order_relaxed) + 1;
    pass->changed = true;
  }
  if (LoadedModule* known = find_known(*info, program))
    known->seen.store(g_modules.pass.load(std::memory_order_relaxed), std::memory_order_relaxed);
  else
    add_module(*info, program);
  return 0;
}

// Nothing marks the end of a pass, so unloaded modules are found by a completed pass's number.
// While another thread's pass is under way, every loaded module has at least this number.
void mark_unloaded(std::uint32_t pass) {
  const unsigned count = g_modules.count.load(std::memory_order_acquire);
  for (unsigned i = 0; i < count; ++i) {
    LoadedModule* module = g_modules.entries[i].load(std::memory_order_relaxed);
    if (module->seen.load(std::memory_order_relaxed) < pass)
      module->loaded.store(false, std::memory_order_relaxed);
  }
}

const LoadedModule* find(std::uintptr_t address) {
  const unsigned count = g_modules.count.load(std::memory_order_acquire);
  for (unsigned i = 0; i < count; ++i) {
    const LoadedModule* module = g_modules.entries[i].load(std::memory_order_relaxed);
    if (address >= module->begin && address < module->end &&
        module->loaded.load(std::memory_order_relaxed))
      return module;
  }
  return nullptr;
}

void write_hash(const LoadedModule& module, std::uint64_t hash) {
  write_segments_id(module.identity, hash);
  module.identified.store(2, std::memory_order_release);
  module.identified.notify_all();
}

bool may_identify(const LoadedModule& module) {
  std::uint32_t state = 0;
  return module.identified.compare_exchange_strong(state, 1);
}

int hash_module(dl_phdr_info* info, std::size_t, void* argument) {
  const auto& module = *static_cast<const LoadedModule*>(argument);
  if (info->dlpi_addr != module.bias || first_address(*info) != module.begin) return 0;
  if (!may_identify(module)) return 1;
  std::uint64_t hash = 0;
  for (unsigned i = 0; i < info->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = info->dlpi_phdr[i];
    if (segment.p_type == PT_LOAD && (segment.p_flags & PF_X) != 0)
      hash = hash_bytes(hash, reinterpret_cast<const void*>(info->dlpi_addr + segment.p_vaddr),
                        segment.p_filesz);
  }
  write_hash(module, hash);
  return 1;
}

bool starts_with(const char* text, const char* prefix) {
  return std::strncmp(text, prefix, std::strlen(prefix)) == 0;
}

// sched_yield by a SCHED_FIFO thread would let no lower priority run.
void let_others_run() {
  const NotCancelled meanwhile;
  const timespec moment{0, 50'000};
  ::clock_nanosleep(CLOCK_MONOTONIC, 0, &moment, nullptr);
}

} // namespace

// Increments, then reads forking; the forking thread does the opposite, so one sees the other.
ModuleListUse::ModuleListUse()
    : entered_((g_gate.inside.fetch_add(1), g_gate.forking.load() == 0)) {
  if (!entered_) g_gate.inside.fetch_sub(1);
}

ModuleListUse::~ModuleListUse() {
  if (entered_) g_gate.inside.fetch_sub(1);
}

void close_modules_for_fork() {
  const std::uint64_t end = monotonic_nanoseconds() + k_longest_wait;
  pthread_t none = 0;
  while (!g_gate.forking.compare_exchange_weak(none, pthread_self()) &&
         monotonic_nanoseconds() < end) {
    none = 0;
    let_others_run();
  }
  while (g_gate.inside.load() != 0 && monotonic_nanoseconds() < end)
    let_others_run();
}

void open_modules_after_fork(bool in_child) {
  if (in_child) { // threads that were inside do not exist in the child
    g_gate.inside.store(0);
    for (unsigned i = 0; i < module_count(); ++i) {
      std::uint32_t being_made = 1;
      module_at(i).identified.compare_exchange_strong(being_made, 0);
    }
  } else if (g_gate.forking.load() != pthread_self()) {
    return;
  }
  g_gate.forking.store(0);
}

void refresh_modules() {
  const ModuleListUse use;
  if (!use) return;
  Pass pass;
  dl_iterate_phdr(visit_module, &pass);
  if (!pass.changed) return;
  mark_unloaded(pass.number);
  g_modules.generation.fetch_add(1, std::memory_order_release);
}

const LoadedModule* module_of(std::uintptr_t address) {
  refresh_modules();
  return find(address);
}

const LoadedModule* known_module_of(std::uintptr_t address) {
  return find(address);
}

unsigned module_count() {
  return g_modules.count.load(std::memory_order_acquire);
}

const LoadedModule& module_at(unsigned number) {
  return *g_modules.entries[number].load(std::memory_order_relaxed);
}

std::uint32_t module_generation() {
  return g_modules.generation.load(std::memory_order_acquire);
}

// Hashes with the loader's lock held, so no thread here waits for another that waits for that lock.
const char* identity_of(const LoadedModule& module, const ModuleListUse&) {
  if (!module.is_identified())
    dl_iterate_phdr(hash_module, const_cast<LoadedModule*>(&module));
  if (may_identify(module)) write_hash(module, 0); // it has been unloaded meanwhile
  for (std::uint32_t state; (state = module.identified.load(std::memory_order_acquire)) != 2;)
    module.identified.wait(state);
  return module.identity;
}

// Waits while another thread forks; the forking thread itself is alone here.
const char* identity_of(const LoadedModule& module) {
  while (!module.is_identified()) {
    const ModuleListUse use;
    if (use || g_gate.forking.load() == pthread_self()) return identity_of(module, use);
    let_others_run();
  }
  return module.identity;
}

bool identify(ReturnAddress address, const LoadedModule*& module, std::uint64_t& offset) {
  module = module_of(address);
  if (module == nullptr) return false;
  offset = address - module->bias;
  return true;
}

void write_build_id(char* identity, const void* bytes, std::size_t count) {
  *write_hex(stpcpy(identity, "build-id:"), bytes, std::min(count, k_longest_build_id)) = '\0';
}

void write_segments_id(char* identity, std::uint64_t hash) {
  unsigned char bytes[8]; // most significant first
  for (unsigned i = 0; i < 8; ++i)
    bytes[i] = static_cast<unsigned char>(hash >> (56 - 8 * i));
  *write_hex(stpcpy(identity, "segments:"), bytes, sizeof bytes) = '\0';
}

std::uint64_t hash_bytes(std::uint64_t seed, const void* bytes, std::size_t count) {
  std::uint64_t hash = seed ^ 0x9e3779b97f4a7c15u;
  const char* next = static_cast<const char*>(bytes);
  for (; count > 0;) {
    std::uint64_t word = 0;
    const std::size_t step = count < sizeof word ? count : sizeof word;
    std::memcpy(&word, next, step);
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
    next += step;
    count -= step;
  }
  return hash;
}

bool is_system_path(const char* path) {
  return starts_with(path, "/lib/") || starts_with(path, "/lib64/") ||
         starts_with(path, "/usr/lib/") || starts_with(path, "/usr/lib64/") ||
         starts_with(path, "/lib32/") || starts_with(path, "/usr/lib32/");
}

bool is_language_name(const char* name) {
  for (const char* language :
       {"ld-linux",  "ld64.so",     "libc.so",     "libc-",     "libm.so",
        "libm-",     "libmvec",     "libpthread",  "libdl",     "librt",
        "libanl",    "libresolv",   "libgcc_s",    "libstdc++", "libc++",
        "libatomic", "libgfortran", "libquadmath", "libflang",  "libFortran"})
    if (starts_with(name, language)) return true;
  return false;
}

bool is_runtime_name(const char* name) {
  return starts_with(name, "libomp.so") || starts_with(name, "libomp-") ||
         starts_with(name, "libiomp5.so") || starts_with(name, "libgomp.so") ||
         starts_with(name, "libomptier");
}

bool is_support_name(const char* name) {
  return starts_with(name, "libhwloc.so") || starts_with(name, "hwloc_") ||
         starts_with(name, "libnuma.so") || starts_with(name, "libmemkind.so");
}

} // namespace omptier
