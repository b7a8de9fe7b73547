// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An OMPT tool as tracers have them: it keeps a record of its own in every thread, region and task
// (ompt_data_t), counts the events, and complains when what it left there is not what it finds. At
// the end it writes its counts to the file OTHER_TOOL_COUNTS. With OTHER_TOOL_DECLINES it wants
// nothing.
#include <omp-tools.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { k_mark = 0x5ca1ab1e };

static atomic_uint threads, threads_over, regions, regions_over, tasks, tasks_over, barriers, loops;
static atomic_uint foreign; // data that somebody else has written to

static void mark(ompt_data_t* data) {
  if (data->value != 0) atomic_fetch_add(&foreign, 1);
  data->value = k_mark;
}
static void verify(const ompt_data_t* data) {
  if (data->value != k_mark) atomic_fetch_add(&foreign, 1);
}

static ompt_get_callback_t get_callback;

static void on_thread_begin(ompt_thread_t type, ompt_data_t* thread) {
  (void)type;
  atomic_fetch_add(&threads, 1);
  mark(thread);
}
static void on_thread_end(ompt_data_t* thread) {
  atomic_fetch_add(&threads_over, 1);
  verify(thread);
}
static void on_parallel_begin(ompt_data_t* task, const ompt_frame_t* frame, ompt_data_t* parallel,
                              unsigned requested, int flags, const void* codeptr) {
  (void)task, (void)frame, (void)requested, (void)flags;
  ompt_callback_t found = NULL; // the runtime tells only while it runs
  if (get_callback(ompt_callback_parallel_begin, &found) != 1 ||
      found != (ompt_callback_t)on_parallel_begin)
    atomic_fetch_add(&foreign, 1);
  if (codeptr == NULL) atomic_fetch_add(&foreign, 1);
  atomic_fetch_add(&regions, 1);
  mark(parallel);
}
static void on_parallel_end(ompt_data_t* parallel, ompt_data_t* task, int flags,
                            const void* codeptr) {
  (void)task, (void)flags, (void)codeptr;
  atomic_fetch_add(&regions_over, 1);
  verify(parallel);
}
static void on_implicit_task(ompt_scope_endpoint_t endpoint, ompt_data_t* parallel,
                             ompt_data_t* task, unsigned count, unsigned index, int flags) {
  (void)count, (void)index;
  if ((flags & ompt_task_initial) != 0) return;
  if (endpoint == ompt_scope_begin) {
    atomic_fetch_add(&tasks, 1);
    verify(parallel);
    mark(task);
  } else {
    atomic_fetch_add(&tasks_over, 1);
    verify(task);
  }
}
static void on_sync(ompt_sync_region_t kind, ompt_scope_endpoint_t endpoint, ompt_data_t* parallel,
                    ompt_data_t* task, const void* codeptr) {
  (void)kind, (void)parallel, (void)task, (void)codeptr;
  if (endpoint == ompt_scope_begin) atomic_fetch_add(&barriers, 1);
}
static void on_work(ompt_work_t type, ompt_scope_endpoint_t endpoint, ompt_data_t* parallel,
                    ompt_data_t* task, uint64_t count, const void* codeptr) {
  (void)type, (void)parallel, (void)task, (void)count, (void)codeptr;
  if (endpoint == ompt_scope_begin) atomic_fetch_add(&loops, 1);
}

static int initialize(ompt_function_lookup_t look_up, int device, ompt_data_t* tool) {
  (void)device;
  if (getenv("OTHER_TOOL_DECLINES") != NULL) return 0;
  mark(tool);
  const ompt_set_callback_t set = (ompt_set_callback_t)look_up("ompt_set_callback");
  get_callback = (ompt_get_callback_t)look_up("ompt_get_callback");
  set(ompt_callback_thread_begin, (ompt_callback_t)on_thread_begin);
  set(ompt_callback_thread_end, (ompt_callback_t)on_thread_end);
  set(ompt_callback_parallel_begin, (ompt_callback_t)on_parallel_begin);
  set(ompt_callback_parallel_end, (ompt_callback_t)on_parallel_end);
  set(ompt_callback_implicit_task, (ompt_callback_t)on_implicit_task);
  set(ompt_callback_sync_region, (ompt_callback_t)on_sync);
  set(ompt_callback_work, (ompt_callback_t)on_work);
  return 1;
}

static void finalize(ompt_data_t* tool) {
  verify(tool);
  const char* name = getenv("OTHER_TOOL_COUNTS");
  FILE* file = name != NULL ? fopen(name, "w") : NULL;
  if (file == NULL) return;
  fprintf(file,
          "{\"threads\": %u, \"regions\": %u, \"regions_over\": %u, \"tasks\": %u, "
          "\"barriers\": %u, \"loops\": %u, \"foreign\": %u}\n",
          threads, regions, regions_over, tasks, barriers, loops, foreign);
  fclose(file);
}

ompt_start_tool_result_t* ompt_start_tool(unsigned omp_version, const char* runtime_version) {
  static ompt_start_tool_result_t result = {initialize, finalize, {0}};
  (void)omp_version, (void)runtime_version;
  return &result;
}
