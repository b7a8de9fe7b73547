// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Several vCPUs of the time model want the same line: whoever comes while it is on its way waits
// for the rest of its latency, whoever comes later for nothing. One that lags while another one
// switches the model off is said at the reset that ends the command. In C, as the model's header
// is.
#include "machine/timing/clock.h"
#include "machine/timing/model.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A latency of 100 ns takes 0.1 s of real time here.
static const char k_machine[] =
    "range 0 0 16M 0\nlatency * 0 100 100\nbandwidth * 0 100000 100000\n"
    "dilation 1e6\nmode sleep\n";
enum { k_vcpus = 4 };

static struct model* model_of_machine(void) {
  char path[] = "/tmp/timing-model-XXXXXX", error[256] = "";
  const int file = mkstemp(path);
  if (file < 0 || write(file, k_machine, sizeof k_machine - 1) != sizeof k_machine - 1) return NULL;
  close(file);
  struct model* model = model_create(path, k_vcpus, error, sizeof error);
  unlink(path);
  if (!model) fprintf(stderr, "%s\n", error);
  return model;
}

// Loads a line; undilated ns until its value is there.
static double load(struct model* model, uint32_t number) {
  const struct block_access access = {.pc = 0x1000};
  struct vcpu* vcpu = &model->vcpus[number];
  vcpu->thread = (pid_t)number + 1; // vCPUs need no threads of their own to load once
  model_access(model, vcpu, &access, 0x20000, 0x20000, false);
  return fmax(0, vcpu->core.loads[0] - vcpu->core.now);
}

static int failures;
static void expect(const char* what, double value, double least, double most) {
  if (value >= least && value <= most) return;
  fprintf(stderr, "%s: %g ns, not %g to %g\n", what, value, least, most);
  failures++;
}

static bool says_lag(FILE* said) {
  char line[512];
  rewind(said);
  while (fgets(line, sizeof line, said))
    if (strstr(line, "slower than the machine")) return true;
  return false;
}

// The second vCPU's thread uses twice the time that it models.
static void the_lag_of_another_is_said(void) {
  struct model* model = model_of_machine();
  FILE* said = tmpfile();
  const int errors = dup(2);
  if (!model || !said || dup2(fileno(said), 2) < 0) exit(1);
  model_switch(model, &model->vcpus[0], true, false);
  model_charge(model, &model->vcpus[1], 0);
  for (const int64_t begin = clock_now(); clock_now() - begin < 600 * 1000 * 1000;)
    ;
  model_charge(model, &model->vcpus[1], 300);
  model_charge(model, &model->vcpus[0], 0);
  model_switch(model, &model->vcpus[0], false, false);
  const bool too_early = says_lag(said);
  model_reset(model);
  const bool in_time = says_lag(said);
  dup2(errors, 2);
  expect("said before the command's end", too_early, 0, 0);
  expect("said at its end", in_time, 1, 1);
}

int main(void) {
  the_lag_of_another_is_said();
  struct model* model = model_of_machine();
  if (!model) return 1;
  model_switch(model, &model->vcpus[0], true, false);
  const int64_t before = clock_now();
  expect("the first", load(model, 0), 99, 101);
  const int64_t loaded = clock_now();
  usleep(30 * 1000);
  const int64_t wanted = clock_now();
  const double second = load(model, 1);
  expect("on its way", second, 99 - (double)(clock_now() - before) / 1e6,
         fmax(0, 101 - (double)(wanted - loaded) / 1e6));
  usleep(200 * 1000);
  expect("after its arrival", load(model, 2), 0, 0);
  model_reset(model);
  expect("after a reset", load(model, 3), 99, 101);
  return failures > 0;
}
