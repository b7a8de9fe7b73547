// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Table of interned names. Texts lie in pages of our own and are never removed; they are found by
// number through two levels of pointers to which entries are only added, so readers need no lock.
#include "traits/interned.hpp"

#include "base/page_arena.hpp"

#include <array>
#include <atomic>
#include <cstring>
#include <mutex>

namespace omptier {
namespace {

constexpr OmpValue k_mark = OmpValue{0x6f6d7078} << 32; // "ompx" in the upper half
constexpr std::size_t k_page_names = 1024;
constexpr std::size_t k_pages = 1024;
constexpr std::size_t k_buckets = 1024;

struct Name {
  Name* next; // in its bucket
  std::uint32_t index;
  std::uint32_t length;
  char text[]; // ended by a zero
};
using Page = std::array<std::atomic<const Name*>, k_page_names>;

std::mutex lock;
std::atomic<Page*> pages[k_pages];
Name* buckets[k_buckets];
std::uint32_t count = 0;
PageArena arena;

std::size_t bucket_of(std::string_view text) {
  std::uint32_t hash = 2166136261u; // FNV-1a
  for (const char c : text)
    hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
  return hash % k_buckets;
}

} // namespace

bool is_valid_name(std::string_view text) {
  if (text.empty() || text.size() > k_longest_name) return false;
  for (const char c : text) {
    const bool good = (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                      c == '_' || c == '.' || c == '-';
    if (!good) return false;
  }
  return true;
}

OmpValue intern_name(std::string_view text) {
  if (!is_valid_name(text)) return 0;
  const std::size_t bucket = bucket_of(text);
  const std::lock_guard guard(lock);
  for (const Name* name = buckets[bucket]; name != nullptr; name = name->next)
    if (std::string_view(name->text, name->length) == text) return k_mark | name->index;

  if (count == k_pages * k_page_names) return 0;
  std::atomic<Page*>& slot = pages[count / k_page_names];
  if (slot.load(std::memory_order_relaxed) == nullptr) {
    void* page = arena.take(sizeof(Page));
    if (page == nullptr) return 0;
    slot.store(new (page) Page(), std::memory_order_release);
  }
  auto* name = static_cast<Name*>(arena.take(sizeof(Name) + text.size() + 1));
  if (name == nullptr) return 0;
  name->index = count++;
  name->length = static_cast<std::uint32_t>(text.size());
  std::memcpy(name->text, text.data(), text.size());
  name->text[text.size()] = '\0';
  name->next = buckets[bucket];
  buckets[bucket] = name;
  (*slot.load(std::memory_order_relaxed))[name->index % k_page_names].store(
      name, std::memory_order_release);
  return k_mark | name->index;
}

const char* interned_text(OmpValue value) {
  const OmpValue index = value - k_mark;
  if (value < k_mark || index >= k_pages * k_page_names) return nullptr;
  const Page* page = pages[index / k_page_names].load(std::memory_order_acquire);
  if (page == nullptr) return nullptr;
  const Name* name = (*page)[index % k_page_names].load(std::memory_order_acquire);
  return name != nullptr ? name->text : nullptr;
}

void lock_names() {
  lock.lock();
}
void unlock_names() {
  lock.unlock();
}

} // namespace omptier
