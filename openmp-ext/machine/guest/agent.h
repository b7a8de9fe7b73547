/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The request, and what agent.c calls in turn to serve it: files.c (file systems), nvdimm.c,
 * relay.c (the program, its pipes, its end). Single-threaded.
 */
#pragma once

struct request {
  char** arguments;
  char** environment;
  const char* folder; /* working folder */
  const char* shared; /* host folder that is mounted writable, or null */
  const char* host;   /* the guest's host name */
  const char* time;
  const char* seed;
  unsigned user, group;
  int unprivileged; /* drop all capabilities but the one below */
  int capability;   /* kept by an unprivileged program, or -1 */
  int model;        /* the time model is attached: switch it on around the program */
  double dilation;  /* how many times slower modelled memory is, or 0 */
  int more;         /* further requests may follow this one */
};

/* The host's / read-only, the guest's /proc /sys /dev /tmp /run over it. Once. */
void lay_out_files(const struct request* request);
/* Mounts the shared folder over them. */
void share_folder(const struct request* request);
/* Unmounts the shared folder, which writes everything in it to the host. */
void let_go_of_files(const struct request* request);

/* Writes one of the kernel's settings. */
void put(const char* path, const char* text);

/* Turns the first NVDIMM into memory and the second into a block device. */
void set_up_nvdimms(void);
/* Mounts the second, if there is one; needs the host's programs. */
#define OMPTIER_DAX_FOLDER "/run/pmem0"
void mount_nvdimm(void);

/* Runs the program to its end and sends DONE. */
void run_program(const struct request* request);
