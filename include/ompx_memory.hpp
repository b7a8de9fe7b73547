// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// OMPTier for C++17 and later: containers and polymorphic memory resources on OpenMP allocators,
// and traits that the compiler checks. Header only; includes ompx_memory.h, whose functions are for
// all the rest. Link OpenMP and libomptier.
//
//     ompx::allocator_handle fast(ompx_auto_mem_space,
//                                 ompx::traits{}.pattern(ompx::access_pattern::random)
//                                               .importance(300));
//     std::vector<double, ompx::allocator<double>> table(n, fast);
//
// Thread safety: as for standard containers, threads may use different objects at once, and one
// object if none of them changes it. Allocating and freeing through copies of one allocator is
// thread-safe, and any thread may free a block.
// Sources: [allocator.requirements] and [mem.res] of the C++17 standard, OpenMP 5.2 chapter 6.
#ifndef OMPX_MEMORY_HPP
#define OMPX_MEMORY_HPP

#if __cplusplus < 201703L
#error "ompx_memory.hpp needs C++17; ompx_memory.h serves C11 and C++11"
#endif

#include <ompx_memory.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory_resource>
#include <new>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace ompx {

// ---- Trait values, one type per key -------------------------------------------------------------

// Order in which accesses go through the data; traits::strided is for the strided pattern. Plain
// values, as all enumerations here: thread-safe.
enum class access_pattern : std::uint16_t {
  sequential = ompx_atv_access_pattern_sequential,
  tiled = ompx_atv_access_pattern_tiled,
  random = ompx_atv_access_pattern_random,
  pointer_chase = ompx_atv_access_pattern_pointer_chase
};
// How reads and writes are mixed. Thread-safe.
enum class access_mode : std::uint16_t {
  read_only = ompx_atv_access_mode_read_only,
  read_mostly = ompx_atv_access_mode_read_mostly,
  read_write = ompx_atv_access_mode_read_write,
  write_mostly = ompx_atv_access_mode_write_mostly,
  write_only = ompx_atv_access_mode_write_only
};
// Which threads access the data. Thread-safe.
enum class access_origin : std::uint16_t {
  single_thread = ompx_atv_access_origin_single_thread,
  multiple_threads = ompx_atv_access_origin_multiple_threads
};
// Which memory figure matters. Thread-safe.
enum class sensitivity : std::uint16_t {
  latency = ompx_atv_sensitivity_latency,
  bandwidth = ompx_atv_sensitivity_bandwidth,
  both = ompx_atv_sensitivity_both,
  none = ompx_atv_sensitivity_none
};
// required: that memory, else the fallback. preferred: that memory, else the next best.
// Thread-safe.
enum class placement : std::uint16_t {
  required = ompx_atv_placement_required,
  preferred = ompx_atv_placement_preferred
};
// How long blocks live. Thread-safe.
enum class lifetime : std::uint16_t {
  program = ompx_atv_lifetime_program,
  phase = ompx_atv_lifetime_phase,
  temporary = ompx_atv_lifetime_temporary
};
// What happens when the requested memory has no room (omp_atk_fallback). Thread-safe.
enum class fallback : std::uint16_t {
  default_memory = omp_atv_default_mem_fb,
  null = omp_atv_null_fb, // containers then throw std::bad_alloc
  abort = omp_atv_abort_fb
}; // another allocator: traits::fallback_to
// How a block is distributed over the nodes of its memory (omp_atk_partition). Thread-safe.
enum class partition : std::uint16_t {
  environment = omp_atv_environment,
  nearest = omp_atv_nearest,
  blocked = omp_atv_blocked,
  interleaved = omp_atv_interleaved
};

