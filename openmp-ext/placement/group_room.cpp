// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See group_room.hpp.
#include "placement/group_room.hpp"

namespace omptier {

bool GroupRoom::leaves(std::uint64_t bytes) {
  if (!limited()) return true;
  std::uint64_t coming = announced_.load();
  for (const Promised& of_tier : promised_)
    coming += of_tier.bytes();
  job_.publish_coming(coming); // before room is read: of two at once, one sees the other
  const std::uint64_t room = limits_.room();
  return coming + bytes <= room && job_.coming_of_others() <= room - coming - bytes;
}

} // namespace omptier
