/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Allocates five large blocks from one place and ends with a status of its own. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { k_bytes = 4 << 20, k_blocks = 5 };

static char* blocks[k_blocks];

int main(void) {
  size_t sum = 0;
  for (int i = 0; i < k_blocks; ++i) {
    blocks[i] = malloc(k_bytes);
    if (blocks[i] == NULL) return 1;
    memset(blocks[i], i, k_bytes);
    sum += (size_t)blocks[i][k_bytes / 2];
  }
  printf("sum %zu\n", sum);
  return 3;
}