// Name for a group or a label, interned by ompx_name.
//   text    1 to 255 characters of [A-Za-z0-9_.-]
//   throws  std::invalid_argument for any other text, std::bad_alloc if memory or the names (2^20)
//           are exhausted, or OMPTier's library is missing
// Thread-safe.
class name {
public:
  explicit name(const char *text) : value_(ompx_name(text)) {
    if (value_ != 0) return;
    bool valid = text != nullptr && *text != '\0' && std::char_traits<char>::length(text) <= 255;
    for (const char *c = text; valid && *c != '\0'; ++c)
      valid = (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') ||
              *c == '_' || *c == '.' || *c == '-';
    if (valid) throw std::bad_alloc();
    throw std::invalid_argument("ompx::name: 1 to 255 characters of [A-Za-z0-9_.-] expected");
  }
  explicit name(const std::string &text)
      : name(text.find('\0') == std::string::npos ? text.c_str() : nullptr) {}
  omp_uintptr_t value() const noexcept { return value_; }

private:
  omp_uintptr_t value_;
};

// ---- Traits -------------------------------------------------------------------------------------

// A list of allocator traits. Every key takes values of its own type, so a wrong value does not
// compile. Each function returns a copy of the list with one more trait, which replaces an earlier
// one of the same key. A number outside the range given below throws std::out_of_range; above 2^40
// (strided, alignment) or 2^62 (frequency) the runtime refuses it. Allocates nothing. Thread-safe:
// a value.
class traits {
public:
  // Greatest number of different keys.
  static constexpr std::size_t capacity = 20;

  // OMPTier's own traits; ompx_memory.h documents each.
  [[nodiscard]] traits pattern(ompx::access_pattern value) const {
    return with(ompx_atk_access_pattern, value);
  }
  // Strided pattern; bytes from one access to the next, 1 or more.
  template <typename N> [[nodiscard]] traits strided(N bytes) const {
    return with(ompx_atk_access_pattern, std::uintptr_t{ompx_atv_access_pattern_strided})
        .with(ompx_atk_access_stride, number(bytes, 1, most));
  }
  [[nodiscard]] traits mode(ompx::access_mode value) const {
    return with(ompx_atk_access_mode, value);
  }
  // Accesses per second by all threads to all blocks of the allocator; 0 = never.
  template <typename N> [[nodiscard]] traits frequency(N per_second) const {
    return with(ompx_atk_access_frequency, number(per_second, 0, most));
  }
  [[nodiscard]] traits origin(ompx::access_origin value) const {
    return with(ompx_atk_access_origin, value);
  }
  // Share of the program's memory time, 0 to 1000 per mille.
  template <typename N> [[nodiscard]] traits importance(N per_mille) const {
    return with(ompx_atk_importance, number(per_mille, 0, 1000));
  }
  [[nodiscard]] traits sensitivity(ompx::sensitivity value) const {
    return with(ompx_atk_sensitivity, value);
  }
  [[nodiscard]] traits placement(ompx::placement value) const {
    return with(ompx_atk_placement, value);
  }
  [[nodiscard]] traits lifetime(ompx::lifetime value) const {
    return with(ompx_atk_lifetime, value);
  }
  [[nodiscard]] traits group(const ompx::name &value) const {
    return with(ompx_atk_group, value.value());
  }
  [[nodiscard]] traits label(const ompx::name &value) const {
    return with(ompx_atk_label, value.value());
  }
  [[nodiscard]] traits migratable(bool value) const { return with(ompx_atk_migratable, truth(value)); }
  template <typename T> traits migratable(T) const = delete; // only bool, without conversion

  // OpenMP's traits.
  // In bytes; a power of two, else std::out_of_range.
  template <typename N> [[nodiscard]] traits alignment(N bytes) const {
    const std::uintptr_t value = number(bytes, 1, most);
    if ((value & (value - 1)) != 0) throw std::out_of_range("ompx::traits: alignment no power of two");
    return with(omp_atk_alignment, value);
  }
  // Most bytes that the allocator's live blocks may have together; 1 or more.
  template <typename N> [[nodiscard]] traits pool_size(N bytes) const {
    return with(omp_atk_pool_size, number(bytes, 1, most));
  }
  // What an allocation gets if the memory has no room. fallback_to: that of another allocator, which
  // must outlive this one and its blocks.
  [[nodiscard]] traits fallback(ompx::fallback value) const { return with(omp_atk_fallback, value); }
  [[nodiscard]] traits fallback_to(omp_allocator_handle_t allocator) const {
    return with(omp_atk_fallback, std::uintptr_t{omp_atv_allocator_fb})
        .with(omp_atk_fb_data, static_cast<std::uintptr_t>(allocator));
  }
  // Whether the pages are locked in memory (mlock).
  [[nodiscard]] traits pinned(bool value) const { return with(omp_atk_pinned, truth(value)); }
  template <typename T> traits pinned(T) const = delete;
  // How a block lies over the nodes of its memory.
  [[nodiscard]] traits partition(ompx::partition value) const {
    return with(omp_atk_partition, value);
  }

