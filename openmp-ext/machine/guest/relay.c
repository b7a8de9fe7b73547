/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * Runs the program: a child with three pipes, a loop that carries bytes between the pipes and the
 * port, and the end. When the program ends, the processes that it left running are killed, and the
 * pipes are drained, so that all output is reported before the status. Input is limited by a window
 * (the host sends no more than the agent can hold), so a program that does not read never blocks
 * the port.
 *
 * The kernel's log is read from the program's start on: it names illegal instructions and processes
 * that were killed when memory ran out, also children whose status is lost in their parent.
 */
#define _GNU_SOURCE
#include "agent.h"
#include "borders/model_marks.h"
#include "port.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/securebits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct relay {
  pid_t child;
  int ended, status;
  int input, output, error; /* our ends of the pipes, -1 when closed */
  int exec_failed;          /* read end: the child's errno when it could not start the program */
  char waiting[OMPTIER_INPUT_WINDOW];
  size_t first, waiting_bytes; /* input not yet in the pipe */
  int input_ended;
};

static void give_up_privileges(const struct request* request) {
  if (!request->unprivileged) return;
  if (request->capability >= 0) prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0);
  for (int number = 0; prctl(PR_CAPBSET_READ, number, 0, 0, 0) >= 0; ++number)
    if (number != request->capability) prctl(PR_CAPBSET_DROP, number, 0, 0, 0);
  if (syscall(SYS_setgroups, 0, NULL) != 0 ||
      syscall(SYS_setresgid, request->group, request->group, request->group) != 0 ||
      syscall(SYS_setresuid, request->user, request->user, request->user) != 0)
    _exit(125);
  struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
  struct __user_cap_data_struct sets[2] = {{0, 0, 0}, {0, 0, 0}};
  if (request->capability >= 0) {
    unsigned bit = 1u << (request->capability % 32);
    struct __user_cap_data_struct* set = &sets[request->capability / 32];
    set->effective = set->permitted = set->inheritable = bit;
  }
  syscall(SYS_capset, &head, sets);
  if (request->capability >= 0)
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, request->capability, 0, 0);
  prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
}

static void become_program(const struct request* request, int pipes[3][2], int exec_failed) {
  setsid();
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  for (int standard = 0; standard < 3; ++standard)
    dup2(pipes[standard][standard == 0 ? 0 : 1], standard);
  environ = request->environment;
  int error = 0;
  const char* what = "";
  if (chdir(request->folder) != 0) {
    error = errno;
    what = "folder";
  } else {
    give_up_privileges(request);
    if (request->model) {
      omptier_model_reset();
      omptier_model_command();
    }
    execvp(request->arguments[0], request->arguments);
    error = errno;
    if (request->model) omptier_model_off();
    what = "exec";
  }
  dprintf(exec_failed, "%s=%d", what, error);
  _exit(error == ENOENT ? 127 : 126);
}

static void start(const struct request* request, struct relay* relay) {
  int pipes[3][2], report[2];
  for (int standard = 0; standard < 3; ++standard)
    if (pipe2(pipes[standard], O_CLOEXEC) != 0) fail("pipe: %s", strerror(errno));
  if (pipe2(report, O_CLOEXEC) != 0) fail("pipe: %s", strerror(errno));
  relay->child = fork();
  if (relay->child < 0) fail("fork: %s", strerror(errno));
  if (relay->child == 0) become_program(request, pipes, report[1]);
  close(pipes[0][0]);
  close(pipes[1][1]);
  close(pipes[2][1]);
  close(report[1]);
  relay->input = pipes[0][1];
  relay->output = pipes[1][0];
  relay->error = pipes[2][0];
  relay->exec_failed = report[0];
  fcntl(relay->input, F_SETFL, O_NONBLOCK);
}

/* Orphans of the program become children of process 1; only the program's status is kept. */
static void reap(struct relay* relay) {
  int status;
  pid_t who;
  while ((who = waitpid(-1, &status, WNOHANG)) > 0)
    if (who == relay->child) {
      relay->ended = 1;
      relay->status = status;
    }
}

static void close_input(struct relay* relay) {
  if (relay->input >= 0) close(relay->input);
  relay->input = -1;
}

static void read_port(struct relay* relay) {
  struct omptier_frame_head head;
  if (read_all(agent_port(), &head, sizeof head) != 0) fail("the launcher went away");
  if (head.type == OMPTIER_FRAME_INPUT_END) {
    relay->input_ended = 1;
    return;
  }
  if (head.type != OMPTIER_FRAME_INPUT ||
      head.length > sizeof relay->waiting - relay->waiting_bytes)
    fail("unexpected frame %u of %u bytes", head.type, head.length);
  memmove(relay->waiting, relay->waiting + relay->first, relay->waiting_bytes);
  relay->first = 0;
  if (read_all(agent_port(), relay->waiting + relay->waiting_bytes, head.length) != 0)
    fail("the launcher went away");
  relay->waiting_bytes += head.length;
}

