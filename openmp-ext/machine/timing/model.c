// SPDX-License-Identifier: GPL-2.0-or-later
#include "machine/timing/model.h"

#include "machine/timing/clock.h"
#include "machine/timing/miss_file.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

// A vCPU sleeps when it is a chunk of modelled time ahead, so that up to dilation 500 a larger one
// makes what the host delays smaller. In real time: sleeps below 0.3 ms last longer than what they
// are for, and above 3 ms delay interrupts.
static const double k_chunk = 6e3;                             // undilated ns
static const double k_least_chunk = 300e3, k_most_chunk = 3e6; // real ns
// In chunks, how far a vCPU may be behind; more would let it run free for long after the host was
// busy. At a node's queue one that is further behind is taken for one that was idle.
static const double k_most_behind = 33, k_behind_in_queue = 3.3;
// Shorter times (real ns) are not judged: less than k_start of modelled time is a command's start,
// mostly QEMU's translation of its code; in what a program switches on itself, delays of the host
// are seen.
static const double k_start = 500e6, k_stretch = 250e6, k_much_lag = 0.1;

static const uint64_t k_user_end = UINT64_C(1) << 47;

static bool create_parts(struct model* model, char* error, size_t error_size) {
  const struct configuration* c = &model->configuration;
  snprintf(error, error_size, "out of memory");
  model->blocks = known_blocks_create();
  model->llc = shared_cache_create(&c->llc);
  model->arrivals = arrivals_create();
  model->chunk = fmin(fmax(k_chunk * c->dilation, k_least_chunk), k_most_chunk);
  model->nodes = nodes_create(c, model->chunk);
  if (!model->blocks || !model->llc || !model->arrivals || !model->nodes) return false;
  for (uint32_t v = 0; v < c->vcpus; v++) {
    struct vcpu* vcpu = &model->vcpus[v];
    vcpu->number = v;
    vcpu->schedstat = -1;
    core_create(&vcpu->core, c);
    if (!core_caches_create(&vcpu->caches, c) || !miss_table_create(&vcpu->misses)) return false;
  }
  if (c->symbols[0] && !(model->kernel = kernel_model_create(c, error, error_size))) return false;
  if (c->events[0] && (!(model->pages = made_pages_create()) ||
                       !(model->events = events_open(c, error, error_size))))
    return false;
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
  for (uint32_t v = 0; v < k_max_vcpus; v++)
    pthread_mutex_init(&model->vcpus[v].period_lock, NULL);
  clock_calibrate();
  if (!configuration_read(configuration_path, vcpus, &model->configuration, error, error_size) ||
      !create_parts(model, error, error_size))
    return NULL; // QEMU exits now; nothing needs freeing
  return model;
}

// Real ns that this thread has used a processor or waited for one.
static double emulation(const struct vcpu* vcpu) {
  char text[96];
  ssize_t length = vcpu->schedstat >= 0 ? pread(vcpu->schedstat, text, sizeof text - 1, 0) : -1;
  unsigned long long delay = 0;
  if (length > 0) {
    text[length] = 0;
    sscanf(text, "%*u %llu", &delay);
  }
  struct timespec used;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return (double)used.tv_sec * 1e9 + (double)used.tv_nsec + (double)delay;
}

static void start_paying(struct model* model, struct vcpu* vcpu) {
  vcpu->thread = (pid_t)syscall(SYS_gettid);
  prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
  vcpu->schedstat = open("/proc/thread-self/schedstat", O_RDONLY | O_CLOEXEC);
  for (uint32_t v = 0; v < model->configuration.vcpus; v++)
    if (v != vcpu->number && model->vcpus[v].thread == vcpu->thread)
      fprintf(stderr,
              "omptier timing: vCPUs %u and %u share a thread, so times mean nothing; start QEMU "
              "with -accel tcg,thread=multi\n",
              v, vcpu->number);
}

// It caught up: others may have waited at a barrier for as long as it was behind.
static void count_late(const struct model* model, struct vcpu* vcpu) {
  if (-vcpu->behind > model->chunk) {
    vcpu->counters.late -= vcpu->behind;
    vcpu->period_late -= vcpu->behind;
  }
  vcpu->behind = 0;
}

