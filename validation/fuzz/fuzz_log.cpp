// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The profile reader and what is computed from a profile. The bytes are read as they are, then once
// more with the checksums and numbers of their blocks put right, so that changed records are
// reached. Whatever a profile says, its summary keeps its invariants.

#include "analysis/aggregate.hpp"
#include "log/format.hpp"
#include "log/reader.hpp"
#include "objects/modules.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

using namespace omptier;

void put_right(std::string& bytes) {
  ProfileHeader header{};
  if (bytes.size() < sizeof header) return;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::memcpy(header.magic, k_profile_magic, sizeof header.magic);
  header.version = std::clamp(header.version, k_oldest_profile_version, k_profile_version);
  header.bytes = sizeof header;
  std::memcpy(bytes.data(), &header, sizeof header);
  BlockHeader block{};
  std::uint32_t sequence = 0;
  for (std::size_t at = sizeof header; bytes.size() - at >= sizeof block;
       at += sizeof block + block.bytes) {
    std::memcpy(&block, bytes.data() + at, sizeof block);
    block.magic = k_block_magic;
    block.sequence = sequence++;
    block.records = ~0u;
    const std::size_t left = bytes.size() - at - sizeof block;
    if (block.bytes > left) block.bytes = static_cast<std::uint32_t>(left);
    const char* records = bytes.data() + at + sizeof block;
    const std::uint64_t head = hash_bytes(0, &block, offsetof(BlockHeader, checksum));
    block.checksum = hash_bytes(head, records, block.bytes);
    std::memcpy(bytes.data() + at, &block, sizeof block);
  }
}

void read(const std::string& bytes) {
  auto profile = parse_profile(bytes, "fuzzed");
  if (!profile) return;
  add_areas(*profile, [](const ModuleInfo& module) -> std::vector<StaticVariable> {
    return {{"first", 0x4000, 4096}, {"second", 0x5800, module.bias}, {"third", ~0ull, 8192}};
  });
  const auto summary = summarize({&*profile, 1});
  if (!summary) return;
  std::string why_not;
  if (is_consistent(*summary, why_not)) return;
  std::fprintf(stderr, "%s\n", why_not.c_str());
  std::abort();
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(reinterpret_cast<const char*>(data), size);
  read(bytes);
  put_right(bytes);
  read(bytes);
  return 0;
}
