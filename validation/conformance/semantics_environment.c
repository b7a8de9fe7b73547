// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the environment says: OMP_ALLOCATOR in all its forms, right and wrong, OMP_DISPLAY_ENV, and
// a plan against what the source requires.
#include "semantics.h"

// Sets the variable before anything of OpenMP runs; the default allocator it makes.
static omp_allocator_handle_t default_of(const char* text) {
  setenv("OMP_ALLOCATOR", text, 1);
  return omp_get_default_allocator();
}

// Runs a check for each text in a process of its own.
typedef void (*text_check)(const char* text);
static void in_processes(const char* const* texts, size_t count, text_check run) {
  for (size_t i = 0; i < count; ++i) {
    const pid_t child = fork();
    if (child == 0) {
      run(texts[i]);
      _exit(0);
    }
    int status = -1;
    check(waitpid(child, &status, 0) == child && status == 0, "OMP_ALLOCATOR=%s: %x", texts[i],
          status);
    forget_process(child);
  }
}

static void check_predefined(const char* text) {
  static const struct {
    const char* name;
    omp_uintptr_t number;
  } names[] = {
      {"omp_default_mem_alloc", 1}, {"omp_large_cap_mem_alloc", 2}, {"omp_const_mem_alloc", 3},
      {"omp_high_bw_mem_alloc", 4}, {"omp_low_lat_mem_alloc", 5},   {"omp_cgroup_mem_alloc", 6},
      {"omp_pteam_mem_alloc", 7},   {"omp_thread_mem_alloc", 8},    {"ompx_auto_mem_alloc", 500},
      {"ompx_dram_mem_alloc", 501}, {"ompx_hbm_mem_alloc", 502},    {"ompx_nvm_mem_alloc", 503},
      {"ompx_cxl_mem_alloc", 504}};
  catch_stderr();
  const omp_allocator_handle_t a = default_of(text);
  char* block = (char*)omp_alloc(3000, omp_null_allocator);
  const char* said = caught_stderr();
  omp_uintptr_t expected = 0;
  for (size_t i = 0; i < LENGTH(names); ++i)
    if (strcasecmp(names[i].name, text + strspn(text, " ")) == 0) expected = names[i].number;
  check((omp_uintptr_t)a == expected, "%s gives %zu", text, (size_t)a);
  check(aligned_to(block, 16), "a block");
  if (expected == 501 || expected == 5) check(is_placed(block), "not placed");
  if (expected == 1 || expected == 6) check(!is_placed(block), "placed");
  if (expected <= 501) check(said[0] == '\0', "said: %s", said);
}
static void predefined(void) {
  static const char* const texts[] = {
      "omp_default_mem_alloc", "omp_large_cap_mem_alloc", "omp_const_mem_alloc",
      "omp_high_bw_mem_alloc", "omp_low_lat_mem_alloc",   "omp_cgroup_mem_alloc",
      "omp_pteam_mem_alloc",   "omp_thread_mem_alloc",    "ompx_auto_mem_alloc",
      "ompx_dram_mem_alloc",   "ompx_hbm_mem_alloc",      "ompx_nvm_mem_alloc",
      "ompx_cxl_mem_alloc",    "OMPX_DRAM_MEM_ALLOC",     " Omp_Low_Lat_Mem_Alloc"};
  in_processes(texts, LENGTH(texts), check_predefined);
}

static void check_space(const char* text) {
  catch_stderr();
  const omp_allocator_handle_t a = default_of(text);
  char* block = (char*)omp_alloc(3000, omp_null_allocator);
  const char* said = caught_stderr();
  check((omp_uintptr_t)a > 1024, "%s gives %zu", text, (size_t)a);
  fill(block, 3000, 1);
  check(aligned_to(block, 16) && holds(block, 3000, 1), "a block");
  check(is_placed(block) == (strstr(text, "default") == NULL), "%s: wrong memory", text);
  check(said[0] == '\0', "said: %s", said);
}
static void spaces(void) {
  static const char* const texts[] = {
      "omp_default_mem_space", "omp_large_cap_mem_space", "omp_const_mem_space",
      "omp_high_bw_mem_space", "omp_low_lat_mem_space",   "ompx_auto_mem_space",
      "ompx_dram_mem_space",   "OMPX_DRAM_MEM_SPACE",     "Omp_High_Bw_Mem_Space"};
  in_processes(texts, LENGTH(texts), check_space);
}

