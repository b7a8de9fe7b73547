// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine/timing/model.h"

#include "machine/timing/clock.h"
#include "machine/timing/miss_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// A vCPU sleeps when its debt exceeds k_chunk (shorter sleeps oversleep by more than they last).
// Its credit is limited: more would let it run free for long after the host was busy.
static const double k_chunk = 300e3, k_most_credit = 20e6; // real ns

static const uint64_t k_user_end = UINT64_C(1) << 47;

static bool create_parts(struct model* model, char* error, size_t error_size) {
  const struct configuration* c = &model->configuration;
  snprintf(error, error_size, "out of memory");
  model->llc = shared_cache_create(&c->llc);
  model->nodes = nodes_create(c);
  if (!model->llc || !model->nodes) return false;
  for (uint32_t v = 0; v < c->vcpus; v++) {
    struct vcpu* vcpu = &model->vcpus[v];
    vcpu->number = v;
    vcpu->schedstat = -1;
    if (!core_caches_create(&vcpu->caches, c) || !miss_table_create(&vcpu->misses)) return false;
  }
  if (c->symbols[0] && !(model->kernel = kernel_model_create(c, error, error_size))) return false;
  if (c->events[0] && !(model->events = events_open(c, error, error_size))) return false;
  if (c->misses[0] && !(model->miss_export = miss_export_open(c))) {
    snprintf(error, error_size, "misses file %s: %s", c->misses, strerror(errno));
    return false;
  }
  if (c->statistics[0] && !(model->statistics = fopen(c->statistics, "we"))) {
    snprintf(error, error_size, "statistics file %s: %s", c->statistics, strerror(errno));
    return false;
  }
  return true;
}

struct model* model_create(const char* configuration_path, uint32_t vcpus, char* error,
                           size_t error_size) {
  struct model* model = aligned_alloc(64, sizeof *model);
  if (!model) {
    snprintf(error, error_size, "out of memory");
    return NULL;
  }
  memset(model, 0, sizeof *model);
  pthread_mutex_init(&model->mark_lock, NULL);
  clock_calibrate();
  if (!configuration_read(configuration_path, vcpus, &model->configuration, error, error_size) ||
      !create_parts(model, error, error_size))
    return NULL; // QEMU exits now; nothing needs freeing
  model->on = model->configuration.start_on;
  return model;
}

// How long this thread has waited on the host's run queue so far, in ns.
static uint64_t read_host_delay(const struct vcpu* vcpu) {
  char text[96];
  ssize_t length = vcpu->schedstat >= 0 ? pread(vcpu->schedstat, text, sizeof text - 1, 0) : -1;
  unsigned long long delay = 0;
  if (length <= 0) return 0;
  text[length] = 0;
  return sscanf(text, "%*u %llu", &delay) == 1 ? delay : 0;
}

static void start_paying(struct model* model, struct vcpu* vcpu) {
  vcpu->thread = (pid_t)syscall(SYS_gettid);
  prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
  vcpu->schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  vcpu->host_delay_seen = read_host_delay(vcpu);
  for (uint32_t v = 0; v < model->configuration.vcpus; v++)
    if (v != vcpu->number && model->vcpus[v].thread == vcpu->thread)
      fprintf(stderr,
              "omptier timing: vCPUs %u and %u share a thread, so times mean nothing; start QEMU "
              "with -accel tcg,thread=multi\n",
              v, vcpu->number);
}

// Sleeps for the debt, less the time that the thread waited on the host's run queue.
static void pay(struct model* model, struct vcpu* vcpu) {
  if (!vcpu->thread) start_paying(model, vcpu);
  double delay = (double)(read_host_delay(vcpu) - vcpu->host_delay_seen);
  vcpu->debt -= delay;
  vcpu->counters.host_delay += delay;
  if (vcpu->debt > 0) {
    int64_t start = clock_now(), owed = (int64_t)vcpu->debt;
    struct timespec duration = {owed / 1000000000, owed % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &duration, NULL);
    double slept = (double)(clock_now() - start);
    vcpu->debt -= slept;
    vcpu->counters.slept += slept;
    vcpu->counters.naps++;
  }
  if (vcpu->debt < -k_most_credit) vcpu->debt = -k_most_credit;
  vcpu->host_delay_seen = read_host_delay(vcpu); // the delay of waking up is part of `slept`
}

static inline void owe(struct model* model, struct vcpu* vcpu, double ns) {
  vcpu->debt += ns;
  if (vcpu->debt > k_chunk) pay(model, vcpu);
}

// One vCPU requests a reset; each of the others carries it out when it next gets here.
static void catch_up_with_resets(struct model* model, struct vcpu* vcpu) {
  unsigned epoch = atomic_load_explicit(&model->epoch, memory_order_relaxed);
  if (vcpu->epoch == epoch) return;
  vcpu->epoch = epoch;
  vcpu->debt = 0;
  core_caches_clear(&vcpu->caches);
  memset(&vcpu->counters, 0, sizeof vcpu->counters);
}

