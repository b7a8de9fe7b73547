/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception */
#define _GNU_SOURCE
#include "port.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int port = -1;

void wait_for_end(void) {
  for (;;)
    pause();
}

int agent_port(void) {
  return port;
}

int write_all(int file, const void* data, size_t size) {
  const char* at = data;
  while (size > 0) {
    ssize_t n = write(file, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return -1;
    at += n;
    size -= (size_t)n;
  }
  return 0;
}

int read_all(int file, void* data, size_t size) {
  char* at = data;
  while (size > 0) {
    ssize_t n = read(file, at, size);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return -1;
    at += n;
    size -= (size_t)n;
  }
  return 0;
}

void send_frame(uint32_t type, const void* data, uint32_t size) {
  /* One write for head and payload: the port hands whole buffers to the host. */
  static char frame[sizeof(struct omptier_frame_head) + OMPTIER_FRAME_MAX];
  struct omptier_frame_head head = {type, size};
  memcpy(frame, &head, sizeof head);
  if (size > 0) memcpy(frame + sizeof head, data, size);
  write_all(port, frame, sizeof head + size);
}

void send_note(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  send_frame(OMPTIER_FRAME_NOTE, text, (uint32_t)strlen(text));
}

void fail(const char* format, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  if (port >= 0)
    send_frame(OMPTIER_FRAME_FAILED, text, (uint32_t)strlen(text));
  else
    fprintf(stderr, "omptier guest: %s\n", text); /* to the console, which the launcher keeps */
  wait_for_end();
}

/* The port's device file: /dev/vport<device>p<number>, found by the name the launcher gave it. The
 * kernel makes it when QEMU has answered, a moment after the module is loaded. */
void open_port(void) {
  for (int attempt = 0; attempt < 1000; ++attempt) {
    for (int number = 0; number < 4; ++number) {
      char path[64], name[64] = "";
      snprintf(path, sizeof path, "/sys/class/virtio-ports/vport0p%d/name", number);
      int file = open(path, O_RDONLY | O_CLOEXEC);
      if (file < 0) continue;
      ssize_t n = read(file, name, sizeof name - 1);
      close(file);
      if (n <= 0) continue;
      name[strcspn(name, "\n")] = 0;
      if (strcmp(name, OMPTIER_PORT_NAME) != 0) continue;
      snprintf(path, sizeof path, "/dev/vport0p%d", number);
      port = open(path, O_RDWR | O_CLOEXEC);
      if (port >= 0) return;
    }
    usleep(10000);
  }
  fail("the port to the launcher did not appear");
}
