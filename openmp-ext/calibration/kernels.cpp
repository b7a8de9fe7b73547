// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stores go past the caches on x86-64, so that writing a line does not read it first. Arm's cores
// do the same by themselves when they see whole lines stored to in order.
#include "calibration/kernels.hpp"

#include <algorithm>
#include <bit>
#if defined(__x86_64__)
#include <emmintrin.h>
#endif

namespace omptier {
namespace {

constexpr std::size_t k_block_words = 4096; // 32 KiB
constexpr std::size_t k_chase_steps = 1024;
constexpr std::size_t k_groups_of_block = 256;
constexpr std::size_t k_tile_words = 512; // 4 KiB

// A permutation of the numbers below 2^bits in which neighbours lie far apart: each step of it can
// be undone.
std::size_t scattered(std::size_t number, unsigned bits) {
  const std::size_t mask = (std::size_t{1} << bits) - 1;
  number = (number * 0x9e3779b97f4a7c15u + 0x7f4a7c15u) & mask;
  number ^= number >> (bits / 2 + 1);
  return number * 0xbf58476d1ce4e5b9u & mask;
}

// Places in a random order, of nearly any number of them: slabs whose sizes are a power of two are
// taken in turn, each in an order of its own. Less than a 17th of the places is left out.
class Places {
public:
  explicit Places(std::size_t count)
      : bits_(static_cast<unsigned>(std::max<int>(std::bit_width(count), k_bits) - k_bits)),
        slabs_(count >> bits_) {}