static void write_back(struct model* model, struct vcpu* vcpu, uint64_t line) {
  const struct memory_range* range = configuration_range(&model->configuration, line * k_line_size);
  if (!range) return;
  struct node_counters* counters = &vcpu->counters.node[range->node];
  counters->write_backs++;
  if (!model->configuration.sleep) return;
  double queue =
      nodes_write_back(model->nodes, vcpu->number, range->node, line, clock_now(), vcpu->debt);
  counters->wait += queue;
  counters->queue += queue;
  vcpu->debt += queue;
}

// Charges an access to memory. Returns the real ns it took.
static double wait_for_memory(struct model* model, struct vcpu* vcpu, uint32_t node, uint64_t line,
                              bool store, bool streamed) {
  double latency = nodes_latency(model->nodes, vcpu->number, node, store, streamed);
  if (!model->configuration.sleep) return latency;
  double wait =
      nodes_read(model->nodes, vcpu->number, node, line, store, streamed, clock_now(), vcpu->debt);
  struct node_counters* counters = &vcpu->counters.node[node];
  counters->wait += wait;
  counters->queue += wait - latency;
  vcpu->debt += wait;
  return wait;
}

struct miss {
  uint64_t pc, address, line; // line as reported
  bool store, streamed;
};

static void count_miss(struct model* model, struct vcpu* vcpu, const struct miss* miss) {
  uint64_t reported = miss->line * k_line_size;
  const struct memory_range* range = configuration_range(&model->configuration, reported);
  if (!range) {
    vcpu->counters.elsewhere++;
    return;
  }
  struct node_counters* counters = &vcpu->counters.node[range->node];
  *(miss->store ? &counters->writes : &counters->reads) += 1;
  counters->streamed += miss->streamed;
  uint64_t physical = reported - range->reported + range->physical + miss->address % k_line_size;
  if (model->miss_export)
    miss_table_count(&vcpu->misses, vcpu->epoch, miss->address / k_page_size,
                     physical / k_page_size, range->node, miss->store, miss->streamed);
  double wait = wait_for_memory(model, vcpu, range->node, miss->line, miss->store, miss->streamed);
  if (!model->events || miss->pc >= k_user_end || miss->address >= k_user_end) return;
  struct event_record record = {
      .pc = miss->pc,
      .virtual_address = miss->address,
      .physical_address = physical,
      .latency = (float)(wait / model->configuration.dilation),
      .vcpu = (uint16_t)vcpu->number,
      .node = (uint8_t)range->node,
      .flags = (uint8_t)((miss->store ? EVENT_STORE : 0) | (miss->streamed ? EVENT_STREAMED : 0)),
      .level = EVENT_LEVEL_MEMORY,
  };
  events_miss(model->events, vcpu->number, &record);
}

void model_access(struct model* model, struct vcpu* vcpu, uint64_t pc, uint64_t address,
                  uint64_t reported, bool store) {
  const struct configuration* c = &model->configuration;
  catch_up_with_resets(model, vcpu);
  vcpu->counters.l1_misses++;
  struct miss miss = {pc, address, reported / k_line_size, store, false};
  uint64_t evicted = UINT64_MAX;
  if (core_l2_access(&vcpu->caches, miss.line)) {
    // Marks the line dirty; if the last level has lost it meanwhile, it returns at no cost.
    if (store)
      shared_cache_access(model->llc, miss.line, true, &evicted);
    else
      vcpu->debt += c->l2.hit * c->dilation;
  } else {
    vcpu->counters.l2_misses++;
    miss.streamed = core_stream_access(&vcpu->caches, miss.line);
    if (!shared_cache_access(model->llc, miss.line, store, &evicted))
      count_miss(model, vcpu, &miss);
    else if (!store && !miss.streamed)
      vcpu->debt += c->llc.hit * c->dilation;
  }
  if (evicted != UINT64_MAX) write_back(model, vcpu, evicted);
  if (vcpu->debt > k_chunk && c->sleep) pay(model, vcpu);
}

void model_charge(struct model* model, struct vcpu* vcpu, double ns) {
  catch_up_with_resets(model, vcpu);
  vcpu->counters.kernel_charges++;
  if (model->configuration.sleep) owe(model, vcpu, ns * model->configuration.dilation);
}

void model_switch(struct model* model, struct vcpu* vcpu, bool on) {
  if (on && model->events) events_publish(model->events);
  if (!on && vcpu->debt > 0 && model->configuration.sleep) pay(model, vcpu);
  atomic_store(&model->on, on);
}

void model_reset(struct model* model) {
  shared_cache_clear(model->llc);
  nodes_clear(model->nodes, clock_now());
  atomic_fetch_add(&model->epoch, 1);
}

void model_synchronise(struct model* model) {
  if (model->events) events_synchronise(model->events);
}

void model_mark(struct model* model, uint32_t mark) {
  pthread_mutex_lock(&model->mark_lock);
  if (model->statistics) statistics_write(model, mark);
  struct miss_table* tables[k_max_vcpus];
  for (uint32_t v = 0; v < model->configuration.vcpus; v++)
    tables[v] = &model->vcpus[v].misses;
  if (model->miss_export &&
      !miss_export_section(model->miss_export, mark, tables, model->configuration.vcpus,
                           atomic_load(&model->epoch)))
    fprintf(stderr, "omptier timing: misses file %s: %s\n", model->configuration.misses,
            strerror(errno));
  pthread_mutex_unlock(&model->mark_lock);
}
