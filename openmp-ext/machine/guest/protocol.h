/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The protocol between the launcher on the host and the guest's init program over one virtio-serial
 * port: frames of a fixed head and a payload, in both directions. One stream carries everything, so
 * the program's output and its end stay in order, and nothing is polled or written to a file. Both
 * sides are x86-64: integers are little-endian.
 *
 *   guest -> host  READY once at boot (a snapshot is taken here, before anything is mounted)
 *   host -> guest  RUN, then INPUT … INPUT_END as the program reads
 *   guest -> host  OUTPUT, ERROR, TAKEN while it runs; NOTE … DONE at the end, or FAILED; then, if
 *                  the request said so, it waits for the next RUN
 */
#pragma once

#include <stdint.h>

#define OMPTIER_PORT_NAME "omptier.control"

enum {
  OMPTIER_FRAME_MAX = 32768,    /* bytes of payload in a frame, except RUN */
  OMPTIER_RUN_MAX = 4 << 20,    /* bytes of payload in RUN: arguments and environment */
  OMPTIER_INPUT_WINDOW = 65536, /* bytes of input the host may send before they are TAKEN */
};

enum omptier_frame {
  OMPTIER_FRAME_READY = 1,
  /* NUL-terminated "key=value" strings: see the keys in agent.c (read_request). */
  OMPTIER_FRAME_RUN,
  OMPTIER_FRAME_INPUT,
  OMPTIER_FRAME_INPUT_END,
  OMPTIER_FRAME_OUTPUT,
  OMPTIER_FRAME_ERROR,
  OMPTIER_FRAME_TAKEN, /* uint32_t: bytes of input that the program's pipe has taken */
  OMPTIER_FRAME_NOTE,  /* "key=value": what the launcher may explain, such as "illegal=a.out" */
  OMPTIER_FRAME_DONE,  /* struct omptier_done */
  OMPTIER_FRAME_FAILED /* text: the guest could not start the program */
};

struct omptier_frame_head {
  uint32_t type;
  uint32_t length;
};

struct omptier_done {
  int32_t status; /* as a shell reports it: 0..255, 126, 127, 128 + signal */
  int32_t signal; /* 0, or the signal that ended the program */
};
