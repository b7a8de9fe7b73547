// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "symbols/debug_file.hpp"

#include <array>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <string>
#include <unistd.h>
#include <vector>

namespace omptier {
namespace {

const std::string k_debug_folder = "/usr/lib/debug";
const std::string k_by_build_id = k_debug_folder + "/.build-id/";

// "ab/cdef…", or "" without build ID.
std::string build_id_path(Dwfl_Module* module) {
  const unsigned char* bits = nullptr;
  GElf_Addr address = 0;
  const int size = dwfl_module_build_id(module, &bits, &address);
  std::string path;
  for (int i = 0; i < size; ++i) {
    static constexpr char k_digits[] = "0123456789abcdef";
    path += {k_digits[bits[i] >> 4], k_digits[bits[i] & 15]};
    if (i == 0) path += '/';
  }
  return path;
}

// The checksum of GNU debug links: CRC-32 with the reversed polynomial 0xedb88320.
bool has_checksum(int file, GElf_Word wanted) {
  std::array<unsigned char, 1 << 16> bytes;
  std::uint32_t crc = ~0u;
  ssize_t size = 0;
  while ((size = read(file, bytes.data(), bytes.size())) > 0)
    for (ssize_t i = 0; i < size; ++i) {
      crc ^= bytes[static_cast<std::size_t>(i)];
      for (int bit = 0; bit < 8; ++bit)
        crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
    }
  return size == 0 && ~crc == wanted && lseek(file, 0, SEEK_SET) == 0;
}

int open_named(const std::string& path, char** found) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file >= 0) *found = strdup(path.c_str());
  return file;
}

int open_checked(const std::string& path, GElf_Word checksum, char** found) {
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file >= 0 && has_checksum(file, checksum)) {
    *found = strdup(path.c_str());
    return file;
  }
  if (file >= 0) close(file);
  return -1;
}

// dwz names the file that programs share from the folder of their own debug files.
int open_shared(const std::string& link, const std::string& id, char** found) {
  const bool absolute = link[0] == '/';
  return open_named(absolute ? link : k_by_build_id + id.substr(0, 3) + link, found);
}

} // namespace

int find_debug_file(Dwfl_Module* module, void**, const char*, Dwarf_Addr, const char* file,
                    const char* link, GElf_Word checksum, char** found) {
  const std::string id = build_id_path(module);
  if (link != nullptr && std::strchr(link, '/') != nullptr) return open_shared(link, id, found);
  if (!id.empty())
    if (const int by_id = open_named(k_by_build_id + id + ".debug", found); by_id >= 0)
      return by_id;
  if (link == nullptr || file == nullptr) return -1;
  const std::string folder = std::filesystem::path(file).parent_path().string();
  for (const std::string& place : {folder, folder + "/.debug", k_debug_folder + folder})
    if (const int by_link = open_checked(place + "/" + link, checksum, found); by_link >= 0)
      return by_link;
  return -1;
}

} // namespace omptier
