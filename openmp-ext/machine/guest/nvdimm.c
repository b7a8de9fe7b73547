/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The machine's NVDIMMs, in the order of QEMU's arguments. The first becomes memory: its namespace
 * is made a device-DAX one, and the kmem driver brings that online as a node without CPUs, which is
 * what `ndctl create-namespace --mode=devdax` and `daxctl reconfigure-device --mode=system-ram` do
 * on a real machine. The second, if there is one, becomes a block device with DAX (fsdax); once the
 * host's programs are there, it gets an ext4 file system and is mounted.
 */
#define _GNU_SOURCE
#include "agent.h"
#include "port.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static const char block_device[] = "/dev/pmem1";

/* Unbinds a region's raw namespace from the block driver and gives it another mode, through the
 * region's seed device of that mode. */
static void convert(int region, const char* mode, const char* driver) {
  char name[32], path[128], text[64];
  snprintf(name, sizeof name, "namespace%d.0", region);
  put("/sys/bus/nd/drivers/nd_pmem/unbind", name);
  const char* const settings[][2] = {
      {"mode", "ram"}, {"uuid", "6f6d7074-6965-7200-0000-00000000000"}, {"namespace", name}};
  for (int i = 0; i < 3; ++i) {
    snprintf(path, sizeof path, "/sys/bus/nd/devices/%s%d.0/%s", mode, region, settings[i][0]);
    snprintf(text, sizeof text, "%s", settings[i][1]);
    if (i == 1) /* a different one for each */
      snprintf(text, sizeof text, "%s%d", settings[i][1], region + 1);
    put(path, text);
  }
  snprintf(path, sizeof path, "/sys/bus/nd/drivers/%s/bind", driver);
  snprintf(text, sizeof text, "%s%d.0", mode, region);
  put(path, text);
}

void set_up_nvdimms(void) {
  put("/sys/devices/system/memory/auto_online_blocks", "online_movable");
  convert(0, "dax", "dax_pmem");
  put("/sys/bus/dax/drivers/kmem/new_id", "dax0.0");
  if (access("/sys/bus/nd/devices/region1", F_OK) == 0) convert(1, "pfn", "nd_pmem");
}

void mount_nvdimm(void) {
  if (access(block_device, F_OK) != 0) return;
  const pid_t child = fork();
  if (child == 0) {
    const int nowhere = open("/dev/null", O_RDWR);
    dup2(nowhere, 1);
    dup2(nowhere, 2);
    execl("/sbin/mkfs.ext4", "mkfs.ext4", "-q", "-F", "-b", "4096", "-O", "^has_journal",
          block_device, (char*)NULL);
    _exit(127);
  }
  int status = -1;
  while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0)
    fail("mkfs.ext4 (Debian: e2fsprogs) made no file system on the NVDIMM, status %d", status);
  mkdir(OMPTIER_DAX_FOLDER, 0755);
  if (mount(block_device, OMPTIER_DAX_FOLDER, "ext4", 0, "dax=always") != 0)
    fail("cannot mount the NVDIMM: %s", strerror(errno));
  chmod(OMPTIER_DAX_FOLDER, 01777);
}