// What it is behind by more than that it stays behind for good.
static void count_period(const struct model* model, struct vcpu* vcpu, double modelled) {
  double most_behind = k_most_behind * model->chunk;
  pthread_mutex_lock(&vcpu->period_lock);
  vcpu->period_modelled += modelled;
  if (vcpu->ahead > model->chunk) {
    count_late(model, vcpu);
  } else if (vcpu->ahead < -most_behind) {
    double lagged = -most_behind - vcpu->ahead;
    vcpu->counters.lagged += lagged;
    vcpu->period_lagged += lagged;
    vcpu->ahead = -most_behind;
  }
  if (vcpu->ahead < vcpu->behind) vcpu->behind = vcpu->ahead;
  pthread_mutex_unlock(&vcpu->period_lock);
}

// Sleeps until real time has caught up.
static void pay(struct model* model, struct vcpu* vcpu) {
  struct vcpu_counters* counters = &vcpu->counters;
  double modelled = (vcpu->core.now - vcpu->paid) * model->configuration.dilation;
  double seen = emulation(vcpu), used = seen - vcpu->emulation_seen;
  vcpu->paid = vcpu->core.now;
  vcpu->ahead += modelled - used;
  counters->modelled += modelled;
  counters->emulated += used;
  count_period(model, vcpu, modelled);
  if (vcpu->ahead > model->chunk) {
    int64_t start = clock_now(), owed = (int64_t)vcpu->ahead;
    struct timespec duration = {owed / 1000000000, owed % 1000000000};
    clock_nanosleep(CLOCK_MONOTONIC, 0, &duration, NULL);
    double slept = (double)(clock_now() - start);
    vcpu->ahead -= slept;
    counters->slept += slept;
    counters->naps++;
    seen = emulation(vcpu); // the delay of waking up is part of `slept`
  }
  vcpu->emulation_seen = seen;
  vcpu->paid_at = clock_now();
}

static inline void pay_if_due(struct model* model, struct vcpu* vcpu) {
  if ((vcpu->core.now - vcpu->paid) * model->configuration.dilation > model->chunk &&
      model->configuration.sleep)
    pay(model, vcpu);
}

// For all vCPUs, whose threads may run on. The latest is judged, as if the others waited for it
// alone, by the time of the vCPU that has most: one that hardly did anything delays nobody much.
static void end_period(struct model* model) {
  double most = 0, lagged = 0;
  for (uint32_t v = 0; v < model->configuration.vcpus; v++) {
    struct vcpu* vcpu = &model->vcpus[v];
    pthread_mutex_lock(&vcpu->period_lock);
    count_late(model, vcpu);
    most = fmax(most, vcpu->period_modelled);
    lagged = fmax(lagged, vcpu->period_lagged + vcpu->period_late);
    vcpu->period_modelled = vcpu->period_lagged = vcpu->period_late = 0;
    pthread_mutex_unlock(&vcpu->period_lock);
  }
  bool is_judged = atomic_load(&model->runs_command) ? most > k_start : most + lagged > k_stretch;
  double lag = is_judged && most > 0 ? lagged / most : 0;
  double worst = atomic_load(&model->worst_lag);
  while (lag > worst && !atomic_compare_exchange_weak(&model->worst_lag, &worst, lag))
    ;
}

// Once for each reset, and at the end.
static void report_lag(struct model* model) {
  double worst = atomic_exchange(&model->worst_lag, 0);
  if (model->configuration.sleep && worst > k_much_lag)
    fprintf(stderr,
            "omptier timing: emulation was up to %.0f %% slower than the machine that it models, "
            "so its fastest times are too long; raise the dilation (--timed=%g), or leave the "
            "host's processors to it\n",
            100 * worst, 2 * model->configuration.dilation);
}

void model_end(struct model* model) {
  end_period(model);
  report_lag(model);
}

// One vCPU requests a reset or switches the model on; each of the others follows when it next gets
// here.
static void catch_up_with_switches(struct model* model, struct vcpu* vcpu) {
  unsigned epoch = atomic_load_explicit(&model->epoch, memory_order_relaxed),
           switched = atomic_load_explicit(&model->switched, memory_order_relaxed);
  if (vcpu->epoch == epoch && vcpu->switched == switched) return;
  if (vcpu->epoch != epoch) {
    core_caches_clear(&vcpu->caches);
    memset(&vcpu->counters, 0, sizeof vcpu->counters);
  }
  if (!vcpu->thread) start_paying(model, vcpu);
  vcpu->epoch = epoch;
  vcpu->switched = switched;
  core_clear(&vcpu->core);
  core_streams_restart(&vcpu->caches);
  vcpu->ahead = vcpu->paid = 0;
  vcpu->paid_at = clock_now();
  vcpu->emulation_seen = emulation(vcpu);
}

