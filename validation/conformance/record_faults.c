// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What programs do besides computing, for record_faults.py: fork, exec, start threads one after the
// other, load and unload a library, handle signals. Built with and without OpenMP, and with an OMPT
// tool of its own. record_faults WHAT [ARGUMENT…]; prints one line that is the same in every run.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { k_words = 1 << 17 };

static void check(int fine, const char* what) {
  if (fine) return;
  fprintf(stderr, "record_faults: %s\n", what);
  exit(99);
}

static double cpu_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// Reads and writes a block of its own for that long.
__attribute__((noinline)) static void work(double seconds) {
  const double end = cpu_seconds() + seconds;
  volatile long* worked_on = malloc(k_words * sizeof *worked_on);
  check(worked_on != NULL, "no memory");
  memset((void*)worked_on, 0, k_words * sizeof *worked_on);
  do
    for (int i = 0; i < k_words; ++i)
      worked_on[i] += i;
  while (cpu_seconds() < end);
  free((void*)worked_on);
}

static void region_of(int threads) {
#ifdef _OPENMP
  int sum = 0;
#pragma omp parallel num_threads(threads) reduction(+ : sum)
  ++sum;
  check(sum == threads, "the region has not its threads");
#endif
  (void)threads;
}
static void region(void) {
  region_of(2);
}

static int wait_for(pid_t child) {
  int status = 0;
  check(child > 0 && waitpid(child, &status, 0) == child, "a child is lost");
  return status;
}

// All at once; every second one leaves by exec at once.
static void fork_many(int count) {
  pid_t* children = calloc((size_t)count, sizeof *children);
  for (int i = 0; i < count; ++i) {
    children[i] = fork();
    if (children[i] != 0) continue;
    if (i % 2 == 0) execlp("true", "true", (char*)NULL);
    work(0.002);
    region();
    exit(0);
  }
  for (int i = 0; i < count; ++i)
    check(wait_for(children[i]) == 0, "a child failed");
  free(children);
}

static void fork_and_exec(char** command) {
  const pid_t child = fork();
  if (child == 0) {
    execv(command[0], command);
    _exit(98);
  }
  check(wait_for(child) == 0, "the program started failed");
}

// fork's handlers do not run: nobody of ours knows.
static void fork_unseen(void) {
  const pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (child == 0) {
    work(0.01);
    exit(0); // not _exit: destructors run
  }
  check(wait_for(child) == 0, "the child failed");
}

// The parent is gone before the child begins to work.
static void leave_child_behind(void) {
  work(0.2); // sampling begins some hundredths of a second after the program
  const pid_t parent = getpid();
  if (fork() != 0) exit(0);
  while (getppid() == parent)
    usleep(1000);
  work(0.1);
  FILE* done = fopen("done", "w");
  check(done != NULL && fclose(done) == 0, "done cannot be written");
  exit(0);
}

static void* short_thread(void* argument) {
  *(void**)argument = malloc(8192);
  memset(*(void**)argument, 1, 8192);
  return NULL;
}

static void threads_in_sequence(int count) {
  work(0.4); // the threads' stacks are not most of what is sampled
  for (int i = 0; i < count; ++i) {
    pthread_t thread;
    void* block = NULL;
    check(pthread_create(&thread, NULL, short_thread, &block) == 0, "no thread");
    check(pthread_join(thread, NULL) == 0 && block != NULL, "the thread is lost");
    free(block);
  }
}

static void load_and_unload(const char* path, int count) {
  for (int i = 0; i < count; ++i) {
    void* library = dlopen(path, RTLD_NOW);
    check(library != NULL, "the library cannot be loaded");
    void* (*take)(void) = (void* (*)(void))dlsym(library, "take_in_library");
    check(take != NULL, "the library lacks its function");
    void* block = take();
    check(block != NULL && dlclose(library) == 0, "the library fails");
    if (i % 2 == 0) free(block);
  }
}

static volatile sig_atomic_t counts[65];
static volatile sig_atomic_t on_other_stack;
static char other_stack[65536];

