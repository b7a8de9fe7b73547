// SPDX-License-Identifier: GPL-2.0-or-later
//
// Connects QEMU to the time model: selects at translation which instructions to instrument, and
// passes their accesses on. User code is instrumented in full, the kernel only as kernel.h defines.
#include "borders/model_marks.h"
#include "machine/timing/miss_file.h"
#include "machine/timing/model.h"

#include <stdlib.h>
#include <string.h>

#include <qemu-plugin.h> // of QEMU 7.2 (interface version 1) to 10.0 (version 4)

QEMU_PLUGIN_EXPORT int qemu_plugin_version = QEMU_PLUGIN_VERSION;

static struct model* g_model;

#define k_kernel_begin (UINT64_C(1) << 47)

// Every instrumented access. data: its struct block_access.
static void on_access(unsigned vcpu_number, qemu_plugin_meminfo_t info, uint64_t address,
                      void* data) {
  struct model* model = g_model;
  if (!atomic_load_explicit(&model->on, memory_order_relaxed)) return;
  struct vcpu* vcpu = &model->vcpus[vcpu_number];
  const struct block_access* access = data;
  bool store = qemu_plugin_mem_is_store(info);
  vcpu->counters.accesses++;
  if (core_l1_hit(&vcpu->caches, address / k_line_size, store)) {
    model_hit(vcpu, access, address, store);
    return;
  }
  struct qemu_plugin_hwaddr* place = qemu_plugin_get_hwaddr(info, address);
  if (!place || qemu_plugin_hwaddr_is_io(place)) return;
  model_access(model, vcpu, access, address, qemu_plugin_hwaddr_phys_addr(place), store);
}

static void on_block(unsigned vcpu_number, void* data) {
  if (atomic_load_explicit(&g_model->on, memory_order_relaxed))
    model_block(g_model, &g_model->vcpus[vcpu_number], data);
}

// data: how many instructions it has.
static void on_kernel_block(unsigned vcpu_number, void* data) {
  if (atomic_load_explicit(&g_model->on, memory_order_relaxed))
    model_kernel_block(g_model, &g_model->vcpus[vcpu_number], (uint32_t)(uintptr_t)data);
}

static void on_mark(unsigned vcpu_number, void* data) {
  struct vcpu* vcpu = &g_model->vcpus[vcpu_number];
  unsigned command = (unsigned)(uintptr_t)data;
  switch (command) {
  case OMPTIER_MARK_ON:
  case OMPTIER_MARK_COMMAND:
    model_switch(g_model, vcpu, true, command == OMPTIER_MARK_COMMAND);
    break;
  case OMPTIER_MARK_OFF:
    model_switch(g_model, vcpu, false, false);
    break;
  case OMPTIER_MARK_RESET:
    model_reset(g_model);
    break;
  case OMPTIER_MARK_SYNCHRONISE:
    model_synchronise(g_model);
    break;
  default:
    if (command - OMPTIER_MARK_FIRST < OMPTIER_MARK_COUNT)
      model_mark(g_model, command - OMPTIER_MARK_FIRST);
  }
}

// Entry of a charged kernel function. data: its cost in picoseconds, which fits a pointer.
static void on_charged_call(unsigned vcpu_number, void* data) {
  if (atomic_load_explicit(&g_model->on, memory_order_relaxed))
    model_charge(g_model, &g_model->vcpus[vcpu_number], (double)(uintptr_t)data * 1e-3);
}

// A mark is an eight-byte NOP with our signature (borders/model_marks.h).
static void watch_mark(struct qemu_plugin_insn* instruction) {
  static const unsigned char nop[4] = {0x0f, 0x1f, 0x84, 0x00};
  if (qemu_plugin_insn_size(instruction) != 8) return;
#if QEMU_PLUGIN_VERSION >= 3
  unsigned char bytes[8];
  if (qemu_plugin_insn_data(instruction, bytes, sizeof bytes) != sizeof bytes) return;
#else
  const unsigned char* bytes = qemu_plugin_insn_data(instruction);
#endif
  if (memcmp(bytes, nop, sizeof nop) != 0) return;
  unsigned command = bytes[4] | (unsigned)bytes[5] << 8,
           signature = bytes[6] | (unsigned)bytes[7] << 8;
  if (signature == OMPTIER_MARK_SIGNATURE)
    qemu_plugin_register_vcpu_insn_exec_cb(instruction, on_mark, QEMU_PLUGIN_CB_NO_REGS,
                                           (void*)(uintptr_t)command);
}

static size_t copy_code(struct qemu_plugin_insn* instruction, uint8_t* code, size_t room) {
  size_t size = qemu_plugin_insn_size(instruction);
#if QEMU_PLUGIN_VERSION >= 3
  return size <= room ? qemu_plugin_insn_data(instruction, code, size) : 0;
#else
  if (size > room) return 0;
  memcpy(code, qemu_plugin_insn_data(instruction), size);
  return size;
#endif
}

