// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omptier-model: executes marks (borders/model_marks.h) in the order of its arguments, for scripts
// in the virtual machine, then execs the command after `--`, if any. The command keeps this
// process: exit status, signals and streams are its own. Static, so that it runs in any root.
#include "borders/model_marks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// A mark's number is part of the instruction, so each number needs an instruction.
static bool give_mark(const char* number) {
#define CASE(n)                                                                                    \
  if (strcmp(number, #n) == 0) {                                                                   \
    omptier_model_mark(n);                                                                         \
    return true;                                                                                   \
  }
  CASE(0)
  CASE(1)
  CASE(2) CASE(3) CASE(4) CASE(5) CASE(6) CASE(7) CASE(8) CASE(9) CASE(10) CASE(11) CASE(12)
      CASE(13) CASE(14) CASE(15)
#undef CASE
          return false;
}

static int usage(const char* argument) {
  if (argument) fprintf(stderr, "omptier-model: %s: not understood\n", argument);
  fprintf(stderr,
          "usage: omptier-model [on|off|reset|sync|mark 0-15]... [-- command arguments...]\n");
  return 2;
}

int main(int count, char** arguments) {
  if (count < 2) return usage(NULL);
  for (int i = 1; i < count; i++) {
    const char* argument = arguments[i];
    if (strcmp(argument, "on") == 0)
      omptier_model_on();
    else if (strcmp(argument, "off") == 0)
      omptier_model_off();
    else if (strcmp(argument, "reset") == 0)
      omptier_model_reset();
    else if (strcmp(argument, "sync") == 0)
      omptier_model_synchronise();
    else if (strcmp(argument, "mark") == 0 && i + 1 < count && give_mark(arguments[i + 1]))
      i++;
    else if (strcmp(argument, "--") == 0 && i + 1 < count) {
      execvp(arguments[i + 1], arguments + i + 1);
      fprintf(stderr, "omptier-model: %s: %s\n", arguments[i + 1], strerror(errno));
      return errno == ENOENT ? 127 : 126;
    } else
      return usage(argument);
  }
  return 0;
}
