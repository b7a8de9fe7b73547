// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The readers of program files: statics by name (our own), what `omptier check` wants to know
// (libelf), and names for frames (libdw). The input is the file.

#include "cli/check_elf.hpp"
#include "objects/statics.hpp"
#include "symbols/symbols.hpp"

#include <cstdio>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace omptier;
  static const int file = memfd_create("fuzzed", MFD_CLOEXEC);
  static char path[64];
  std::snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  if (file < 0 || ftruncate(file, 0) != 0 ||
      pwrite(file, data, size, 0) != static_cast<ssize_t>(size))
    std::abort();

  std::size_t letters = 0;
  const auto visit = [](void* sum, const NamedStatic& named) {
    *static_cast<std::size_t*>(sum) += std::char_traits<char>::length(named.symbol);
  };
  list_statics(path, 1, visit, &letters);
  LoadedModule module;
  module.path = path;
  module.end = ~std::uintptr_t{0};
  module.identified = 2; // without build-id: no other file is looked for
  StaticObject found;
  find_static(module, "grid", found);

  static_cast<void>(read_elf(path));
  ModuleInfo info;
  info.identity = identity_of_file(path);
  info.path = info.name = path;
  if (info.identity.empty()) return 0;
  Symbols symbols;
  for (const std::uint64_t offset : {0x360, 0x390, 0x3d0, 0x440})
    symbols.resolve(info, offset);
  PortableFrame wanted;
  wanted.function = "main";
  wanted.callee = "omp_alloc";
  static_cast<void>(symbols.find_call(info, wanted));
  return 0;
}
