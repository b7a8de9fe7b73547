/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What a program built with -march=native on a host with AVX-512 does in the virtual machine.
 */
int main(void) {
  __asm__ volatile(".byte 0x62, 0xf1, 0xfd, 0x48, 0xef, 0xc0"); /* vpxorq zmm0, zmm0, zmm0 */
  return 0;
}