  // For the C functions: omp_init_allocator(space, t.size(), t.data()).
  const omp_alloctrait_t *data() const noexcept { return list_.data(); }
  int size() const noexcept { return static_cast<int>(count_); }

private:
  static constexpr std::uintptr_t most = std::numeric_limits<std::uintptr_t>::max() - 1;

  static std::uintptr_t truth(bool value) { return value ? omp_atv_true : omp_atv_false; }

  template <typename N>
  static std::uintptr_t number(N value, std::uintptr_t least, std::uintptr_t greatest) {
    static_assert(std::is_integral_v<N> && !std::is_same_v<N, bool>,
                  "this trait takes a whole number");
    bool negative = false;
    if constexpr (std::is_signed_v<N>) negative = value < 0;
    if (negative || static_cast<std::uintptr_t>(value) < least ||
        static_cast<std::uintptr_t>(value) > greatest)
      throw std::out_of_range("ompx::traits: a number outside what the trait takes");
    return static_cast<std::uintptr_t>(value);
  }

  template <typename V> traits with(omp_alloctrait_key_t key, V value) const {
    traits more = *this;
    std::size_t at = 0;
    while (at < more.count_ && more.list_[at].key != key)
      ++at;
    if (at == capacity) throw std::length_error("ompx::traits: too many keys");
    more.list_[at].key = key;
    more.list_[at].value = static_cast<omp_uintptr_t>(value);
    if (at == more.count_) ++more.count_;
    return more;
  }

