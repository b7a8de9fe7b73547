/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * What a program of this folder knows about its own use of memory, written as JSON where its
 * arguments name a file: --truth FILE. The accessed bytes come from the program's loop counts, the
 * times from the processor's clock, so that other programs on the machine do not count. With
 * --alone the program also runs the loop of each object by itself, after its work, to learn how a
 * loop's time divides among the objects that it uses.
 *
 * One thread only. Texts are copied.
 */
#ifndef TRUTH_H
#define TRUTH_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

double truth_clock(void); /* seconds of the process on all processors */

/* chase: of pointers; indirect: through the object of that name (truth_through) */
#define TRUTH_SEQUENTIAL "sequential"
#define TRUTH_STRIDED "strided"
#define TRUTH_SCATTERED "scattered"
#define TRUTH_TILED "tiled"
#define TRUTH_CHASE "chase"
#define TRUTH_INDIRECT "indirect"

/* An object with its name in the source, blocks of that many bytes each, and its pattern. The
 * result names it below. */
int truth_object(const char* name, size_t bytes, size_t blocks, const char* pattern);
void truth_stride(int object, size_t bytes);       /* from one access to the next */
void truth_through(int object, const char* other); /* that holds its indices */
void truth_from_cache(int object, double share);   /* of its accesses, where known */
void truth_hot_part(int object, double share); /* of its bytes, with 9 of 10 accesses; even: 0.9 */

/* A loop and its seconds in this run; then what it did with an object, in bytes. */
int truth_loop(const char* name, double seconds);
void truth_allocates(int loop); /* so many blocks that malloc's own work counts */
int truth_use(int loop, int object, double read, double written);

/* The seconds of the use's loop alone: the shortest counts. Where the time of a loop is known to go
 * by another measure, such as bytes where pages are touched for the first time, that as its weight.
 */
void truth_alone(int use, double seconds);
void truth_weight(int use, double weight);

/* Seconds of reading a word of each line of memory, and of writing it back: what a stream costs
 * where nothing but memory counts. */
double truth_read_lines(const void* data, size_t bytes);
double truth_write_lines(void* data, size_t bytes);

/* The file, with the seconds of the run so far. 0, or -1 with a line on stderr. */
int truth_write(const char* file, const char* program);

/* The number at that place of the arguments, from 1 on; the other one where there is none, or an
 * option before it. */
long truth_number(int argc, char** argv, int place, long otherwise);

/* The value behind an option: "FILE" of --truth FILE; NULL without it, "" for one that is last. */
const char* truth_option(int argc, char** argv, const char* name);

/* Bytes of the last-level cache, as the kernel tells it; 32 MiB where it does not. */
size_t truth_last_level_cache(void);

#ifdef __cplusplus
}
#endif

#endif
