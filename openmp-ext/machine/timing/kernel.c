// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine/timing/kernel.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { k_most_functions = 32 };

// Names of one function in different kernels. At least one name of each group must exist.
static const char* const k_clear_page[] = {"clear_page_rep", "clear_page_orig", "clear_page_erms",
                                           NULL};
static const char* const k_copy_page[] = {"copy_page", "copy_page_regs", NULL};
static const char* const k_user_copy[] = {"copy_user_generic_unrolled",
                                          "copy_user_generic_string",
                                          "copy_user_enhanced_fast_string",
                                          "rep_movs_alternative",
                                          "copy_user_short_string",
                                          "__copy_user_nocache",
                                          NULL};
static const char* const k_user_clear[] = {"clear_user_original", "clear_user_rep_good",
                                           "clear_user_erms", "rep_stos_alternative", NULL};
static const struct {
  const char* const* names;
  enum kernel_moves moves;
} k_groups[] = {{k_clear_page, k_clears_page},
                {k_copy_page, k_copies_page},
                {k_user_copy, k_moves_bytes},
                {k_user_clear, k_moves_bytes}};

// What the kernel's instructions do not take in emulation: calibrated so that copying is about a
// quarter to a fifth of the cost of moving 4 KiB pages, as measured on real machines;
// benchmarks/machine/migrate.c shows the ratio. A folio is unmapped and remapped once per move. A
// shoot-down is an interrupt to the other processors and the wait for their answer.
static const struct {
  const char* function;
  double ns; // undilated, for each call
} k_charges[] = {
    {"try_to_migrate", 50},
    {"native_flush_tlb_multi", 100},
};
enum { k_charge_count = sizeof k_charges / sizeof *k_charges };

struct kernel_function {
  uint64_t start, end;
  enum kernel_moves moves;
};

struct kernel_model {
  struct kernel_function moves[k_most_functions];
  uint32_t moves_count;
  uint64_t charged_at[k_charge_count];
};

// The sorted addresses of all symbols: a function ends where the next one begins.
struct symbols {
  uint64_t* addresses;
  size_t count, room;
};

static int compare_addresses(const void* a, const void* b) {
  uint64_t x = *(const uint64_t*)a, y = *(const uint64_t*)b;
  return (x > y) - (x < y);
}

static bool add_address(struct symbols* symbols, uint64_t address) {
  if (symbols->count == symbols->room) {
    size_t room = symbols->room ? 2 * symbols->room : 1 << 17;
    uint64_t* grown = realloc(symbols->addresses, room * sizeof *grown);
    if (!grown) return false;
    symbols->addresses = grown;
    symbols->room = room;
  }
  symbols->addresses[symbols->count++] = address;
  return true;
}

// Start of the function that follows the one at `start`. Symbols must be sorted.
static uint64_t end_of(const struct symbols* symbols, uint64_t start) {
  size_t low = 0, high = symbols->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (symbols->addresses[middle] > start)
      high = middle;
    else
      low = middle + 1;
  }
  return low < symbols->count ? symbols->addresses[low] : start + k_page_size;
}

static bool is_one_of(const char* name, const char* const* names) {
  for (; *names; names++)
    if (strcmp(name, *names) == 0) return true;
  return false;
}

static void note_symbol(struct kernel_model* model, const char* name, uint64_t address,
                        bool* group_found) {
  for (size_t g = 0; g < sizeof k_groups / sizeof *k_groups; g++)
    if (is_one_of(name, k_groups[g].names) && model->moves_count < k_most_functions) {
      model->moves[model->moves_count++] =
          (struct kernel_function){.start = address, .moves = k_groups[g].moves};
      group_found[g] = true;
    }
  for (uint32_t i = 0; i < k_charge_count; i++)
    if (strcmp(name, k_charges[i].function) == 0) model->charged_at[i] = address;
}

static bool fail(char* error, size_t size, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(error, size, format, arguments);
  va_end(arguments);
  return false;
}

static bool check_found(const struct kernel_model* model, const bool* group_found, const char* path,
                        char* error, size_t size) {
  for (size_t g = 0; g < sizeof k_groups / sizeof *k_groups; g++)
    if (!group_found[g])
      return fail(error, size,
                  "%s: no %s or the like; give /proc/kallsyms of the guest, read as root", path,
                  k_groups[g].names[0]);
  for (uint32_t i = 0; i < k_charge_count; i++)
    if (!model->charged_at[i])
      return fail(error, size, "%s: no function %s to charge; this kernel is not known", path,
                  k_charges[i].function);
  return true;
}

static bool read_symbols(struct kernel_model* model, struct symbols* symbols, const char* path,
                         char* error, size_t size) {
  FILE* file = fopen(path, "re");
  if (!file) return fail(error, size, "%s: %s", path, strerror(errno));
  bool group_found[sizeof k_groups / sizeof *k_groups] = {false};
  char line[1024], name[256], type;
  unsigned long long address;
  bool good = true;
  while (good && fgets(line, sizeof line, file))
    if (sscanf(line, "%llx %c %255s", &address, &type, name) == 3 && address) {
      good = add_address(symbols, address);
      if (type == 't' || type == 'T' || type == 'W' || type == 'w')
        note_symbol(model, name, address, group_found);
    }
  fclose(file);
  if (!good) return fail(error, size, "%s: out of memory", path);
  return check_found(model, group_found, path, error, size);
}

struct kernel_model* kernel_model_create(const struct configuration* configuration, char* error,
                                         size_t error_size) {
  struct kernel_model* model = calloc(1, sizeof *model);
  struct symbols symbols = {0};
  if (!model) {
    fail(error, error_size, "out of memory");
    return NULL;
  }
  bool good = read_symbols(model, &symbols, configuration->symbols, error, error_size);
  if (good) {
    qsort(symbols.addresses, symbols.count, sizeof *symbols.addresses, compare_addresses);
    for (uint32_t i = 0; i < model->moves_count; i++)
      model->moves[i].end = end_of(&symbols, model->moves[i].start);
  }
  free(symbols.addresses);
  if (good) return model;
  free(model);
  return NULL;
}

enum kernel_moves kernel_moves_at(const struct kernel_model* model, uint64_t address) {
  for (uint32_t i = 0; i < model->moves_count; i++)
    if (address - model->moves[i].start < model->moves[i].end - model->moves[i].start)
      return model->moves[i].moves;
  return k_moves_nothing;
}

double kernel_charge_at(const struct kernel_model* model, uint64_t address) {
  for (uint32_t i = 0; i < k_charge_count; i++)
    if (address == model->charged_at[i]) return k_charges[i].ns;
  return 0;
}

void kernel_model_describe(const struct kernel_model* model, char* text, size_t size) {
  int used = snprintf(text, size, "%u functions that move bytes", model->moves_count);
  for (uint32_t i = 0; i < k_charge_count && used > 0 && (size_t)used < size; i++)
    used += snprintf(text + used, size - (size_t)used, ", %s %g ns", k_charges[i].function,
                     k_charges[i].ns);
}