  std::array<omp_alloctrait_t, capacity> list_{};
  std::size_t count_ = 0;
};

// ---- Allocators ---------------------------------------------------------------------------------

// Owns an OpenMP allocator, from omp_init_allocator to omp_destroy_allocator. Blocks may outlive
// it. Movable, not copyable. Thread-safe as std::unique_ptr is: one thread at a time may change it.
class allocator_handle {
public:
  // Owns none: get() is omp_null_allocator.
  allocator_handle() noexcept = default;
  //   space   one of omp_*_mem_space, ompx_*_mem_space
  //   throws  std::invalid_argument if the runtime refuses space or traits, or a further allocator
  //           where about 32,000 exist; a warning states why
  explicit allocator_handle(omp_memspace_handle_t space, const traits &list = {})
      : handle_(omp_init_allocator(space, list.size(), const_cast<omp_alloctrait_t *>(list.data()))) {
    if (handle_ == omp_null_allocator)
      throw std::invalid_argument("ompx::allocator_handle: the OpenMP runtime refuses space or traits");
  }
  // Takes the other's allocator; assignment destroys its own before.
  allocator_handle(allocator_handle &&other) noexcept : handle_(other.release()) {}
  allocator_handle &operator=(allocator_handle &&other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  ~allocator_handle() { reset(); }

  omp_allocator_handle_t get() const noexcept { return handle_; }
  explicit operator bool() const noexcept { return handle_ != omp_null_allocator; }
  // Gives up ownership without destroying the allocator.
  omp_allocator_handle_t release() noexcept {
    const omp_allocator_handle_t given = handle_;
    handle_ = omp_null_allocator;
    return given;
  }
  // Destroys the allocator and owns another (or none). No container or memory resource may use the
  // old one any more.
  void reset(omp_allocator_handle_t other = omp_null_allocator) noexcept {
    if (handle_ != omp_null_allocator) omp_destroy_allocator(handle_);
    handle_ = other;
  }
  // ompx_update_allocator with these traits. Returns its result; throws nothing.
  ompx_result_t update(const traits &list) const noexcept {
    return ompx_update_allocator(handle_, list.size(), list.data());
  }

private:
  omp_allocator_handle_t handle_ = omp_null_allocator;
};

namespace detail {

// Alignment that every allocator of every runtime guarantees.
inline constexpr std::size_t k_usual_alignment = 8;

inline void *allocate(std::size_t bytes, std::size_t alignment, omp_allocator_handle_t handle) {
  if (bytes == 0) bytes = 1; // omp_alloc(0) returns NULL, as if memory were exhausted
  void *block = alignment <= k_usual_alignment ? omp_alloc(bytes, handle)
                                               : omp_aligned_alloc(alignment, bytes, handle);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}

} // namespace detail

// Allocator for standard containers on an OpenMP allocator. Does not own the handle: the
// allocator_handle must live as long as containers allocate. Two are equal if their handles are.
//
// Copy assignment to a container keeps its allocator. Move and swap transfer the allocator, so
// moving never copies elements. Copy construction uses the original's allocator. T may be
// over-aligned.
//   allocate   n objects; throws std::bad_array_new_length if they take more than PTRDIFF_MAX
//              bytes, std::bad_alloc if the OpenMP allocator returns NULL (see its fallback trait)
// Thread-safe: allocate and deallocate, from any thread.
template <typename T> class allocator {
public:
  using value_type = T;
  using propagate_on_container_copy_assignment = std::false_type;
  using propagate_on_container_move_assignment = std::true_type;
  using propagate_on_container_swap = std::true_type;
  using is_always_equal = std::false_type;

  // The calling thread's current default allocator (OMP_ALLOCATOR, omp_set_default_allocator).
  allocator() noexcept : handle_(omp_get_default_allocator()) {}
  // Implicit, so that a container's constructor accepts an allocator_handle as its allocator.
  // Explicit for OpenMP's own type: it is an enumeration, which a vector would take for a size.
  allocator(const allocator_handle &handle) noexcept : handle_(handle.get()) {}
  explicit allocator(omp_allocator_handle_t handle) noexcept : handle_(handle) {}
  template <typename U> allocator(const allocator<U> &other) noexcept : handle_(other.handle()) {}

  [[nodiscard]] T *allocate(std::size_t n) {
    if (n > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / sizeof(T))
      throw std::bad_array_new_length();
    return static_cast<T *>(detail::allocate(n * sizeof(T), alignof(T), handle_));
  }
  void deallocate(T *block, std::size_t) noexcept {
    omp_free(const_cast<std::remove_cv_t<T> *>(block), omp_null_allocator);
  }

  omp_allocator_handle_t handle() const noexcept { return handle_; }

private:
  omp_allocator_handle_t handle_;
};

// True if the handles are equal: each may then free the other's blocks. Thread-safe.
template <typename T, typename U>
bool operator==(const allocator<T> &a, const allocator<U> &b) noexcept {
  return a.handle() == b.handle();
}
// True if the handles differ. Thread-safe.
template <typename T, typename U>
bool operator!=(const allocator<T> &a, const allocator<U> &b) noexcept {
  return !(a == b);
}

// Memory resource for std::pmr containers on an OpenMP allocator, which it does not own. Throws
// std::bad_alloc like ompx::allocator. Equal to resources with the same handle. Thread-safe.
class memory_resource final : public std::pmr::memory_resource {
public:
  explicit memory_resource(omp_allocator_handle_t handle) noexcept : handle_(handle) {}
  explicit memory_resource(const allocator_handle &handle) noexcept : handle_(handle.get()) {}
  omp_allocator_handle_t handle() const noexcept { return handle_; }

private:
  void *do_allocate(std::size_t bytes, std::size_t alignment) override {
    return detail::allocate(bytes, alignment, handle_);
  }
  void do_deallocate(void *block, std::size_t, std::size_t) override {
    omp_free(block, omp_null_allocator);
  }
  bool do_is_equal(const std::pmr::memory_resource &other) const noexcept override {
    const auto *same = dynamic_cast<const ompx::memory_resource *>(&other);
    return same != nullptr && same->handle_ == handle_;
  }

