/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The request, and the parts that agent.c calls one after the other to serve it: files.c (file systems),
 * nvdimm.c, relay.c (the program, its pipes, its end). Single-threaded.
 */
#pragma once

struct request {
  char** arguments;
  char** environment;
  const char* folder; /* working folder */
  const char* shared; /* folder that is writable on the host, or null */
  const char* host;   /* host name the guest takes */
  const char* time;
  const char* seed;
  unsigned user, group;
  int unprivileged; /* drop every capability but the one below */
  int capability;   /* kept by an unprivileged program, or -1 */
  int model;        /* the time model is attached: switch it on around the program */
};

/* Host's / read-only at /, own /proc /sys /dev /tmp /run, the shared folder over it. */
void lay_out_files(const struct request* request);
/* Unmounts the shared folder, so that everything written to it is on the host. */
void let_go_of_files(const struct request* request);

/* Makes memory of the first NVDIMM and a block device of the second. */
void set_up_nvdimms(void);
/* Mounts the second, if there is one, once the host's programs are there. */
#define OMPTIER_DAX_FOLDER "/run/pmem0"
void mount_nvdimm(void);

/* Runs the program to its end and sends DONE. */
void run_program(const struct request* request);