static void watch_user_block(struct qemu_plugin_tb* translated, size_t count) {
  uint8_t code[k_most_instructions * k_longest_instruction];
  size_t ends[k_most_instructions], used = 0;
  if (count > k_most_instructions) count = k_most_instructions;
  for (size_t i = 0; i < count; i++) {
    struct qemu_plugin_insn* instruction = qemu_plugin_tb_get_insn(translated, i);
    used += copy_code(instruction, code + used, sizeof code - used);
    ends[i] = used;
  }
  const struct known_block* block =
      known_blocks_find(g_model->blocks, qemu_plugin_tb_vaddr(translated), code, ends, count);
  if (!block) return;
  qemu_plugin_register_vcpu_tb_exec_cb(translated, on_block, QEMU_PLUGIN_CB_NO_REGS,
                                       (void*)(uintptr_t)&block->block);
  for (size_t i = 0; i < count; i++) {
    struct qemu_plugin_insn* instruction = qemu_plugin_tb_get_insn(translated, i);
    qemu_plugin_register_vcpu_mem_cb(instruction, on_access, QEMU_PLUGIN_CB_NO_REGS,
                                     QEMU_PLUGIN_MEM_RW, (void*)(uintptr_t)&block->accesses[i]);
    watch_mark(instruction);
  }
}

// Of the kernel, accesses matter only where it moves bytes for a program. They share one pc.
static void watch_kernel_block(struct qemu_plugin_tb* translated, size_t count) {
  static const struct block_access k_access[] = {
      [k_moves_bytes] = {.pc = k_kernel_begin, .load = -1},
      [k_clears_page] = {.pc = k_kernel_begin, .load = -1, .clears_page = true},
      [k_copies_page] = {.pc = k_kernel_begin, .load = -1, .copies_page = true}};
  if (!g_model->kernel) return;
  qemu_plugin_register_vcpu_tb_exec_cb(translated, on_kernel_block, QEMU_PLUGIN_CB_NO_REGS,
                                       (void*)(uintptr_t)count);
  uint64_t start = qemu_plugin_tb_vaddr(translated);
  double ns = kernel_charge_at(g_model->kernel, start);
  if (ns > 0)
    qemu_plugin_register_vcpu_tb_exec_cb(translated, on_charged_call, QEMU_PLUGIN_CB_NO_REGS,
                                         (void*)(uintptr_t)(ns * 1e3));
  const enum kernel_moves moves = kernel_moves_at(g_model->kernel, start);
  if (moves == k_moves_nothing) return;
  for (size_t i = 0; i < count; i++)
    qemu_plugin_register_vcpu_mem_cb(qemu_plugin_tb_get_insn(translated, i), on_access,
                                     QEMU_PLUGIN_CB_NO_REGS, QEMU_PLUGIN_MEM_RW,
                                     (void*)(uintptr_t)&k_access[moves]);
}

static void on_translate(qemu_plugin_id_t id, struct qemu_plugin_tb* translated) {
  (void)id;
  size_t count = qemu_plugin_tb_n_insns(translated);
  if (qemu_plugin_tb_vaddr(translated) < k_kernel_begin)
    watch_user_block(translated, count);
  else
    watch_kernel_block(translated, count);
}

// All vCPUs are stopped, and nothing translated is left that names a block.
static void on_flush(qemu_plugin_id_t id) {
  (void)id;
  model_forget_blocks(g_model);
}

static void on_end(qemu_plugin_id_t id, void* data) {
  (void)id, (void)data;
  model_mark(g_model, MISS_SECTION_END);
  model_end(g_model);
}

QEMU_PLUGIN_EXPORT int qemu_plugin_install(qemu_plugin_id_t id, const qemu_info_t* info, int argc,
                                           char** argv) {
  const char* path = NULL;
  for (int i = 0; i < argc; i++) {
    if (strncmp(argv[i], "config=", 7) != 0) {
      fprintf(stderr, "omptier timing: argument '%s' is not config=FILE\n", argv[i]);
      return 1;
    }
    path = argv[i] + 7;
  }
  if (!path || !info->system_emulation || strcmp(info->target_name, "x86_64") != 0) {
    fprintf(stderr, "omptier timing: %s\n",
            path ? "only a whole x86_64 machine can be timed" : "config=FILE is missing");
    return 1;
  }
  char error[1024];
  g_model = model_create(path, (uint32_t)info->system.max_vcpus, error, sizeof error);
  if (!g_model) {
    fprintf(stderr, "omptier timing: %s\n", error);
    return 1;
  }
#if QEMU_PLUGIN_VERSION >= 2 // reports guest-physical addresses; QEMU 7.2 adds two offsets instead
  for (uint32_t i = 0; i < g_model->configuration.range_count; i++)
    g_model->configuration.ranges[i].reported = g_model->configuration.ranges[i].physical;
#endif
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translate);
  qemu_plugin_register_flush_cb(id, on_flush);
  qemu_plugin_register_atexit_cb(id, on_end, NULL);
  return 0;
}