  omp_allocator_handle_t handle_;
};

// ---- Declare and commit -------------------------------------------------------------------------

// ompx_declare for count objects of type T, 1 or more; constructs none. Alignment: T's, or the
// alignment trait if greater.
//   pointer  nullptr until the commit sets it; must stay in place until then
//   returns  as ompx_declare; also ompx_error_invalid_argument if count objects take more than
//            PTRDIFF_MAX bytes
//   throws   nothing
// Thread-safe.
template <typename T>
ompx_result_t declare(T *&pointer, std::size_t count, traits list = {},
                      omp_memspace_handle_t space = ompx_auto_mem_space) {
  static_assert(std::is_trivially_default_constructible_v<T> && std::is_trivially_destructible_v<T>,
                "declared memory holds no objects yet");
  if (count > static_cast<std::size_t>(std::numeric_limits<std::ptrdiff_t>::max()) / sizeof(T))
    return ompx_error_invalid_argument;
  std::size_t given = 0;
  for (int i = 0; i < list.size(); ++i)
    if (list.data()[i].key == omp_atk_alignment) given = list.data()[i].value;
  if (alignof(T) > detail::k_usual_alignment && alignof(T) > given)
    list = list.alignment(alignof(T));
  return ompx_declare(&pointer, count * sizeof(T), space, list.size(), list.data());
}

// Result of a commit or an apply, and its counts of blocks and bytes as in ompx_outcome_t. A value:
// thread-safe as int.
struct outcome : ompx_outcome_t {
  ompx_result_t result = ompx_success;
};

// ompx_commit: allocates everything declared since the last one.
//   order    which blocks are served first if not all fit
//   returns  the counts; `result` as ompx_commit. Throws nothing.
// Thread-safe.
inline outcome commit(ompx_order_t order = ompx_order_density) noexcept {
  outcome out{};
  out.struct_size = sizeof(ompx_outcome_t);
  out.result = ompx_commit(order, &out);
  return out;
}

// ompx_update_traits: changes traits of one live block; apply() moves it.
//   block    its first address
//   returns  as ompx_update_traits. Throws nothing.
// Thread-safe; no thread may free the block meanwhile.
inline ompx_result_t update_traits(void *block, const traits &list) noexcept {
  return ompx_update_traits(block, list.size(), list.data());
}

// ompx_apply: moves live blocks according to their present traits.
//   order    which blocks are served first if not all fit
//   returns  the counts; `result` as ompx_apply. Throws nothing.
// Thread-safe.
inline outcome apply(ompx_order_t order = ompx_order_density) noexcept {
  outcome out{};
  out.struct_size = sizeof(ompx_outcome_t);
  out.result = ompx_apply(order, &out);
  return out;
}

// ---- Arrays in chunks ---------------------------------------------------------------------------

// A chunk of an array of T, valid until the next one. Rows count from 0, those of the halo before
// it from -halo_before(). Thread-safe as a view: threads may use different elements.
template <typename T> class chunk {
public:
  // First element of a row; negative rows, and those from rows() on, are the halo's.
  T* row(std::ptrdiff_t number) const noexcept {
    return reinterpret_cast<T*>(static_cast<char*>(as_c.data) +
                                number * static_cast<std::ptrdiff_t>(as_c.stride));
  }
  std::size_t rows() const noexcept { return as_c.rows; }
  std::size_t columns() const noexcept { return as_c.bytes / sizeof(T); }
  // Where it begins in the array.
  std::size_t first_row() const noexcept { return as_c.first_row; }
  std::size_t first_column() const noexcept { return as_c.first_byte / sizeof(T); }
  std::size_t number() const noexcept { return as_c.number; }
  std::size_t halo_before() const noexcept { return as_c.halo_before; }
  std::size_t halo_after() const noexcept { return as_c.halo_after; }
  // False: it is the array itself.
  bool copied() const noexcept { return as_c.copied != 0; }

  ompx_chunk_t as_c{};
};

// How an array is divided; 0 and nullptr are as in ompx_chunked_array_t. Counts of rows and of
// elements. Thread-safe: a value.
struct chunk_shape {
  std::size_t chunk_rows = 0;
  std::size_t chunk_columns = 0;
  std::size_t halo_rows = 0;
  std::size_t row_stride = 0;
  const std::size_t* order = nullptr;
  std::size_t order_count = 0;
  omp_allocator_handle_t allocator = omp_null_allocator;
};

// An array that passes through faster memory in chunks, for range-based loops:
//
//     ompx::chunk_shape shape;
//     shape.halo_rows = 1;
//     ompx::chunked<double> mesh(field, rows, columns, ompx::access_mode::read_only, shape);
//     for (auto &chunk : mesh)
//       compute(chunk.row(0), chunk.rows());
//
// ompx_chunked_begin, next and end; it can be gone through once, and ends with the object.
//   mode     read_only, read_write or write_only; for const T, read_only
//   throws   std::invalid_argument if the runtime refuses the description (a warning states why),
//            std::bad_alloc if memory is exhausted
// Thread-safe for different arrays; one thread at a time for each.
template <typename T> class chunked {
  static_assert(std::is_trivially_copyable_v<T>, "chunks are copied byte by byte");

public:
  chunked(T* array, std::size_t rows, std::size_t columns, access_mode mode,
          const chunk_shape& shape = {}) {
    if (std::is_const_v<T> && mode != access_mode::read_only)
      throw std::invalid_argument("ompx::chunked: a constant array is read_only");
    constexpr std::size_t most = std::numeric_limits<std::size_t>::max() / sizeof(T);
    if (columns > most || shape.row_stride > most || shape.chunk_columns > most)
      throw std::invalid_argument("ompx::chunked: more bytes than there can be");
    ompx_chunked_array_t what{};
    what.struct_size = sizeof what;
    what.data = const_cast<std::remove_cv_t<T>*>(array);
    what.rows = rows;
    what.row_bytes = columns * sizeof(T);
    what.row_stride = shape.row_stride * sizeof(T);
    what.mode = static_cast<omp_uintptr_t>(mode);
    what.chunk_rows = shape.chunk_rows;
    what.chunk_bytes = shape.chunk_columns * sizeof(T);
    what.halo_rows = shape.halo_rows;
    what.order = shape.order;
    what.order_count = shape.order_count;
    what.allocator = shape.allocator;
    const ompx_result_t result = ompx_chunked_begin(&what, &handle_);
    if (result == ompx_error_out_of_memory) throw std::bad_alloc();
    if (result != ompx_success)
      throw std::invalid_argument("ompx::chunked: the OpenMP runtime refuses the description");
    chunk_.as_c.struct_size = sizeof chunk_.as_c;
  }
  chunked(const chunked&) = delete;
  chunked& operator=(const chunked&) = delete;
  ~chunked() { (void)ompx_chunked_end(handle_); }

  // The next chunk; nullptr behind the last one, when everything is written back.
  chunk<T>* next() noexcept {
    const bool good = ompx_chunked_next(handle_, &chunk_.as_c) == ompx_success;
    return good && chunk_.as_c.data != nullptr ? &chunk_ : nullptr;
  }

  struct end_of_chunks {};
  class iterator {
  public:
    explicit iterator(chunked& of) noexcept : of_(of), now_(of.next()) {}
    chunk<T>& operator*() const noexcept { return *now_; }
    iterator& operator++() noexcept {
      now_ = of_.next();
      return *this;
    }
    bool operator!=(end_of_chunks) const noexcept { return now_ != nullptr; }

  private:
    chunked& of_;
    chunk<T>* now_;
  };
  // To be called once: fetches the first chunk.
  iterator begin() noexcept { return iterator(*this); }
  end_of_chunks end() const noexcept { return {}; }

private:
  ompx_chunked_t* handle_ = nullptr;
  chunk<T> chunk_;
};

} // namespace ompx
#endif // OMPX_MEMORY_HPP
