/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What a program may do that a recorder in its process could stumble over: nothing of it may end differently
 * for being recorded. usage: record_survives CASE */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile int over;

static void allocate(size_t bytes) {
  void *volatile block = malloc(bytes); /* the calling thread's own: several threads come here at once */
  free(block);
}

/* A thread holds the loader's lock and allocates; another one meets call stacks that are new. */
static int in_callback(struct dl_phdr_info *info, size_t size, void *count) {
  (void)info, (void)size;
  allocate(8192);
  ++*(unsigned *)count;
  return 0;
}
static void *iterate(void *count) {
  while (!over)
    dl_iterate_phdr(in_callback, count);
  return NULL;
}
__attribute__((noinline)) static void descend(unsigned depth, unsigned way) {
  if (depth == 0) return allocate(5000);
  switch (way & 3) { /* calls that no compiler makes one of */
  case 0:
    descend(depth - 1, way >> 2);
    __asm__ volatile("nop");
    break;
  case 1:
    descend(depth - 1, way >> 2);
    __asm__ volatile("nop; nop");
    break;
  default:
    descend(depth - 1, way >> 2);
    __asm__ volatile("nop; nop; nop");
  }
}
static int loaders_lock(void) {
  unsigned count = 0;
  pthread_t thread;
  pthread_create(&thread, NULL, iterate, &count);
  for (unsigned way = 0; way < 1u << 14 || count < 20000; ++way)
    descend(7, way);
  over = 1;
  return pthread_join(thread, NULL);
}

/* malloc is no point where a thread is cancelled. */
static pthread_mutex_t held = PTHREAD_MUTEX_INITIALIZER;
static volatile int is_cancelled; /* pthread_cancel loads a library first */
static void *allocate_with_mutex(void *argument) {
  for (int i = 0; i < 20000; ++i) {
    pthread_mutex_lock(&held);
    allocate(8192);
    pthread_mutex_unlock(&held);
  }
  over = 1;
  while (!is_cancelled)
    sched_yield();
  pthread_testcancel();
  return argument;
}
static int cancelled(void) {
  pthread_t thread;
  void *result;
  pthread_create(&thread, NULL, allocate_with_mutex, NULL);
  pthread_cancel(thread);
  is_cancelled = 1;
  pthread_join(thread, &result);
  return result != PTHREAD_CANCELED || !over || pthread_mutex_trylock(&held) != 0;
}

/* A child without fork's handlers fills more than a block of the log. */
static int child(void) {
  const pid_t child = _Fork();
  for (int i = 0; i < 10000; ++i)
    allocate(5000);
  if (child == 0) _exit(0);
  int status;
  return waitpid(child, &status, 0) != child || status != 0;
}

/* A thread with little stack needs no more of it. */
static void *in_thread(void *argument) {
  for (size_t bytes = 100; bytes < 20000; bytes += 100)
    allocate(bytes);
  return argument;
}
static int small_stack(void) {
  enum { k_stack = 256 << 10, k_most = 12 << 10 };
  unsigned char *stack = mmap(NULL, k_stack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  memset(stack, 0xa5, k_stack);
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstack(&attributes, stack, k_stack);
  pthread_t thread;
  if (pthread_create(&thread, &attributes, in_thread, NULL) != 0) return 1;
  pthread_join(thread, NULL);
  size_t unused = 0;
  while (stack[unused] == 0xa5)
    ++unused;
  fprintf(stderr, "%zu bytes of stack\n", k_stack - unused);
  return k_stack - unused > k_most;
}

/* Assembly that has something else in the frame pointer and does not say so. */
#if defined(__x86_64__)
void with_wild_frame_pointer(void (*function)(void));
__asm__(".text\n.type with_wild_frame_pointer,@function\n"
        "with_wild_frame_pointer:\n"
        ".cfi_startproc\n"
        "pushq %rbp\n"
        ".cfi_adjust_cfa_offset 8\n"
        "movq $-128, %rbp\n"
        "call *%rdi\n"
        "popq %rbp\n"
        ".cfi_adjust_cfa_offset -8\n"
        "ret\n"
        ".cfi_endproc\n"
        ".size with_wild_frame_pointer, .-with_wild_frame_pointer\n");
#else
static void with_wild_frame_pointer(void (*function)(void)) {
  function();
}
#endif
static void allocate_some(void) {
  allocate(8000);
}
static int frame_pointer(void) {
  volatile char *own = __builtin_alloca((size_t)getpid() % 16 + 16); /* a frame by its frame pointer */
  own[0] = 1;
  with_wild_frame_pointer(allocate_some);
  return own[0] != 1;
}

/* Descriptors are closed wholesale; what is opened then is the program's. */
static void *wait_for_end(void *argument) {
  while (!over)
    usleep(1000);
  return argument;
}
static int descriptors(void) {
  enum { k_threads = 4, k_files = 16 };
  pthread_t threads[k_threads];
  int files[k_files], lost = 0;
  for (int i = 0; i < k_threads; ++i)
    pthread_create(&threads[i], NULL, wait_for_end, NULL);
  usleep(200000);
  for (int i = 3; i < 512; ++i)
    close(i);
  for (int i = 0; i < k_files; ++i)
    files[i] = open("/dev/null", O_RDONLY);
  over = 1;
  for (int i = 0; i < k_threads; ++i)
    pthread_join(threads[i], NULL);
  usleep(200000);
  for (int i = 0; i < k_files; ++i)
    lost += fcntl(files[i], F_GETFD) < 0;
  return lost;
}

/* Threads that allocate one small block each: 2,000 of them are counted, more or less. */
static void *allocate_once(void *argument) {
  allocate(100);
  return argument;
}
static int short_threads(void) {
  for (int i = 0; i < 2000; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, allocate_once, NULL) != 0) return 1;
    pthread_join(thread, NULL);
  }
  return 0;
}