// Real ns that the core's time is ahead of real time. Where a vCPU was idle, it is not behind.
static double ahead_of(const struct model* model, const struct vcpu* vcpu, double core_time,
                       int64_t now) {
  double ahead = vcpu->ahead + (vcpu->core.now - vcpu->paid) * model->configuration.dilation -
                 (double)(now - vcpu->paid_at);
  return fmax(ahead, -k_behind_in_queue * model->chunk) +
         (core_time - vcpu->core.now) * model->configuration.dilation;
}

void model_block(struct model* model, struct vcpu* vcpu, const struct block* block) {
  catch_up_with_switches(model, vcpu);
  core_block(&vcpu->core, block);
  pay_if_due(model, vcpu);
}

void model_kernel_block(struct model* model, struct vcpu* vcpu, uint32_t instructions) {
  catch_up_with_switches(model, vcpu);
  core_instructions(&vcpu->core, instructions);
  pay_if_due(model, vcpu);
}

static void write_back(struct model* model, struct vcpu* vcpu, uint64_t line) {
  const struct memory_range* range = configuration_range(&model->configuration, line * k_line_size);
  if (!range) return;
  struct node_counters* counters = &vcpu->counters.node[range->node];
  counters->write_backs++;
  if (!model->configuration.sleep) return;
  int64_t now = clock_now();
  double queue = nodes_write_back(model->nodes, vcpu->number, range->node, line, now,
                                  ahead_of(model, vcpu, vcpu->core.now, now));
  counters->wait += queue;
  counters->queue += queue;
  vcpu->core.now += queue / model->configuration.dilation;
}

struct miss {
  const struct block_access* access;
  uint64_t address, line; // line as reported
  bool store, streamed;
  double stream_began; // in the core's time
};

// What a miss takes, in core time, from its begin. Notes when its line will be there.
static double time_of(struct model* model, struct vcpu* vcpu, uint32_t node,
                      const struct miss* miss, double begin, double latency) {
  int64_t now = clock_now();
  double ahead = ahead_of(model, vcpu, begin, now);
  double queue = nodes_read(model->nodes, vcpu->number, node, miss->line, now, ahead);
  arrivals_add(model->arrivals, miss->line, now + (int64_t)(ahead + latency + queue));
  struct node_counters* counters = &vcpu->counters.node[node];
  counters->wait += latency + queue;
  counters->queue += queue;
  return (latency + queue) / model->configuration.dilation;
}

static bool is_prefetched(const struct miss* miss) {
  return miss->streamed && !miss->access->locked;
}
static bool is_buffered(const struct miss* miss) {
  return miss->store && !miss->access->locked;
}

// When the line is requested, in core time. idle: undilated latency.
static double begin_of(struct core* core, const struct miss* miss, double idle) {
  if (is_buffered(miss)) return core_store(core, miss->access);
  if (is_prefetched(miss)) return core_prefetch(core, idle, miss->stream_began);
  return core_load(core, miss->access);
}

static void ends(struct core* core, const struct miss* miss, double begin, double end) {
  if (is_buffered(miss))
    core_store_ends(core, begin, end);
  else if (is_prefetched(miss))
    core_prefetch_ends(core, miss->access, miss->address, end);
  else
    core_load_ends(core, miss->access, miss->address, begin, end);
}

// Lets the core wait for a line of memory, or overlap that with what it does. Returns the undilated
// ns that the line took.
static double wait_for_memory(struct model* model, struct vcpu* vcpu, uint32_t node,
                              const struct miss* miss) {
  struct core* core = &vcpu->core;
  double latency = nodes_latency(model->nodes, vcpu->number, node, miss->line, miss->store);
  const double idle = latency / model->configuration.dilation;
  if (!model->configuration.sleep || miss->access->past_caches) return idle;
  double begin = begin_of(core, miss, idle);
  double end = begin + time_of(model, vcpu, node, miss, begin, latency);
  ends(core, miss, begin, end);
  if (is_buffered(miss) || !is_prefetched(miss)) return end - begin;
  return end > core->now ? end - core->now : 0;
}