static void feed(struct relay* relay) {
  if (relay->input >= 0 && relay->waiting_bytes > 0) {
    ssize_t n = write(relay->input, relay->waiting + relay->first, relay->waiting_bytes);
    if (n < 0 && errno != EAGAIN && errno != EINTR) close_input(relay);
    if (n > 0) {
      uint32_t taken = (uint32_t)n;
      relay->first += taken;
      relay->waiting_bytes -= taken;
      send_frame(OMPTIER_FRAME_TAKEN, &taken, sizeof taken);
    }
  }
  if (relay->input < 0 && relay->waiting_bytes > 0) { /* the reader has closed it */
    uint32_t taken = (uint32_t)relay->waiting_bytes;
    relay->waiting_bytes = 0;
    send_frame(OMPTIER_FRAME_TAKEN, &taken, sizeof taken);
  }
  if (relay->input_ended && relay->waiting_bytes == 0) close_input(relay);
}

static void carry(int* pipe, uint32_t type) {
  char bytes[OMPTIER_FRAME_MAX];
  ssize_t n = read(*pipe, bytes, sizeof bytes);
  if (n > 0)
    send_frame(type, bytes, (uint32_t)n);
  else if (n == 0 || errno != EINTR) {
    close(*pipe);
    *pipe = -1;
  }
}

static void read_log(int log) {
  /* Each read returns one record: "<priority>,<sequence>,<time>,<flags>;text". */
  char record[2048];
  ssize_t n;
  while ((n = read(log, record, sizeof record - 1)) > 0 || (n < 0 && errno == EPIPE)) {
    if (n < 0) continue; /* records were overwritten before we read them */
    record[n] = 0;
    char* text = strchr(record, ';');
    if (!text) continue;
    text[1 + strcspn(text + 1, "\n")] = 0;
    char* found;
    char name[64];
    if (strstr(text, "trap invalid opcode") && sscanf(text, ";traps: %63[^[]", name) == 1)
      send_note("illegal=%s", name);
    else if ((found = strstr(text, "Killed process ")) &&
             sscanf(found, "Killed process %*d (%63[^)]", name) == 1)
      send_note("memory=%s", name);
  }
}

static void relay_until_end(struct relay* relay, int signals) {
  int left_killed = 0;
  while (!relay->ended || relay->output >= 0 || relay->error >= 0) {
    struct pollfd files[] = {
        {agent_port(), POLLIN, 0},
        {signals, POLLIN, 0},
        {relay->output, POLLIN, 0},
        {relay->error, POLLIN, 0},
        {relay->waiting_bytes > 0 ? relay->input : -1, POLLOUT, 0},
    };
    if (poll(files, 5, -1) < 0 && errno != EINTR) fail("poll: %s", strerror(errno));
    if (files[0].revents & POLLIN) read_port(relay);
    if (files[1].revents & POLLIN) {
      struct signalfd_siginfo information;
      (void)!read(signals, &information, sizeof information);
      reap(relay);
    }
    if (files[2].revents) carry(&relay->output, OMPTIER_FRAME_OUTPUT);
    if (files[3].revents) carry(&relay->error, OMPTIER_FRAME_ERROR);
    feed(relay);
    if (relay->ended && !left_killed) {
      kill(-1, SIGKILL);
      left_killed = 1;
    }
  }
}

/* The reset makes the time model say, of all CPUs (which may need some time to get out of it),
 * whether this program's time was too long, before DONE, so that it is known whose it was. */
static void end_modelled_time(int more) {
  omptier_model_off();
  if (!more) return;
  poll(NULL, 0, 10);
  omptier_model_reset();
}

void run_program(const struct request* request) {
  static struct relay relay;
  memset(&relay, 0, sizeof relay);
  sigset_t child;
  sigemptyset(&child);
  sigaddset(&child, SIGCHLD);
  sigprocmask(SIG_BLOCK, &child, NULL);
  signal(SIGPIPE, SIG_IGN);
  int signals = signalfd(-1, &child, SFD_CLOEXEC);
  int log = open("/dev/kmsg", O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (log >= 0) lseek(log, 0, SEEK_END);

  start(request, &relay);
  relay_until_end(&relay, signals);
  if (request->model) end_modelled_time(request->more);
  /* Killed processes may still use the shared folder. */
  while (waitpid(-1, NULL, 0) > 0 || errno == EINTR) {
  }

  char why[64];
  ssize_t n = read(relay.exec_failed, why, sizeof why - 1);
  if (n > 0) {
    why[n] = 0;
    send_note("%s", why);
  }
  close_input(&relay);
  close(relay.exec_failed);
  close(signals);
  if (log >= 0) {
    read_log(log);
    close(log);
  }
  let_go_of_files(request);
  int signal_number = WIFSIGNALED(relay.status) ? WTERMSIG(relay.status) : 0;
  struct omptier_done done = {signal_number ? 128 + signal_number : WEXITSTATUS(relay.status),
                              signal_number};
  send_frame(OMPTIER_FRAME_DONE, &done, sizeof done);
}