static void on_signal(int number) {
  char here;
  ++counts[number];
  if (&here >= other_stack && &here < other_stack + sizeof other_stack) ++on_other_stack;
}

// Every handler was nobody's, is the program's from now on, and sees the program's signals only.
static void handle_signals(void) {
  const int mine[] = {SIGPROF, SIGTRAP, SIGALRM, SIGVTALRM, SIGSEGV,  SIGBUS,  SIGIO,
                      SIGUSR1, SIGUSR2, SIGURG,  SIGSYS,    SIGRTMIN, SIGRTMAX};
  const stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
  stack_t before_stack;
  check(sigaltstack(&stack, &before_stack) == 0 && (before_stack.ss_flags & SS_DISABLE) != 0,
        "a signal stack was there already");
  for (int i = 1; i < 65; ++i) {
    struct sigaction now;
    check(sigaction(i, NULL, &now) != 0 || now.sa_handler == SIG_DFL || i == SIGPIPE,
          "a handler is not the program's");
  }
  sigset_t blocked;
  sigprocmask(SIG_SETMASK, NULL, &blocked);
  for (int i = 1; i < 65; ++i)
    check(sigismember(&blocked, i) != 1, "a signal was blocked");
  for (size_t i = 0; i < sizeof mine / sizeof *mine; ++i) {
    struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK}, before;
    check(sigaction(mine[i], &action, &before) == 0, "sigaction");
    check(before.sa_handler == SIG_DFL, "a handler was there already");
  }
  work(0.1);
  for (size_t i = 0; i < sizeof mine / sizeof *mine; ++i)
    raise(mine[i]);
  check(on_other_stack == 13, "handlers did not run on the program's stack");
  const struct itimerval soon = {.it_value = {.tv_usec = 10000}};
  setitimer(ITIMER_PROF, &soon, NULL);
  setitimer(ITIMER_REAL, &soon, NULL);
  work(0.8);
  for (size_t i = 0; i < sizeof mine / sizeof *mine; ++i) {
    const int wanted = mine[i] == SIGPROF || mine[i] == SIGALRM ? 2 : 1;
    if (counts[mine[i]] == wanted) continue;
    fprintf(stderr, "record_faults: signal %d came %d times\n", mine[i], (int)counts[mine[i]]);
    exit(99);
  }
}

// A handler that maps and unmaps comes wherever the program is, the recorder's callbacks included.
static void map_in_handler(int number) {
  void* page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (page != MAP_FAILED && munmap(page, 4096) == 0) ++counts[number];
}
static void map_in_signals(void) {
  const struct sigaction action = {.sa_handler = map_in_handler, .sa_flags = SA_RESTART};
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
  event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
  timer_t timer;
  check(sigaction(SIGUSR1, &action, NULL) == 0 &&
            timer_create(CLOCK_MONOTONIC, &event, &timer) == 0,
        "no timer");
  const double end = cpu_seconds() + 0.7;
  for (int i = 0; cpu_seconds() < end; ++i) { // one signal each time, however slow the handler is
    const struct itimerspec soon = {.it_value = {0, 1000 + i % 64 * 500}};
    check(timer_settime(timer, 0, &soon, NULL) == 0, "the timer is not set");
    for (int k = 0; k < 10; ++k)
      region_of(1);
    work(0.0005); // more of it than of regions and signals, however long the kernel takes for those
  }
  timer_delete(timer);
  check(counts[SIGUSR1] > 100, "the handler seldom came");
}