// A load of a line that another vCPU's miss brings, unless it has arrived. It takes no longer than
// if this vCPU, which may be behind the other one, had requested it itself from an idle node. hit:
// ns of a line that has arrived. (A vCPU that was idle is thought to be behind until it next pays,
// and may wait for what is there already.)
static bool wait_for_arrival(struct model* model, struct vcpu* vcpu, const struct miss* miss,
                             double hit) {
  const int64_t arrival = arrivals_of(model->arrivals, miss->line);
  if (arrival == INT64_MIN || !model->configuration.sleep) return false;
  struct core* core = &vcpu->core;
  const int64_t now = clock_now();
  const double away = (double)(arrival - now) - ahead_of(model, vcpu, core->now, now);
  const struct memory_range* range =
      configuration_range(&model->configuration, miss->line * k_line_size);
  if (away <= 0 || !range) return false;
  const double arrives = core->now + away / model->configuration.dilation;
  const double idle =
      nodes_latency(model->nodes, vcpu->number, range->node, miss->line, miss->store) /
      model->configuration.dilation;
  const double begin = begin_of(core, miss, idle);
  ends(core, miss, begin, fmax(begin + hit, fmin(begin + idle, arrives)));
  return true;
}

static uint64_t physical_of(const struct memory_range* range, uint64_t reported) {
  return reported - range->reported + range->physical;
}

static void record_miss(struct model* model, struct vcpu* vcpu, const struct memory_range* range,
                        const struct miss* miss, uint64_t physical, double taken) {
  struct event_record record = {
      .pc = miss->access->pc,
      .virtual_address = miss->address,
      .physical_address = physical,
      .latency = (float)taken,
      .vcpu = (uint16_t)vcpu->number,
      .node = (uint8_t)range->node,
      .flags = (uint8_t)((miss->store ? EVENT_STORE : 0) | (miss->streamed ? EVENT_STREAMED : 0)),
      .level = EVENT_LEVEL_MEMORY,
  };
  events_miss(model->events, vcpu->number, &record);
}

// Whose page the kernel makes shows at its first touch. A copy's loads go with its next store that
// misses; loads that are left over when another page is made had none.
static void note_made_page(struct model* model, struct vcpu* vcpu, const struct miss* miss,
                           double taken) {
  const uint64_t page = miss->line * k_line_size / k_page_size;
  struct page_misses* copied = &vcpu->copied;
  if (miss->access->clears_page || (!miss->store && page != vcpu->copied_page))
    *copied = (struct page_misses){0};
  if (!miss->store) {
    if (miss->access->clears_page) return; // its own stack
    vcpu->copied_page = page;
  }
  *(miss->store ? &copied->stores : &copied->loads) += 1;
  copied->streamed += miss->streamed;
  copied->nanoseconds += (uint32_t)taken;
  if (!miss->store) return;
  made_pages_add(model->pages, page, copied);
  *copied = (struct page_misses){0};
}

// User code touches a page, perhaps for the first time: the kernel's misses on it are recorded as
// of the instruction that needed it, line by line.
static void record_made_page(struct model* model, struct vcpu* vcpu,
                             const struct block_access* access, uint64_t address,
                             uint64_t reported) {
  struct page_misses made;
  if (!made_pages_take(model->pages, reported / k_page_size, &made)) return;
  const struct memory_range* range = configuration_range(&model->configuration, reported);
  if (!range) return;
  const uint32_t count = made.loads + made.stores;
  struct event_record record = {
      .pc = access->pc,
      .latency = count ? (float)made.nanoseconds / (float)count : 0,
      .vcpu = (uint16_t)vcpu->number,
      .node = (uint8_t)range->node,
      .level = EVENT_LEVEL_MEMORY,
  };
  for (uint32_t i = 0; i < count; i++) {
    const uint64_t offset = i * (uint64_t)k_line_size % k_page_size;
    record.virtual_address = address / k_page_size * k_page_size + offset;
    record.physical_address = physical_of(range, reported) / k_page_size * k_page_size + offset;
    record.flags = (uint8_t)(EVENT_KERNEL | (i < made.stores ? EVENT_STORE : 0) |
                             (2 * made.streamed >= count ? EVENT_STREAMED : 0));
    events_miss(model->events, vcpu->number, &record);
  }
}

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
  uint64_t physical = physical_of(range, reported) + miss->address % k_line_size;
  if (model->miss_export)
    miss_table_count(&vcpu->misses, vcpu->epoch, miss->address / k_page_size,
                     physical / k_page_size, range->node, miss->store, miss->streamed);
  double taken = wait_for_memory(model, vcpu, range->node, miss);
  if (!model->events) return;
  if (miss->access->clears_page || miss->access->copies_page)
    note_made_page(model, vcpu, miss, taken);
  else if (miss->access->pc < k_user_end && miss->address < k_user_end)
    record_miss(model, vcpu, range, miss, physical, taken);
}