// Each text: alignment 2M, a pool of 1G, null beyond it.
static void check_sizes(const char* text) {
  catch_stderr();
  const omp_allocator_handle_t a = default_of(text);
  const char* said = caught_stderr();
  check((omp_uintptr_t)a > 1024 && said[0] == '\0', "%s: %zu, said: %s", text, (size_t)a, said);
  char* block = (char*)omp_alloc(3000, omp_null_allocator);
  check(aligned_to(block, 2 * MIB), "alignment: %p", (void*)block);
  check(omp_alloc(((size_t)1 << 30) + 1, omp_null_allocator) == NULL, "beyond 1G");
  omp_free(block, omp_null_allocator);
}
static void sizes(void) {
  static const char* const texts[] = {
      "ompx_dram_mem_space:pool_size=1G,alignment=2M,fallback=null_fb",
      "ompx_dram_mem_space:pool_size=1073741824,alignment=2097152,fallback=null_fb",
      "omp_low_lat_mem_space:alignment=2048K,fallback=null_fb,pool_size=1024M",
      "omp_default_mem_space:pool_size=1G,alignment=2M,fallback=null_fb",
      "omp_default_mem_space:pool_size=1g,alignment=2m,fallback=null_fb",
      "ompx_auto_mem_space : pool_size = 1G , alignment = 2M , fallback = null_fb",
      "OMPX_DRAM_MEM_SPACE:POOL_SIZE=1G,ALIGNMENT=2M,FALLBACK=NULL_FB",
      "ompx_dram_mem_space:omp_atk_pool_size=1G,omp_atk_alignment=2M,"
      "omp_atk_fallback=omp_atv_null_fb,label=all,pinned=false,partition=environment,access=all,"
      "sync_hint=contended,fb_data=omp_default_mem_alloc,ompx_atk_lifetime="
      "ompx_atv_lifetime_program"};
  in_processes(texts, LENGTH(texts), check_sizes);
}

static void check_fallback(const char* text) {
  default_of(text);
  char* inside = (char*)omp_alloc(3000, omp_null_allocator);
  char* outside = (char*)omp_alloc(3000, omp_null_allocator);
  check(is_placed(inside), "inside");
  check(outside != NULL && is_placed(outside) == (strstr(text, "low_lat") != NULL), "outside");
}
static void fallbacks(void) {
  static const char* const texts[] = {
      "ompx_dram_mem_space:pool_size=4K",
      "ompx_dram_mem_space:pool_size=4K,fallback=default_mem_fb",
      "ompx_dram_mem_space:pool_size=4K,fallback=allocator_fb,fb_data=omp_low_lat_mem_alloc",
      "ompx_dram_mem_space:pool_size=4K,fallback=allocator_fb,fb_data=omp_thread_mem_alloc"};
  in_processes(texts, LENGTH(texts), check_fallback);
}

// One warning, and the default stays.
static void check_bad(const char* text) {
  catch_stderr();
  const omp_allocator_handle_t a = default_of(text);
  char* block = (char*)omp_alloc(3000, omp_null_allocator);
  const char* said = caught_stderr();
  check(a == omp_default_mem_alloc, "%s gives %zu", text, (size_t)a);
  check(aligned_to(block, 16) && !is_placed(block), "a block of the default memory");
  check(count_of(said, "Warning") == 1 && strstr(said, "OMP_ALLOCATOR") != NULL, "%s: said: %s",
        text, said);
}
static void bad_texts(void) {
  static const char* const texts[] = {"ompx_hbm_mem_spice",
                                      "ompx_dram_mem_alloc,",
                                      "ompx_dram_mem_alloc and more",
                                      "ompx_dram_mem_space:",
                                      "ompx_dram_mem_space:colour=red",
                                      "ompx_dram_mem_space:colour=red,alignment=64",
                                      "ompx_dram_mem_space:alignment",
                                      "ompx_dram_mem_space:alignment=",
                                      "ompx_dram_mem_space:alignment=2Q",
                                      "ompx_dram_mem_space:alignment=-64",
                                      "ompx_dram_mem_space:pool_size=99999999999999999999",
                                      "ompx_dram_mem_space:pool_size=99999999999G",
                                      "ompx_dram_mem_space:fallback=7",
                                      "ompx_dram_mem_space:fb_data=omp_nothing_mem_alloc",
                                      "ompx_dram_mem_space:access=everybody",
                                      "ompx_dram_mem_space:pinned=perhaps",
                                      "ompx_dram_mem_space:lifetime=long,alignment=64",
                                      "ompx_dram_mem_space:alignment=64,,pinned=true",
                                      "omp_low_lat_mem_space:partition=scattered",
                                      "omp_default_mem_space:placement=sometimes",
                                      "111",
                                      "omp_default_mem_alloc_xyz"};
  in_processes(texts, LENGTH(texts), check_bad);
}