  std::size_t count() const { return slabs_ << bits_; }
  // Goes to a step of the order; at its end it begins again.
  void start(std::size_t step) {
    slab_ = step % slabs_;
    number_ = step / slabs_;
  }
  std::size_t next() {
    const std::size_t mask = (std::size_t{1} << bits_) - 1;
    const std::size_t place =
        slab_ << bits_ | scattered((number_ ^ slab_ * 0x9e3779b1u) & mask, bits_);
    const bool last = slab_ + 1 == slabs_;
    number_ += last;
    slab_ = last ? 0 : slab_ + 1;
    return place;
  }

private:
  static constexpr int k_bits = 5; // 16 to 31 slabs
  unsigned bits_;
  std::size_t slabs_;
  std::size_t slab_ = 0, number_ = 0;
};

// Begin of the next block of so many words, again from the front at the end.
std::uint64_t* next_part(Stretch& stretch, std::size_t words, std::size_t room) {
  if (stretch.at + words > room) stretch.at = 0;
  std::uint64_t* const part = stretch.words.data() + stretch.at;
  stretch.at += words;
  return part;
}

std::uint64_t sum_of_lines(const std::uint64_t* part, std::size_t words) {
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < words; at += k_words_of_line)
    sum += part[at];
  return sum;
}

// Few instructions a line: in the virtual machine's time model they count.
#if defined(__x86_64__)
using StoredValue = __m128i;
StoredValue stored_value(std::uint64_t word) {
  return _mm_set1_epi64x(static_cast<long long>(word));
}
void store_line(std::uint64_t* line, StoredValue value) {
  auto* const to = reinterpret_cast<__m128i*>(line);
  _mm_stream_si128(to, value);
  _mm_stream_si128(to + 1, value);
  _mm_stream_si128(to + 2, value);
  _mm_stream_si128(to + 3, value);
}
#else
using StoredValue = std::uint64_t;
StoredValue stored_value(std::uint64_t word) {
  return word;
}
void store_line(std::uint64_t* line, StoredValue value) {
  for (std::size_t word = 0; word < k_words_of_line; ++word)
    line[word] = value;
}
#endif

// Streamed stores have left the core's buffers.
void end_stores() {
#if defined(__x86_64__)
  _mm_sfence();
#else
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

} // namespace

void link_lines(std::span<std::uint64_t> words) {
  Places places(words.size() / k_words_of_line);
  const std::size_t first = places.next();
  std::size_t at = first;
  for (std::size_t i = 1; i < places.count(); ++i) {
    const std::size_t next = places.next();
    words[at * k_words_of_line] = next * k_words_of_line;
    at = next;
  }
  words[at * k_words_of_line] = first * k_words_of_line;
}

std::size_t linked_lines(std::size_t words) {
  return Places(words / k_words_of_line).count();
}

bool is_one_cycle(std::span<const std::uint64_t> words) {
  const std::size_t lines = linked_lines(words.size());
  const std::uint64_t first = words[0];
  std::uint64_t at = first;
  std::size_t steps = 0;
  do
    at = words[at];
  while (++steps <= lines && at != first);
  return steps == lines;
}

std::size_t chase_block(Stretch& stretch) {
  const std::uint64_t* const words = stretch.words.data();
  std::uint64_t at = stretch.at;
  for (std::size_t step = 0; step < k_chase_steps; ++step)
    at = words[at];
  stretch.at = at;
  return k_chase_steps;
}

std::size_t atomic_chase_block(Stretch& stretch) {
  std::uint64_t* const words = stretch.words.data();
  std::uint64_t at = stretch.at;
  for (std::size_t step = 0; step < k_chase_steps; ++step)
    // The compiler makes an addition of 0 that it can see a load.
    at = __atomic_fetch_add(&words[at], stretch.result, __ATOMIC_RELAXED);
  stretch.at = at;
  return k_chase_steps;
}

std::size_t read_block(Stretch& stretch) {
  const std::uint64_t* const part = next_part(stretch, k_block_words, stretch.words.size());
  stretch.result += sum_of_lines(part, k_block_words);
  return k_block_words * sizeof(std::uint64_t);
}

std::size_t write_block(Stretch& stretch) {
  std::uint64_t* const part = next_part(stretch, k_block_words, stretch.words.size());
  const StoredValue value = stored_value(stretch.at);
  for (std::size_t at = 0; at < k_block_words; at += k_words_of_line)
    store_line(part + at, value);
  end_stores();
  return k_block_words * sizeof(std::uint64_t);
}

std::size_t copy_block(Stretch& stretch) {
  constexpr std::size_t k_words = k_block_words / 2;
  const std::size_t half = stretch.words.size() / 2;
  const std::uint64_t* const from = next_part(stretch, k_words, 2 * half);
  std::uint64_t* const to =
      stretch.words.data() + (stretch.at <= half ? stretch.at + half : stretch.at - half) - k_words;
  for (std::size_t at = 0; at < k_words; at += k_words_of_line)
    store_line(to + at, stored_value(from[at]));
  end_stores();
  return k_block_words * sizeof(std::uint64_t); // read and written
}

std::size_t strided_block(Stretch& stretch) {
  constexpr std::size_t k_stride = 4 * k_words_of_line;
  if (stretch.at + k_block_words > stretch.words.size())
    stretch.at = (stretch.at + k_words_of_line) % k_stride; // each round has lines of its own
  const std::uint64_t* const part = next_part(stretch, k_block_words, stretch.words.size());
  std::uint64_t sum = 0;
  for (std::size_t at = 0; at < k_block_words; at += k_stride)
    sum += part[at];
  stretch.result += sum;
  return k_block_words * sizeof(std::uint64_t) / 4;
}

// So many groups of so many words each, at random places.
std::size_t groups_block(Stretch& stretch, std::size_t groups, std::size_t words) {
  Places places(stretch.words.size() / words);
  places.start(stretch.at);
  const std::uint64_t* const all = stretch.words.data();
  std::uint64_t sum = 0;
  for (std::size_t group = 0; group < groups; ++group)
    sum += sum_of_lines(all + places.next() * words, words);
  stretch.at += groups;
  stretch.result += sum;
  return groups * words * sizeof(std::uint64_t);
}

std::size_t tiled_block(Stretch& stretch) {
  return groups_block(stretch, k_block_words / k_tile_words, k_tile_words);
}

std::size_t gather_block(Stretch& stretch, std::size_t lines) {
  return groups_block(stretch, std::max<std::size_t>(k_groups_of_block / lines, 1),
                      lines * k_words_of_line);
}

std::size_t run_block(Quantity quantity, Stretch& stretch) {
  switch (quantity) {
  case Quantity::read_latency:
  case Quantity::loaded_latency:
    return chase_block(stretch);
  case Quantity::write_latency:
    return atomic_chase_block(stretch);
  case Quantity::write:
    return write_block(stretch);
  case Quantity::copy:
    return copy_block(stretch);
  case Quantity::strided:
    return strided_block(stretch);
  case Quantity::tiled:
    return tiled_block(stretch);
  case Quantity::gather:
    return gather_block(stretch, 1);
  case Quantity::gather_4:
    return gather_block(stretch, 4);
  case Quantity::gather_8:
    return gather_block(stretch, 8);
  case Quantity::gather_16:
    return gather_block(stretch, 16);
  default:
    return read_block(stretch);
  }
}

} // namespace omptier