// A load that hits a cache further out.
static void wait_for_cache(struct vcpu* vcpu, const struct miss* miss, double ns) {
  if (!(ns > 0)) return core_hit(&vcpu->core, miss->access, miss->address);
  double begin = core_load(&vcpu->core, miss->access);
  core_load_ends(&vcpu->core, miss->access, miss->address, begin, begin + ns);
}

void model_access(struct model* model, struct vcpu* vcpu, const struct block_access* access,
                  uint64_t address, uint64_t reported, bool store) {
  const struct configuration* c = &model->configuration;
  catch_up_with_switches(model, vcpu);
  vcpu->counters.l1_misses++;
  if (model->events && access->pc < k_user_end && address < k_user_end)
    record_made_page(model, vcpu, access, address, reported);
  struct miss miss = {access, address, reported / k_line_size, store, false, 0};
  if (access->past_caches && store) { // the line is written at once, without being read
    count_miss(model, vcpu, &miss);
    write_back(model, vcpu, miss.line);
    core_stored(&vcpu->core, access, address);
    pay_if_due(model, vcpu);
    return;
  }
  const bool waits = !store || access->locked; // QEMU reports atomic instructions as stores
  uint64_t evicted = UINT64_MAX;
  if (core_l2_access(&vcpu->caches, miss.line)) {
    // Marks the line dirty; if the last level has lost it meanwhile, it returns at no cost.
    if (store) shared_cache_access(model->llc, miss.line, true, &evicted);
    if (waits) wait_for_cache(vcpu, &miss, c->l2.hit);
  } else {
    vcpu->counters.l2_misses++;
    miss.streamed = core_stream_access(&vcpu->caches, miss.line, core_address(&vcpu->core, access),
                                       &miss.stream_began);
    if (!shared_cache_access(model->llc, miss.line, store, &evicted))
      count_miss(model, vcpu, &miss);
    else if (waits) {
      const double hit = miss.streamed ? 0 : c->llc.hit;
      if (!wait_for_arrival(model, vcpu, &miss, hit)) wait_for_cache(vcpu, &miss, hit);
    }
  }
  if (store) core_stored(&vcpu->core, access, address);
  if (evicted != UINT64_MAX) write_back(model, vcpu, evicted);
  pay_if_due(model, vcpu);
}

void model_forget_blocks(struct model* model) {
  for (uint32_t v = 0; v < model->configuration.vcpus; v++)
    model->vcpus[v].core.block = NULL;
  known_blocks_clear(model->blocks);
}

void model_charge(struct model* model, struct vcpu* vcpu, double ns) {
  catch_up_with_switches(model, vcpu);
  vcpu->counters.kernel_charges++;
  if (!model->configuration.sleep) return;
  vcpu->core.now += ns;
  pay_if_due(model, vcpu);
}

void model_switch(struct model* model, struct vcpu* vcpu, bool on, bool runs_command) {
  if (on && model->events) events_publish(model->events);
  if (on) {
    end_period(model);
    atomic_store(&model->runs_command, runs_command);
    atomic_fetch_add(&model->switched, 1);
  } else if (atomic_load(&model->on) && model->configuration.sleep) {
    core_drain(&vcpu->core);
    pay(model, vcpu);
  }
  atomic_store(&model->on, on);
}

void model_reset(struct model* model) {
  if (!atomic_load(&model->on)) end_period(model);
  report_lag(model);
  shared_cache_clear(model->llc);
  arrivals_clear(model->arrivals);
  nodes_clear(model->nodes, clock_now());
  if (model->pages) made_pages_clear(model->pages);
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
