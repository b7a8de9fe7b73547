// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a program will run with OMPTier. Its ELF files are read, it is not run. Looks for
// whatever would load another OpenMP runtime than ours, load none, or keep our libraries out, and
// for the debug information that the profiler needs to name source lines.
#include "cli/check.hpp"
#include "cli/check_elf.hpp"
#include "cli/launch.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>

namespace omptier {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 4> k_runtimes = {"libomp.so.5", "libomp.so", "libgomp.so.1",
                                                   "libiomp5.so"};

bool is_runtime(const std::string& name) {
  return std::ranges::find(k_runtimes, name) != k_runtimes.end();
}

bool there_is(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

bool is_openmp_symbol(const std::string& name) {
  constexpr std::array<const char*, 5> prefixes = {"omp_", "__kmpc_", "GOMP_", "kmp_", "ompx_"};
  return std::ranges::any_of(prefixes,
                             [&](const char* prefix) { return name.starts_with(prefix); });
}

std::string list_some(const std::vector<std::string>& names) {
  std::string list;
  for (std::size_t i = 0; i < names.size() && i < 5; ++i)
    list += (i == 0 ? "" : ", ") + names[i];
  return list + (names.size() > 5 ? ", and " + std::to_string(names.size() - 5) + " more" : "");
}

// Returns the OpenMP runtime that ld.so would load; "" if the program names none.
std::string check_linking(const ElfFacts& program, Findings& findings) {
  if (!program.interpreter) {
    findings.fails("linking", "statically linked: no library of OMPTier can be loaded into it",
                   "link it dynamically (without -static)");
    return {};
  }
  const auto linked_in = [&](const char* name) {
    return program.own_symbols.contains(name) || program.defined_symbols.contains(name);
  };
  if (linked_in("__kmpc_fork_call") || linked_in("GOMP_parallel")) {
    findings.fails("OpenMP runtime", "is linked into the program itself",
                   "link the shared one (clang: -fopenmp without -static-openmp)");
    return {};
  }
  const auto runtime = std::ranges::find_if(program.needed, is_runtime);
  if (runtime == program.needed.end()) {
    findings.limited("OpenMP runtime", "the program itself needs none; its libraries may",
                     "if one of its libraries uses OpenMP, check that library as well");
    return {};
  }
  findings.works("OpenMP runtime", *runtime + ", which OMPTier provides");
  return *runtime;
}

// A plan cannot place blocks of a malloc that is linked into the program.
void check_malloc(const ElfFacts& program, const std::string& path,
                  const std::string& runtime_folder, Findings& findings) {
  if (program.own_symbols.contains("malloc") || program.defined_symbols.contains("malloc"))
    return findings.limited("malloc", "the program has its own inside, which a plan cannot reach",
                            "link the allocator as a shared library, or use omp_alloc");
  for (const char* allocator : {"libjemalloc.so", "libmimalloc.so", "libtcmalloc"})
    if (std::ranges::any_of(program.needed,
                            [&](const std::string& name) { return name.starts_with(allocator); }))
      return findings.limited("malloc",
                              std::string(allocator) +
                                  " brings its own new and delete, which a plan "
                                  "does not reach; malloc's blocks it does",
                              "link with glibc's malloc to have new placed");
  if (!runtime_folder.empty() && !find_preload(runtime_folder).empty())
    if (const Preload preload = preload_for(path, runtime_folder);
        !preload.problem.empty() && !preload.closed)
      return findings.limited("malloc", preload.problem + ": a plan does not reach it",
                              "an installation may simply be moved");
  findings.works("malloc", "a plan reaches malloc, new and ALLOCATE from 64 KiB");
}

// Searches as ld.so does for this program; "" if no folder has the file.
std::string folder_with(const std::string& file, std::string list, const std::string& program) {
  while (!list.empty()) {
    const auto colon = list.find(':');
    std::string folder = list.substr(0, colon);
    for (const char* origin : {"$ORIGIN", "${ORIGIN}"})
      if (const auto at = folder.find(origin); at != std::string::npos)
        folder.replace(at, std::string_view(origin).size(),
                       fs::absolute(program).parent_path().string());
    if (there_is(fs::path(folder) / file)) return folder;
    list.erase(0, colon == std::string::npos ? colon : colon + 1);
  }
  return {};
}

// Which OpenMP runtime the program gets without omptier. Others than ours do not know our memory
// spaces and traits: LLVM's aborts at some, GCC's takes some for addresses.
void check_own_start(const ElfFacts& program, const std::string& path, const std::string& runtime,
                     const std::string& runtime_folder, Findings& findings) {
  const bool allocates = std::ranges::any_of(program.undefined_symbols, is_allocator_symbol);
  if (runtime.empty() || runtime_folder.empty() || !allocates) return;
  const char* searched = std::getenv("LD_LIBRARY_PATH");
  std::string from = folder_with(runtime, program.rpath, path);
  if (from.empty()) from = folder_with(runtime, searched != nullptr ? searched : "", path);
  const bool by_variable = !from.empty();
  if (from.empty()) from = folder_with(runtime, program.runpath, path);
  std::error_code ignored;
  if (!from.empty() && fs::equivalent(from, runtime_folder, ignored))
    return findings.works("started by itself", "it gets OMPTier's " + runtime);
  const bool gcc = runtime.starts_with("libgomp");
  findings.limited(
      "started by itself",
      "it gets " + runtime + " from " + (from.empty() ? "the system" : from) +
          (from.empty() || by_variable ? "" : " (DT_RUNPATH)") + ", which has none of OMPTier's " +
          "memory spaces and traits: a program that uses them " +
          (gcc ? "may crash (segmentation fault)" : "aborts (assertion in kmp_alloc.cpp)"),
      "start it with omptier run, or link with -Wl,-rpath," + runtime_folder +
          " before other -rpath (CMake: CMAKE_BUILD_RPATH)");
}

void check_search_path(const ElfFacts& program, const std::string& path, const std::string& runtime,
                       Findings& findings) {
  const std::string folder =
      runtime.empty() ? std::string() : folder_with(runtime, program.rpath, path);
  if (!folder.empty())
    return findings.fails("search path",
                          "DT_RPATH loads " + runtime + " from " + folder +
                              ", before LD_LIBRARY_PATH is searched",
                          "link with -Wl,--enable-new-dtags, or: patchelf --set-rpath '" +
                              program.rpath + "' " + path);
  findings.works("search path", program.rpath.empty()
                                    ? "no DT_RPATH stands before LD_LIBRARY_PATH"
                                    : "DT_RPATH holds no OpenMP runtime (" + program.rpath + ")");
}

void check_versions(const ElfFacts& program, const std::string& runtime,
                    const std::string& runtime_folder, Findings& findings) {
  if (runtime.empty() || runtime_folder.empty()) return;
  const std::string file = (fs::path(runtime_folder) / runtime).string();
  const auto ours = read_elf(file);
  if (!ours) return findings.fails("symbol versions", ours.error(), "install OMPTier completely");
  const auto extensions = read_elf((fs::path(runtime_folder) / "libomptier.so").string());
  const auto is_there = [&](const std::string& symbol) {
    return ours->defined_symbols.contains(symbol) ||
           (extensions && extensions->defined_symbols.contains(symbol));
  };
  std::vector<std::string> missing;
  for (const NeededVersion& needed : program.needed_versions)
    if (needed.library == runtime && !ours->defined_versions.contains(needed.version))
      missing.push_back(needed.version);
  for (const std::string& symbol : program.undefined_symbols)
    if (is_openmp_symbol(symbol) && !is_there(symbol)) missing.push_back(symbol);
  if (missing.empty())
    findings.works("symbol versions", "everything the program asks " + runtime + " for is there");
  else
    findings.fails("symbol versions",
                   "our " + runtime + " lacks " + list_some(missing) +
                       ": the program will not start",
                   "please report it, with the compiler's name and version");
}

// Programs made by omptier-cc and omptier-c++, and by sanitizers, which have a malloc of their own.
void check_instrumentation(const ElfFacts& program, const std::string& runtime_folder,
                           Findings& findings) {
  const std::string exact = "libomptier_exact.so";
  const bool counts = std::ranges::find(program.needed, exact) != program.needed.end();
  if (counts && folder_with(exact, program.runpath.empty() ? program.rpath : program.runpath, "")
                    .empty())
    findings.fails("exact counts", "built by omptier-cc, whose " + exact + " is gone",
                   "build it again with " + runtime_folder + "/../bin/omptier-cc");
  else if (counts)
    findings.works("exact counts", "built by omptier-cc: omptier record counts its accesses");
  for (const char* sanitizer : {"__asan_init", "__tsan_init", "__msan_init"})
    if (program.defined_symbols.contains(sanitizer) || program.undefined_symbols.contains(sanitizer))
      return findings.limited("malloc while recording",
                              "built with a sanitizer: OpenMP's allocations alone are recorded, from "
                              "OpenMP's start on",
                              "build it without -fsanitize to record all");
}

void check_privileges(const std::string& path, Findings& findings) {
  struct stat status{};
  if (::stat(path.c_str(), &status) != 0) return;
  const bool setuid = (status.st_mode & (S_ISUID | S_ISGID)) != 0;
  const bool capabilities = ::getxattr(path.c_str(), "security.capability", nullptr, 0) > 0;
  if (setuid || capabilities)
    findings.fails("privileges",
                   setuid ? "setuid or setgid: ld.so ignores LD_LIBRARY_PATH and LD_PRELOAD"
                          : "has file capabilities: ld.so ignores LD_LIBRARY_PATH and LD_PRELOAD",
                   "use a copy without them");
  else if (::access(path.c_str(), X_OK) != 0)
    findings.fails("privileges", "is not executable for this user", "chmod +x " + path);
}

void check_names(const ElfFacts& program, Findings& findings) {
  const std::string& id = program.build_id;
  const bool beside = id.size() > 2 && there_is("/usr/lib/debug/.build-id/" + id.substr(0, 2) +
                                                "/" + id.substr(2) + ".debug");
  if (program.debug_lines)
    findings.works("debug information", "sites will be named by file and line");
  else if (beside)
    findings.works("debug information", "in a file of its own below /usr/lib/debug");
  else
    findings.limited("debug information", "none: sites are named by function at best",
                     "compile with -g (it changes neither code nor speed)");
  if (id.empty())
    findings.limited("build-id", "none: the program is identified by a hash of its code",
                     "link with -Wl,--build-id");
  else
    findings.works("build-id", id);
}

} // namespace

void check_runtime(const CommandContext& context, Findings& findings) {
  const std::string folder = find_libraries(context);
  if (folder.empty())
    return findings.fails(
        "OMPTier runtime", "libomptier.so is not beside this command",
        "install it: cmake --install BUILD --prefix WHERE, and call WHERE/bin/omptier");
  std::vector<std::string> missing;
  for (const char* name : k_runtimes)
    if (!there_is(fs::path(folder) / name)) missing.emplace_back(name);
  if (find_preload(folder).empty())
    findings.limited("OMPTier preload", "libomptier_preload.so is not in " + folder,
                     "without it plans place omp_alloc's blocks only; build and install all of it");
  if (missing.empty()) {
    if (const std::string problem = problem_with_libraries(folder); !problem.empty())
      return findings.fails("OMPTier runtime", problem, "an installation may simply be moved");
    findings.works("OMPTier runtime", "in " + folder);
  } else
    findings.fails("OMPTier runtime", folder + " lacks " + list_some(missing),
                   "build the target libomp (OMPTIER_BUILD_LIBOMP=ON)");
}

void check_program(const std::string& path, const std::string& runtime_folder, Findings& findings) {
  const auto program = read_elf(path);
  if (!program)
    return findings.fails("program", program.error(), "give the path of a compiled program");
  if (!program->same_machine)
    return findings.fails("program", path + ": built for another processor or width",
                          "build it for this machine");
  const std::string runtime = check_linking(*program, findings);
  if (program->interpreter) check_search_path(*program, path, runtime, findings);
  if (program->interpreter) check_own_start(*program, path, runtime, runtime_folder, findings);
  if (program->interpreter) check_malloc(*program, path, runtime_folder, findings);
  check_instrumentation(*program, runtime_folder, findings);
  check_versions(*program, runtime, runtime_folder, findings);
  check_privileges(path, findings);
  check_names(*program, findings);
}

} // namespace omptier
