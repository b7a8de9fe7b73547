// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See chunk_size.hpp.
#include "model/chunk_size.hpp"

#include "model/cost.hpp"

#include <algorithm>
#include <cmath>

namespace omptier {

double chunk_copy_time(const ChunkTraffic& traffic) {
  const unsigned copiers = std::max(traffic.copiers, 1u);
  const auto line = [&](const Figures& from, const Figures& to) {
    Figures written = to;
    written.mixed_bandwidth = 0; // the copy reads elsewhere
    return access_time(Manner::streamed_load, from, copiers) +
           access_time(Manner::streamed_store, written, copiers);
  };
  double time = 0;
  if (traffic.in) time += line(traffic.slow, traffic.fast);
  if (traffic.back) time += line(traffic.fast, traffic.slow);
  return time / k_line_bytes / copiers;
}

double chunk_bytes(double array, const ChunkTraffic& traffic) {
  const double byte = chunk_copy_time(traffic);
  if (byte <= 0) return array;
  return std::max(std::sqrt(array * k_chunk_hand_over / byte), 100 * k_chunk_hand_over / byte);
}

double least_chunk_bytes(const ChunkTraffic& traffic) {
  const double byte = chunk_copy_time(traffic);
  return byte > 0 ? 10 * k_chunk_hand_over / byte : 0;
}

unsigned chunk_copiers(const Figures& slow, unsigned processors) {
  return std::min(threads_that_saturate(slow), std::max(processors / 8, 1u));
}

} // namespace omptier
