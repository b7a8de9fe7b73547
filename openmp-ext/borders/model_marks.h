// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Marks by which a program in the virtual machine switches the time model
// (machine/timing/README.md).
//
// Each mark is one eight-byte NOP whose displacement encodes a command. The timing plugin
// recognises it when it translates the code; every other x86-64 processor skips it, so a marked
// program runs anywhere. On other architectures the marks are empty.
#pragma once

// Displacement of the NOP: command in the low half, "OM" in the high half.
#define OMPTIER_MARK_SIGNATURE 0x4d4f
#define OMPTIER_MARK_ON 1
#define OMPTIER_MARK_OFF 2
#define OMPTIER_MARK_RESET 3
#define OMPTIER_MARK_SYNCHRONISE 4
#define OMPTIER_MARK_COMMAND 5
#define OMPTIER_MARK_FIRST 0x100 // 0x100 + n: mark n, n = 0–15
#define OMPTIER_MARK_COUNT 16

#if defined(__x86_64__)
// command must be a constant expression.
#define OMPTIER_MARK(command)                                                                      \
  __asm__ volatile(".byte 0x0f, 0x1f, 0x84, 0x00, (%c0) & 255, (%c0) >> 8, 0x4f, 0x4d"             \
                   :                                                                               \
                   : "i"(command)                                                                  \
                   : "memory")
#else
#define OMPTIER_MARK(command) ((void)(command))
#endif

// Memory takes modelled time from here on, and misses are counted.
#define omptier_model_on() OMPTIER_MARK(OMPTIER_MARK_ON)
// The same for a command that does not switch the model itself: its first instants, when QEMU
// translates its code, are not judged for lag.
#define omptier_model_command() OMPTIER_MARK(OMPTIER_MARK_COMMAND)
// The guest runs at full emulation speed and nothing is counted: for set-up.
#define omptier_model_off() OMPTIER_MARK(OMPTIER_MARK_OFF)
// Empties the modelled caches and zeroes all counts.
#define omptier_model_reset() OMPTIER_MARK(OMPTIER_MARK_RESET)
// Stores the host's clock in the memory-event unit (event_unit.h uses it).
#define omptier_model_synchronise() OMPTIER_MARK(OMPTIER_MARK_SYNCHRONISE)
// Writes the counters to the statistics file, and one section of counted misses. n: constant, 0–15.
#define omptier_model_mark(n) OMPTIER_MARK(OMPTIER_MARK_FIRST + (n))
