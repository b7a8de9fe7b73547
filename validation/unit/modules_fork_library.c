/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * An executable segment whose hash takes milliseconds: eight MB, under emulation a sixteenth. */
#ifndef MODULES_FORK_BYTES
#define MODULES_FORK_BYTES 8388608
#endif
#define AS_TEXT(number) #number
#define TEXT_OF(number) AS_TEXT(number)
__asm__(".text\n.skip " TEXT_OF(MODULES_FORK_BYTES) ", 0x90\n");
__attribute__((visibility("default"))) int modules_fork_library(void) {
  return 1;
}
