// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `omptier record`: small blocks of the sites that allocate most, in spans of one site each
// (span_pool.hpp). So the span of an address gives the site of a sample, and a site's blocks are
// counted exactly. The recorder decides which calls are served in this way; small_calls.hpp
// recognises them.
//
// Each thread keeps some free blocks of every bin (a size of a site) in a magazine and counts there
// what it allocates and frees; whole batches go to and from the spans under one lock. If anything
// is missing (room, a bin, a magazine), the program's malloc serves the block.
#pragma once

#include "preload/small_calls.hpp"
#include "preload/span_pool.hpp"

namespace omptier::preload::small_spans {

// bytes: the largest room, 4,160 + 48 · 256 (small_spans.cpp). Blocks of so many and more are in no
// span.
inline constexpr std::size_t k_below = (std::size_t{16} << 10) + 64;
inline constexpr unsigned k_most_sites = 256, k_most_bins = 1024;

extern __attribute__((visibility("hidden"))) SpanPool g_pool;

inline bool are_used() {
  return g_pool.has_begun();
}
inline bool holds(const void* block) {
  return g_pool.holds(block);
}

// bytes: below k_below. If the call is not served, or there is no room, returns the result of
// otherwise. The contents are undefined.
using Otherwise = void* (*)(std::size_t bytes, const void* caller);
void* allocate(std::size_t bytes, Call call, Otherwise otherwise);
// alignment: a power of two; null: not served.
void* allocate_aligned(std::size_t bytes, std::size_t alignment, Call call);
// Ignores an address where no block is live.
void release(void* block);
// Bytes that the program may use.
std::size_t size_of(const void* block);

extern __attribute__((visibility("hidden"))) const omptier_small_spans k_table;
// On the forking thread. In the child these spans belong to no site; its recorder chooses anew.
void before_fork();
void after_fork_in_parent();
void after_fork_in_child();

// For tests, with no thread inside: null, or what is wrong.
const char* what_is_wrong();

} // namespace omptier::preload::small_spans
