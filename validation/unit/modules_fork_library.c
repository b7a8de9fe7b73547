/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Eight MB of executable segment, whose hash takes milliseconds. */
__asm__(".text\n.skip 8388608, 0x90\n");
__attribute__((visibility("default"))) int modules_fork_library(void) {
  return 1;
}
