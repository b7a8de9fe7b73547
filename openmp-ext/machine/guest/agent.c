/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The guest's init program (/init of the initial RAM file system, statically linked). It loads the
 * modules, opens the port to the launcher and sends READY; then the launcher may save the machine.
 * When the request arrives (at once, or after a restore days later) it sets the clock, adds
 * entropy, mounts the file systems (files.c), runs the program, relays its input and output, and
 * reports how it ended (relay.c). Further requests may follow. It never returns: the launcher ends
 * the machine.
 *
 * As process 1 it must not exit; every failure is a FAILED frame with one line of text.
 */
#define _GNU_SOURCE
#include "agent.h"
#include "port.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/random.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void load_module(const char* name) {
  char path[256];
  snprintf(path, sizeof path, "/modules/%s", name);
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) fail("%s: %s", path, strerror(errno));
  if (syscall(SYS_finit_module, file, "", 0) != 0 && errno != EEXIST)
    fail("module %s: %s", name, strerror(errno));
  close(file);
}

static void load_modules(const char* list) {
  FILE* names = fopen(list, "re");
  if (!names) fail("%s: %s", list, strerror(errno));
  char name[128];
  while (fscanf(names, "%127s", name) == 1)
    load_module(name);
  fclose(names);
}

static void must_mount(const char* type, const char* where) {
  mkdir(where, 0755);
  if (mount(type, where, type, 0, "") != 0) fail("mount %s: %s", where, strerror(errno));
}

/* Splits the strings of a RUN frame, which stays in memory as long as the agent.
 *   arg=, env=NAME=value   in order
 *   cwd=PATH  folder=PATH (shared read-write; may be missing)  host=NAME
 *   time=SECONDS.NANOSECONDS  seed=32 raw bytes as hexadecimal
 *   user=UID  group=GID  unprivileged=1  capability=NUMBER
 *   model=1 (the time model is attached)  dilation=NUMBER (it makes memory so much slower)
 *   more=1 (this request is not the last) */
static void read_request(struct request* request, char* text, size_t size) {
  size_t strings = 0;
  for (size_t i = 0; i < size; ++i)
    strings += text[i] == 0;
  request->arguments = calloc(strings + 1, sizeof(char*));
  request->environment = calloc(strings + 1, sizeof(char*));
  request->capability = -1;
  size_t arguments = 0, variables = 0;
  for (char* at = text; at < text + size; at += strlen(at) + 1) {
    char* value = strchr(at, '=');
    if (!value) fail("request without a value: %s", at);
    ++value;
    size_t key = (size_t)(value - 1 - at);
#define KEY(name) (key == sizeof(name) - 1 && memcmp(at, name, key) == 0)
    if (KEY("arg"))
      request->arguments[arguments++] = value;
    else if (KEY("env"))
      request->environment[variables++] = value;
    else if (KEY("cwd"))
      request->folder = value;
    else if (KEY("folder"))
      request->shared = value;
    else if (KEY("host"))
      request->host = value;
    else if (KEY("time"))
      request->time = value;
    else if (KEY("seed"))
      request->seed = value;
    else if (KEY("user"))
      request->user = (unsigned)strtoul(value, NULL, 10);
    else if (KEY("group"))
      request->group = (unsigned)strtoul(value, NULL, 10);
    else if (KEY("unprivileged"))
      request->unprivileged = 1;
    else if (KEY("capability"))
      request->capability = atoi(value);
    else if (KEY("model"))
      request->model = 1;
    else if (KEY("dilation"))
      request->dilation = strtod(value, NULL);
    else if (KEY("more"))
      request->more = 1;
    else
      fail("unknown request: %s", at);
#undef KEY
  }
  if (arguments == 0 || !request->folder) fail("request without a command or folder");
}

/* A restored machine has the clock and the random state of the time when it was saved. */
static void refresh(const struct request* request) {
  char* rest;
  struct timespec now = {strtoll(request->time ? request->time : "0", &rest, 10), 0};
  if (*rest == '.') now.tv_nsec = strtol(rest + 1, NULL, 10);
  if (now.tv_sec > 0) clock_settime(CLOCK_REALTIME, &now);
  int file = open("/dev/urandom", O_WRONLY | O_CLOEXEC);
  if (file < 0 || !request->seed) return;
  /* The kernel's structure ends in a flexible array: the seed goes behind its head. */
  enum { seed_size = 64 };
  _Alignas(struct rand_pool_info) char pool[sizeof(struct rand_pool_info) + seed_size] = {0};
  struct rand_pool_info head = {.entropy_count = 256, .buf_size = seed_size};
  memcpy(pool, &head, sizeof head);
  memcpy(pool + sizeof head, request->seed, strnlen(request->seed, seed_size));
  ioctl(file, RNDADDENTROPY, pool);
  ioctl(file, RNDRESEEDCRNG);
  close(file);
}

/* khugepaged copies into huge pages every 10 s, by a clock that is not dilated: a quarter of the
 * time of a step in slow memory. Setting it begins a scan, so each program begins as in a machine
 * of its own. */
static void slow_khugepaged(const struct request* request) {
  static const char file[] = "/sys/kernel/mm/transparent_hugepage/khugepaged/scan_sleep_millisecs";
  if (!(request->dilation > 1)) return;
  if (access(file, F_OK) != 0) return; /* a kernel without huge pages */
  char milliseconds[32];
  snprintf(milliseconds, sizeof milliseconds, "%.0f", 10e3 * request->dilation);
  put(file, milliseconds);
}

/* The strings of the next RUN frame. An end of input may come before it, for a program that ended
 * without reading. */
static char* next_request(size_t* size) {
  struct omptier_frame_head head;
  do
    if (read_all(agent_port(), &head, sizeof head) != 0) fail("the launcher went away");
  while (head.type == OMPTIER_FRAME_INPUT_END);
  if (head.type != OMPTIER_FRAME_RUN || head.length > OMPTIER_RUN_MAX)
    fail("expected a request, got frame %u of %u bytes", head.type, head.length);
  char* text = malloc(head.length + 1);
  if (!text || read_all(agent_port(), text, head.length) != 0) fail("the request was cut off");
  text[head.length] = 0;
  *size = head.length;
  return text;
}

int main(void) {
  must_mount("proc", "/proc");
  must_mount("sysfs", "/sys");
  must_mount("devtmpfs", "/dev");
  int console = open("/dev/console", O_RDWR | O_NOCTTY);
  if (console >= 0)
    for (int standard = 0; standard < 3; ++standard)
      dup2(console, standard);
  load_modules("/modules/load-order");
  if (access("/modules/nvdimm-load-order", R_OK) == 0) {
    load_modules("/modules/nvdimm-load-order");
    set_up_nvdimms();
  }
  open_port();
  send_frame(OMPTIER_FRAME_READY, NULL, 0);

  for (int first = 1, more = 1; more; first = 0) {
    size_t size;
    char* text = next_request(&size);
    struct request request = {0};
    read_request(&request, text, size);
    if (first) {
      refresh(&request);
      lay_out_files(&request);
    }
    slow_khugepaged(&request);
    share_folder(&request);
    run_program(&request);
    more = request.more;
    free(request.arguments);
    free(request.environment);
    free(text);
  }
  wait_for_end();
}
