/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The port to the launcher: frames of protocol.h, notes and failures.
 */
#pragma once

#include "protocol.h"

#include <stddef.h>

/* Waits for the port that the launcher has named. */
void open_port(void);
int agent_port(void);
/* 0, or -1 when the other side is gone. */
int write_all(int file, const void* data, size_t size);
int read_all(int file, void* data, size_t size);
void send_frame(uint32_t type, const void* data, uint32_t size);
void send_note(const char* format, ...) __attribute__((format(printf, 1, 2)));
/* Reports one line of text to the launcher and waits for the end of the machine. */
void fail(const char* format, ...) __attribute__((format(printf, 1, 2), noreturn));
/* The launcher ends the machine; process 1 must not end before. */
void wait_for_end(void) __attribute__((noreturn));