/* A thread that waits for signals gets none of ours. */
static void *wait_for_signals(void *argument) {
  const struct timespec at_once = {0, 1};
  sigset_t all;
  sigfillset(&all);
  for (int i = 0; i < 10; ++i) {
    for (volatile unsigned k = 0; k < 10000000; ++k)
      ;
    if (sigtimedwait(&all, NULL, &at_once) > 0) return NULL;
  }
  return argument;
}
static int signals(void) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, NULL);
  pthread_t thread;
  void *result = NULL;
  pthread_create(&thread, NULL, wait_for_signals, &all);
  pthread_join(thread, &result);
  return result == NULL;
}

/* Behind a malloc that does not tell sizes. */
static int sizes_untold(void) {
  char *grown = malloc(10);
  for (size_t i = 0; i < 1000; ++i) {
    grown = realloc(grown, 10 + 100 * i);
    if (grown == NULL || (i > 0 && grown[0] != 1)) return 1;
    grown[0] = 1;
    allocate(20 + 16 * i);
  }
  free(grown);
  return 0;
}

/* Behind a malloc that unmaps under its lock, while threads begin. */
static void *allocate_until_over(void *argument) {
  for (int i = 0; i < 300000 && !over; ++i)
    allocate(16);
  return argument;
}
static int unmapping_malloc(void) {
  pthread_t allocating;
  if (pthread_create(&allocating, NULL, allocate_until_over, NULL) != 0) return 1;
  const int result = short_threads();
  over = 1;
  pthread_join(allocating, NULL);
  return result;
}

/* A library waits in its constructor for a thread that makes others. */
static int threads_of_constructor(void) {
  return dlopen("librecord_survives_library.so", RTLD_NOW) == NULL;
}

/* Memory watchers (UCX) replace sbrk by one that is not safe beside a malloc of another thread. */
static atomic_int strange_calls;
void *sbrk(intptr_t more) {
  if (gettid() != getpid()) ++strange_calls;
  const long end = syscall(SYS_brk, 0);
  return more == 0 || syscall(SYS_brk, end + more) == end + more ? (void *)end : (void *)-1;
}
static int own_sbrk(void) {
  (void)!sbrk(0);
  for (int i = 0; i < 300; ++i) {
    allocate(8192);
    usleep(1000);
  }
  return strange_calls != 0;
}

/* Python's CDLL("libc.so.6").free gets blocks that a library has allocated. */
static int freed_by_handle(void) {
  void *library = dlopen("libc.so.6", RTLD_NOW);
  void (*by_handle)(void *) = (void (*)(void *))dlsym(library, "free");
  void (*by_alias)(void *) = (void (*)(void *))dlsym(library, "__libc_free");
  void *(*resize)(void *, size_t) = (void *(*)(void *, size_t))dlsym(library, "realloc");
  for (int i = 0; i < 100000; ++i) {
    char *text = strdup("a block of a call that allocates much");
    if (i % 3 == 2) text = resize(text, 200);
    if (text[35] != 'c') return 1;
    (i % 3 == 0 ? by_alias : by_handle)(text);
  }
  return 0;
}

int main(int argc, char **argv) {
  const struct {
    const char *name;
    int (*run)(void);
  } cases[] = {{"loaders-lock", loaders_lock}, {"cancelled", cancelled},         {"child", child},
               {"small-stack", small_stack},   {"frame-pointer", frame_pointer}, {"descriptors", descriptors},
               {"short-threads", short_threads}, {"sizes-untold", sizes_untold}, {"signals", signals},
               {"unmapping-malloc", unmapping_malloc}, {"threads-of-constructor", threads_of_constructor},
               {"own-sbrk", own_sbrk}, {"freed-by-handle", freed_by_handle}};
  for (size_t i = 0; argc > 1 && i < sizeof cases / sizeof *cases; ++i)
    if (strcmp(cases[i].name, argv[1]) == 0) return cases[i].run();
  return 2;
}