// A handler that asks for signals and takes them, wherever it interrupts: it finds what a program
// finds that nobody watches, and is not made to wait.
static volatile int asked, foreign, waited;
static void ask_in_handler(int number) {
  struct rusage before, after;
  getrusage(RUSAGE_THREAD, &before);
  struct sigaction now;
  const int one = SIGRTMIN + 4 + asked % 16;
  for (int k = 0; k < 17; ++k)
    if (sigaction(k == 0 ? SIGURG : SIGRTMIN + 3 + k, NULL, &now) != 0 ||
        (now.sa_handler != SIG_DFL && now.sa_handler != on_signal))
      ++foreign;
  if (asked % 8 == 0) {
    const struct sigaction mine = {.sa_handler = on_signal};
    if (sigaction(SIGURG, &mine, &now) != 0 ||
        (now.sa_handler != SIG_DFL && now.sa_handler != on_signal))
      ++foreign;
  } else if (asked % 8 == 4) {
    const void* there = (const void*)signal(one, on_signal);
    if (there != (const void*)SIG_DFL && there != (const void*)on_signal) ++foreign;
  } else if (asked % 8 == 6) {
    signal(one, SIG_DFL);
    signal(SIGURG, SIG_DFL);
  }
  getrusage(RUSAGE_THREAD, &after);
  if (after.ru_nvcsw - before.ru_nvcsw > 10) ++waited;
  ++asked;
  ++counts[number];
}
// Ends as its timer does, so that some of the signals come while it is being forgotten.
static void* interrupted_thread(void* delay) {
  struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGUSR1};
  event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
  timer_t timer;
  check(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0, "no timer");
  const struct itimerspec soon = {.it_value = {0, (long)(size_t)delay}};
  check(timer_settime(timer, 0, &soon, NULL) == 0, "the timer is not set");
  return timer;
}
static void ask_in_signals(void) {
  const struct sigaction action = {.sa_handler = ask_in_handler, .sa_flags = SA_RESTART};
  check(sigaction(SIGUSR1, &action, NULL) == 0, "sigaction");
  for (size_t i = 0; i < 6000; ++i) {
    pthread_t thread;
    void* timer = NULL;
    check(pthread_create(&thread, NULL, interrupted_thread, (void*)(500 + i % 50 * 500)) == 0 &&
              pthread_join(thread, &timer) == 0,
          "no thread");
    timer_delete(timer);
  }
  check(counts[SIGUSR1] > 100, "the handler seldom came");
  work(0.3); // the threads' stacks are not most of what is sampled
  int foreign_signals = counts[SIGURG];
  for (int i = 4; i < 20; ++i)
    foreign_signals += counts[SIGRTMIN + i];
  if (foreign == 0 && waited == 0 && foreign_signals == 0) return;
  fprintf(stderr, "record_faults: asked %d times: %d wrong answers, waited %d times, %d signals\n",
          asked, foreign, waited, foreign_signals);
  exit(99);
}

#ifdef OWN_TOOL
struct tool {
  int (*initialize)(void*, int, void*);
  void (*finalize)(void*);
  void* data;
};
static int initialize(void* look_up, int device, void* data) {
  (void)look_up, (void)device, (void)data;
  return 1;
}
static void finalize(void* data) {
  (void)data;
}
struct tool* ompt_start_tool(unsigned version, const char* runtime) {
  static struct tool tool = {initialize, finalize, NULL};
  (void)version, (void)runtime;
  return getenv("TOOL_DECLINES") != NULL ? NULL : &tool;
}
#endif

int main(int count, char** arguments) {
  const char* what = count > 1 ? arguments[1] : "work";
  const int number = count > 2 ? atoi(arguments[2]) : 0;
  work(0.05);
  region();
  if (strcmp(what, "children") == 0) fork_many(number);
  if (strcmp(what, "exec") == 0) fork_and_exec(arguments + 2);
  if (strcmp(what, "unseen") == 0) fork_unseen();
  if (strcmp(what, "daemon") == 0) leave_child_behind();
  if (strcmp(what, "threads") == 0) threads_in_sequence(number);
  if (strcmp(what, "library") == 0 && count > 3) load_and_unload(arguments[3], number);
  if (strcmp(what, "signals") == 0) handle_signals();
  if (strcmp(what, "mapping-signals") == 0) map_in_signals();
  if (strcmp(what, "asking-signals") == 0) ask_in_signals();
  if (strcmp(what, "spin") == 0 && count > 2) work(atof(arguments[2]));
  if (strcmp(what, "kill") == 0) {
    work(0.3);
    raise(SIGKILL);
  }
  work(0.05);
  region();
  printf("%s done\n", what);
  return 0;
}