// What init_allocator refuses is said by it, in one warning too.
static void check_refused(const char* text) {
  catch_stderr();
  const omp_allocator_handle_t a = default_of(text);
  const char* said = caught_stderr();
  check(a == omp_default_mem_alloc, "%s gives %zu", text, (size_t)a);
  check(count_of(said, "Warning") == 1, "%s: said: %s", text, said);
}
static void refused_traits(void) {
  static const char* const texts[] = {
      "ompx_dram_mem_space:alignment=48", "ompx_dram_mem_space:pool_size=0",
      "ompx_auto_mem_space:placement=required", "ompx_dram_mem_space:pinned=true,migratable=true",
      "ompx_dram_mem_space:access_stride=64"};
  in_processes(texts, LENGTH(texts), check_refused);
}

// The program's own word counts more than the environment's.
static void set_afterwards(void) {
  check((omp_uintptr_t)default_of("ompx_dram_mem_space:alignment=4K") > 1024, "from the text");
  omp_set_default_allocator(omp_default_mem_alloc);
  check(omp_get_default_allocator() == omp_default_mem_alloc, "set");
  check(!is_placed(omp_alloc(100, omp_null_allocator)), "not placed");
}

// By itself: compilers ask for the thread's number where a function with a region begins.
static __attribute__((noinline)) int threads_without(void) {
  int wrong = 0;
#pragma omp parallel num_threads(4) reduction(+ : wrong)
  {
    char* block = (char*)omp_alloc(100, omp_null_allocator);
    wrong += !aligned_to(block, 8192) || !is_placed(block);
    omp_free(block, omp_null_allocator);
  }
  return wrong;
}
static void in_every_thread(void) {
  setenv("OMP_ALLOCATOR", "ompx_dram_mem_space:alignment=8K", 1);
  const int wrong = threads_without();
  check(wrong == 0, "%d threads without it", wrong);
}

// ---- OMP_DISPLAY_ENV

static const char* display(const char* how) {
  setenv("OMP_DISPLAY_ENV", how, 1);
  catch_stderr();
  omp_get_max_threads();
  omp_get_default_allocator();
  return caught_stderr();
}

static void display_chosen(void) {
  setenv("OMP_ALLOCATOR", "ompx_dram_mem_space:alignment=4K", 1);
  setenv("OMPTIER_CAPACITY", "dram:4G", 1);
  const char* text = display("verbose");
  check(count_of(text, "OPENMP DISPLAY ENVIRONMENT BEGIN") == 1 &&
            count_of(text, "OPENMP DISPLAY ENVIRONMENT END") == 1,
        "the table: %s", text);
  check(strstr(text, "[host] OMP_ALLOCATOR='ompx_dram_mem_space:alignment=4K'") != NULL,
        "the variable: %s", text);
  char node[80];
  snprintf(node, sizeof node, "[host] ompx_dram_mem_space='DRAM, node %d", node_of[0]);
  if ((nodes_of[0] & (nodes_of[0] - 1)) == 0)
    check(strstr(text, node) != NULL, "%s is not in: %s", node, text);
  check(strstr(text, "[host] omp_high_bw_mem_space='") != NULL &&
            strstr(text, "the highest bandwidth from here") != NULL,
        "why: %s", text);
  check(strstr(text, "[host] def-allocator-var='ompx_dram_mem_space, required: DRAM, node") != NULL,
        "what was chosen: %s", text);
  check(strstr(text, "[host] OMPTIER_CAPACITY='dram:4G'") != NULL, "our variables: %s", text);
  if (node_of[ompx_kind_cxl] < 0)
    check(strstr(text, "[host] ompx_cxl_mem_space='none on this machine") != NULL, "%s", text);
  const char* end = strstr(text, "DISPLAY ENVIRONMENT END");
  check(strstr(text, "ompx_dram_mem_space='") < end, "inside the table");
}

// Not verbose: the variable only.
static void display_short(void) {
  setenv("OMP_ALLOCATOR", "ompx_dram_mem_space:alignment=4K", 1);
  const char* text = display("true");
  check(strstr(text, "[host] OMP_ALLOCATOR='ompx_dram_mem_space:alignment=4K'") != NULL, "%s",
        text);
  check(strstr(text, "mem_space='") == NULL && strstr(text, "def-allocator") == NULL, "%s", text);
}

// Nothing of ours in use: the table is libomp's own.
static void display_stock(void) {
  unsetenv("OMPTIER_CACHE"); // who runs the tests may have set it
  const char* text = display("verbose");
  check(strstr(text, "[host] OMP_ALLOCATOR='omp_default_mem_alloc'") != NULL, "%s", text);
  check(strstr(text, "mem_space") == NULL && strstr(text, "def-allocator") == NULL &&
            strstr(text, "OMPTIER") == NULL,
        "%s", text);
}

