/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The file systems of the guest. The host's / comes read-only over 9p and becomes /; proc, sysfs,
 * devtmpfs move onto it, /tmp and /run are the guest's own memory, and one folder of the host is
 * mounted again, writable, at its own path. So a program sees the libraries and the data that it
 * sees on the host, under the same names, and can write where it was started.
 *
 * /tmp prefers node 0, the DRAM with CPUs: its files must not fill a small node that a test
 * uses.
 */
#define _GNU_SOURCE
#include "agent.h"
#include "port.h"

#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

/* The largest message that fits a virtio request of 128 pages. */
#define NINE_P "trans=virtio,version=9p2000.L,msize=512000"

static void make_folders(const char* path) {
  char part[4096];
  for (const char* slash = path; (slash = strchr(slash + 1, '/'));) {
    snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
    mkdir(part, 0755);
  }
  mkdir(path, 0755);
}

static void own(const char* type, const char* where, const char* options) {
  if (mount(type, where, type, 0, options) != 0)
    fail("cannot mount %s on %s: %s", type, where, strerror(errno));
}

void put(const char* path, const char* text) {
  const int file = open(path, O_WRONLY | O_CLOEXEC);
  if (file < 0) fail("%s: %s", path, strerror(errno));
  if (write(file, text, strlen(text)) < 0) fail("\"%s\" to %s: %s", text, path, strerror(errno));
  close(file);
}

/* MPI libraries need the loopback interface, which the kernel leaves down. */
static void raise_loopback(void) {
  struct ifreq interface = {.ifr_name = "lo"};
  int file = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (file < 0) return;
  interface.ifr_flags = IFF_UP | IFF_RUNNING;
  ioctl(file, SIOCSIFFLAGS, &interface);
  close(file);
}

void lay_out_files(const struct request* request) {
  mkdir("/root", 0755);
  if (mount("hostroot", "/root", "9p", MS_RDONLY, NINE_P ",cache=loose") != 0)
    fail("cannot mount the host's /: %s", strerror(errno));
  const char* moved[] = {"/proc", "/sys", "/dev"};
  for (size_t i = 0; i < sizeof moved / sizeof *moved; ++i) {
    char target[64];
    snprintf(target, sizeof target, "/root%s", moved[i]);
    if (mount(moved[i], target, NULL, MS_MOVE, NULL) != 0)
      fail("cannot move %s: %s", moved[i], strerror(errno));
  }
  if (chdir("/root") != 0 || mount(".", "/", NULL, MS_MOVE, NULL) != 0 || chroot(".") != 0 ||
      chdir("/") != 0)
    fail("cannot change to the host's /: %s", strerror(errno));
  own("tmpfs", "/tmp", "mode=1777,mpol=prefer:0");
  own("tmpfs", "/run", "mode=755,size=25%,mpol=prefer:0");
  mkdir("/dev/shm", 0755);
  own("tmpfs", "/dev/shm", "mode=1777");
  mkdir("/dev/pts", 0755);
  own("devpts", "/dev/pts", "mode=620,ptmxmode=666");
  (void)!symlink("/proc/self/fd", "/dev/fd");
  (void)!symlink("fd/0", "/dev/stdin");
  (void)!symlink("fd/1", "/dev/stdout");
  (void)!symlink("fd/2", "/dev/stderr");
  mount("cgroup2", "/sys/fs/cgroup", "cgroup2", 0, NULL);
  mount_nvdimm();
  if (request->host) (void)!sethostname(request->host, strlen(request->host));
  raise_loopback();
}

void share_folder(const struct request* request) {
  if (!request->shared) return;
  /* Under /tmp and /run the path does not exist here; elsewhere the host's / has it. */
  make_folders(request->shared);
  /* cache=mmap: writes reach the host at once, and shared mappings work. */
  if (mount("shared", request->shared, "9p", 0, NINE_P ",cache=mmap") != 0)
    fail("cannot mount %s: %s", request->shared, strerror(errno));
}

static int is_full(const char* path) {
  struct statvfs space;
  return statvfs(path, &space) == 0 && space.f_blocks > 0 &&
         space.f_bavail < space.f_blocks / 1000 + 1;
}

void let_go_of_files(const struct request* request) {
  struct statvfs space;
  if (is_full("/tmp") && statvfs("/tmp", &space) == 0)
    send_note("full-tmp=%llu", (unsigned long long)space.f_blocks * space.f_frsize >> 20);
  if (request->shared) {
    if (is_full(request->shared)) send_note("full-folder=%s", request->shared);
    if (chdir("/") == 0 && umount(request->shared) != 0)
      send_note("kept-folder=%s", strerror(errno));
  }
}
