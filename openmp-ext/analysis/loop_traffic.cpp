// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See loop_traffic.hpp.
#include "analysis/loop_traffic.hpp"

namespace omptier {

Lines& Lines::operator+=(const Lines& other) {
  streamed_load += other.streamed_load;
  gathered_load += other.gathered_load;
  chased_load += other.chased_load;
  streamed_store += other.streamed_store;
  scattered_store += other.scattered_store;
  return *this;
}

Lines& Lines::operator*=(double factor) {
  for (double* lines :
       {&streamed_load, &gathered_load, &chased_load, &streamed_store, &scattered_store})
    *lines *= factor;
  return *this;
}

} // namespace omptier