// The routine shows what is in use by then.
static void display_routine(void) {
  omp_free(omp_alloc(100, ompx_dram_mem_alloc), ompx_dram_mem_alloc);
  catch_stderr();
  omp_display_env(1);
  const char* text = caught_stderr();
  check(strstr(text, "[host] ompx_dram_mem_space='DRAM, node") != NULL, "%s", text);
  check(strstr(text, "def-allocator-var") == NULL, "no allocator was named: %s", text);
}

// ---- a plan against the source

static char plan_file[64];
static void use_plan(const char* text) {
  snprintf(plan_file, sizeof plan_file, "/tmp/semantics-plan-%d.json", (int)getpid());
  FILE* file = fopen(plan_file, "w");
  check(file != NULL && fputs(text, file) >= 0 && fclose(file) == 0, "plan file");
  setenv("OMPTIER_PLAN", plan_file, 1);
}

static const char rest_to_nvm[] =
    "{\"version\": 1, \"modules\": [], \"entries\": [], \"rest\": [\"nvm\"]}";
static const char rest_to_dram[] =
    "{\"version\": 1, \"modules\": [], \"entries\": [], \"rest\": [\"dram\"]}";

static omp_allocator_handle_t required_dram(void) {
  const omp_alloctrait_t traits[] = {{ompx_atk_placement, ompx_atv_placement_required}};
  return make(ompx_dram_mem_space, 1, traits);
}
// A capacity of nothing: what is required there is refused, so it must have been tried there.
static void plan_overruled_to_fallback(void) {
  setenv("OMPTIER_CAPACITY", "hbm:0", 1);
  use_plan(rest_to_dram);
  const omp_alloctrait_t traits[] = {{ompx_atk_placement, ompx_atv_placement_required},
                                     {omp_atk_fallback, omp_atv_null_fb}};
  const omp_allocator_handle_t required = make(ompx_hbm_mem_space, 2, traits);
  const omp_allocator_handle_t implied = make(ompx_hbm_mem_space, 1, &traits[1]);
  check(omp_alloc(MIB, required) == NULL, "required in the source, not the plan's DRAM");
  char* placed = (char*)omp_alloc(MIB, implied);
  check(placed != NULL && is_placed(placed), "what the source only names goes where the plan says");
  check(strstr(placement_of(placed).reason, "plan") != NULL, "%s", placement_of(placed).reason);
  char* other = (char*)omp_alloc(MIB, omp_default_mem_alloc);
  check(other != NULL && bytes_on_kind(other, 0, 0) == 0 && is_placed(other), "the plan's too");
  unlink(plan_file);
}
static void plan_overruled(void) {
  use_plan(rest_to_nvm);
  char* required = (char*)omp_alloc(4 * MIB, required_dram());
  fill(required, 4 * MIB, 1);
  check(bytes_on_kind(required, 4 * MIB, ompx_kind_dram) == 4 * MIB, "required in the source");
  char* named = (char*)omp_alloc(4 * MIB, ompx_dram_mem_alloc);
  fill(named, 4 * MIB, 2);
  check(bytes_on_kind(named, 4 * MIB, ompx_kind_nvm) == 4 * MIB, "only named: the plan's");
  char* plain = (char*)omp_alloc(4 * MIB, omp_default_mem_alloc);
  fill(plain, 4 * MIB, 3);
  check(bytes_on_kind(plain, 4 * MIB, ompx_kind_nvm) == 4 * MIB, "the default memory: the plan's");
  check(holds(required, 4 * MIB, 1) && holds(named, 4 * MIB, 2), "contents");
  // It is told.
  const int file = (int)syscall(SYS_memfd_create, "dump", 0);
  static char dump[1 << 15];
  check(ompx_dump(file) == 0 && pread(file, dump, sizeof dump - 1, 0) > 0, "dump");
  check(strstr(dump, "plan overruled by placement=required in the source: 1 ") != NULL, "%s", dump);
  unlink(plan_file);
}

static const semantics_case cases[] = {
    {"predefined", predefined, k_dram},
    {"spaces", spaces, k_dram},
    {"sizes", sizes, k_dram},
    {"fallbacks", fallbacks, k_dram},
    {"bad-texts", bad_texts, 0},
    {"refused-traits", refused_traits, 0},
    {"set-afterwards", set_afterwards, k_dram},
    {"in-every-thread", in_every_thread, k_dram},
    {"display-chosen", display_chosen, k_dram},
    {"display-short", display_short, k_dram},
    {"display-stock", display_stock, 0},
    {"display-routine", display_routine, k_dram},
    {"plan-overruled-to-fallback", plan_overruled_to_fallback, k_dram},
    {"plan-overruled", plan_overruled, k_dram | k_nvm}};

int main(int argc, char** argv) {
  return run_cases(cases, LENGTH(cases), argc, argv);
}
