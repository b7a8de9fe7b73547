// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception

#include "sampling/hardware_events.hpp"

#include "base/kernel_files.hpp"
#include "base/os.hpp"
#include "sampling/memory_event.hpp"
#include "sampling/perf_ring.hpp"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <perfmon/pfmlib_perf_event.h>
#include <unistd.h>

namespace omptier {

namespace {

// Loads with a latency of at least 30 cycles, which leaves out hits in the first two cache levels.
constexpr const char* k_loads = "MEM_TRANS_RETIRED:LOAD_LATENCY:ldlat=30";
constexpr const char* k_stores[] = {"MEM_INST_RETIRED:ALL_STORES",  // from Skylake
                                    "MEM_UOPS_RETIRED:ALL_STORES"}; // before
// From Alder Lake and Sapphire Rapids on, loads are sampled only in a group with this leader.
constexpr std::uint64_t k_load_leader = 0x8203;
constexpr std::uint64_t k_spe_timestamps = 1, k_spe_loads = std::uint64_t{1} << 33,
                        k_spe_stores = std::uint64_t{1} << 34;

std::string file_of_device(const char* file) {
  return read_small_file(std::string("/sys/bus/event_source/devices/") + file);
}

perf_event_attr device_event(const std::string& type, std::uint64_t config) {
  return perf_attributes(static_cast<std::uint32_t>(std::atoi(type.c_str())), config);
}

int refusal_of(const perf_event_attr& attributes, int leader) {
  perf_event_attr copy = attributes;
  copy.sample_period = 1'000'003;
  const int fd =
      os().perf_event_open(&copy, static_cast<pid_t>(gettid()), -1, leader, PERF_FLAG_FD_CLOEXEC);
  if (fd < 0) return errno;
  os().close(fd);
  return 0;
}

// Drops what older kernels or other units do not support, until the event opens: weight as a
// structure (Linux 5.12), precise addresses, leaving out the kernel's accesses (IBS). Returns 0 or
// errno.
int make_it_open(perf_event_attr& attributes, int leader = -1) {
  int refused = refusal_of(attributes, leader);
  const auto retry = [&](auto change) {
    if (refused == EINVAL || refused == EOPNOTSUPP) {
      change();
      refused = refusal_of(attributes, leader);
    }
  };
  if (attributes.sample_type & PERF_SAMPLE_WEIGHT_STRUCT)
    retry([&] { attributes.sample_type ^= PERF_SAMPLE_WEIGHT_STRUCT | PERF_SAMPLE_WEIGHT; });
  if (attributes.precise_ip > 1) retry([&] { attributes.precise_ip = 1; });
  retry([&] { attributes.exclude_kernel = attributes.exclude_hv = 0; });
  return refused;
}

std::string refused_text(const char* unit, int error) {
  return std::string(unit) + " refused: " + strerrordesc_np(error);
}

bool find_pebs(HardwareUnit& unit, std::string& why) {
  if (file_of_device("cpu/events/mem-loads").empty() &&
      file_of_device("cpu_core/events/mem-loads").empty())
    return false;
  perf_event_attr loads = perf_attributes(0, 0), stores = loads;
  loads.sample_type = stores.sample_type = k_memory_sample;
  loads.precise_ip = stores.precise_ip = 2;
  if (!encode_event(k_loads, loads, why)) return false;
  perf_event_attr leader = perf_attributes(PERF_TYPE_RAW, k_load_leader);
  int error = make_it_open(loads);
  if (error == ENODATA) {
    const int group =
        os().perf_event_open(&leader, static_cast<pid_t>(gettid()), -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (group >= 0) {
      error = make_it_open(loads, group);
      os().close(group);
      unit.leader = error == 0;
    }
  }
  if (error) {
    why = refused_text("PEBS", error);
    return false;
  }
  if (unit.leader) unit.events.push_back(leader);
  unit.events.push_back(loads);
  std::string ignored; // loads are useful without stores
  for (const char* name : k_stores) {
    if (!encode_event(name, stores, ignored) || make_it_open(stores)) continue;
    unit.events.push_back(stores);
    break;
  }
  unit.name = "PEBS";
  return true;
}

bool find_ibs(HardwareUnit& unit, std::string& why) {
  const std::string type = file_of_device("ibs_op/type");
  if (type.empty()) return false;
  perf_event_attr operations = device_event(type, 0);
  operations.sample_type = k_memory_sample;
  if (const int error = make_it_open(operations)) {
    why = refused_text("IBS", error);
    return false;
  }
  unit.events.push_back(operations);
  unit.name = "IBS";
  return true;
}

bool find_spe(HardwareUnit& unit, std::string& why) {
  const std::string type = file_of_device("arm_spe_0/type");
  if (type.empty()) return false;
  perf_event_attr accesses = device_event(type, k_spe_timestamps | k_spe_loads | k_spe_stores);
  accesses.use_clockid = 0; // packets have the generic timer's time
  if (const int error = make_it_open(accesses)) {
    why = refused_text("SPE", error);
    return false;
  }
  unit.events.push_back(accesses);
  unit.name = "SPE";
  unit.packets = true;
  return true;
}

// libpfm4, loaded at first use and never unloaded; functions are null if it is missing.
struct Encoder {
  decltype(&pfm_get_os_event_encoding) encode = nullptr;
  decltype(&pfm_strerror) text = nullptr;
  std::string problem;

  Encoder() {
    void* library = dlopen("libpfm.so.4", RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      problem = "libpfm.so.4 is missing (package libpfm4)";
      return;
    }
    const auto initialize =
        reinterpret_cast<decltype(&pfm_initialize)>(dlsym(library, "pfm_initialize"));
    text = reinterpret_cast<decltype(text)>(dlsym(library, "pfm_strerror"));
    encode = reinterpret_cast<decltype(encode)>(dlsym(library, "pfm_get_os_event_encoding"));
    if (initialize != nullptr && text != nullptr && encode != nullptr &&
        initialize() == PFM_SUCCESS)
      return;
    encode = nullptr;
    problem = "libpfm4 does not know this processor";
  }
};

} // namespace

bool encode_event(const char* name, perf_event_attr& attributes, std::string& why) {
  static Encoder& encoder = *new Encoder; // never destroyed
  if (encoder.encode == nullptr) {
    why = encoder.problem;
    return false;
  }
  perf_event_attr encoded = {};
  encoded.size = sizeof encoded;
  pfm_perf_encode_arg_t argument = {};
  argument.size = sizeof argument;
  argument.attr = &encoded;
  const int error = encoder.encode(name, PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &argument);
  if (error != PFM_SUCCESS) {
    why = std::string("libpfm4: ") + name + ": " + encoder.text(error);
    return false;
  }
  attributes.type = encoded.type;
  attributes.config = encoded.config;
  attributes.config1 = encoded.config1;
  return true;
}

HardwareUnit find_hardware_unit(std::string& why) {
  HardwareUnit unit;
  why = "no such event";
  for (const auto find : {find_pebs, find_ibs, find_spe})
    if (find(unit, why)) break;
  return unit;
}

} // namespace omptier
