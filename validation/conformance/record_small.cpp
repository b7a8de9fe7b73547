// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What programs do with small blocks while they are recorded. Each case checks every block's
// contents, which a block handed out twice would spoil, and prints what it added up.
//
// usage: record_small rows|temporaries|threads|resized|forked|ending
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

namespace {

constexpr int k_length = 27;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "%s\n", what);
  std::_Exit(1);
}

// Filled with a number of its own; freeing it checks that nobody else wrote there.
double* make_row(double value) {
  auto* row = new double[k_length];
  for (int i = 0; i < k_length; ++i)
    row[i] = value + i;
  return row;
}
void free_row(double* row, double value) {
  for (int i = 0; i < k_length; ++i)
    if (row[i] != value + i) fail("a row was overwritten");
  delete[] row;
}

// Nearly all accesses go to the rows, which no cache holds.
void rows() {
  constexpr int k_rows = 200'000;
  std::vector<double*> matrix(k_rows);
  for (int i = 0; i < k_rows; ++i)
    matrix[i] = make_row(i);
  double sum = 0;
  for (int round = 0; round < 60; ++round)
    for (const double* row : matrix)
      for (int i = 0; i < k_length; ++i)
        sum += row[i];
  for (int i = 0; i < k_rows; i += 2)
    free_row(matrix[i], i);
  std::printf("%g\n", sum);
}

// Blocks that come and go, as automatic arrays of Fortran do: the same two of each size at a time.
// Returns nanoseconds for a block.
__attribute__((noinline)) double come_and_go(std::size_t bytes, int count, std::size_t& sum) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < count; i += 2) {
    char* first = new char[bytes];
    char* second = new char[bytes];
    first[i % bytes] = second[i % bytes] = static_cast<char>(i);
    sum += static_cast<unsigned char>(first[i % bytes]);
    delete[] second;
    delete[] first;
  }
  const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - begin;
  return taken.count() / count;
}

void temporaries() {
  std::size_t sum = 0;
  const double medium = come_and_go(6000, 400'000, sum), large = come_and_go(20'000, 400'000, sum);
  std::vector<std::unique_ptr<char[]>> kept;
  for (int i = 0; i < 8000; ++i)
    kept.emplace_back(new char[8192])[i] = 1;
  std::fprintf(stderr, "6000 bytes: %.0f ns, 20000: %.0f ns\n", medium, large);
  std::printf("%zu\n", sum + kept.size());
}

// Each thread frees what another one allocated; threads come and go.
void threads() {
  constexpr int k_threads = 8, k_rounds = 12, k_each = 4000;
  std::vector<double*> shelf[k_threads];
  for (int round = 0; round < k_rounds; ++round) {
    std::vector<std::thread> workers;
    for (int me = 0; me < k_threads; ++me)
      workers.emplace_back([&, me] {
        std::vector<double*> mine(k_each);
        for (int i = 0; i < k_each; ++i)
          mine[i] = make_row(me + i);
        for (int i = 0; i < static_cast<int>(shelf[me].size()); ++i)
          free_row(shelf[me][i], (me + k_threads - 1) % k_threads + i);
        shelf[me] = std::move(mine);
      });
    for (std::thread& worker : workers)
      worker.join();
    std::vector<double*> last = std::move(shelf[k_threads - 1]);
    for (int me = k_threads - 1; me > 0; --me)
      shelf[me] = std::move(shelf[me - 1]);
    shelf[0] = std::move(last);
  }
  std::size_t left = 0;
  for (int me = 0; me < k_threads; ++me) {
    left += shelf[me].size();
    for (int i = 0; i < static_cast<int>(shelf[me].size()); ++i)
      free_row(shelf[me][i], (me + k_threads - 1) % k_threads + i);
  }
  std::printf("%zu\n", left);
}

bool is_at(const void* block, std::size_t alignment) {
  return reinterpret_cast<std::uintptr_t>(block) % alignment == 0;
}

bool is_filled(const char* block, std::size_t bytes, char with) {
  for (std::size_t i = 0; i < bytes; ++i)
    if (block[i] != with) return false;
  return true;
}

// Every way to get a block, and of changing its size across 4 KiB and 64 KiB.
void resized() {
  constexpr int k_rounds = 20'000;
  std::size_t sum = 0;
  for (int i = 0; i < k_rounds; ++i) {
    const auto mark = static_cast<char>(i % 100 + 1);
    const std::size_t sizes[] = {40, 41, 48, 200, 4000, 5000, 100'000, 3000, 30, 0};
    std::size_t before = 24;
    auto* block = static_cast<char*>(std::malloc(before));
    std::memset(block, mark, before);
    for (const std::size_t bytes : sizes) {
      if (i % 64 != 0 && bytes > 4096) continue;
      auto* moved = static_cast<char*>(std::realloc(block, bytes));
      if (bytes == 0) {
        if (moved != nullptr) fail("realloc to nothing gave a block");
        break;
      }
      if (!is_filled(moved, std::min(before, bytes), mark)) fail("realloc lost data");
      if (malloc_usable_size(moved) < bytes) fail("a block is too small");
      block = moved;
      std::memset(block, mark, malloc_usable_size(block));
      before = bytes;
      sum += bytes;
    }
    const volatile bool last = i == k_rounds - 1; // volatile: one call for both sizes
    const std::size_t size = last ? SIZE_MAX / 5 + 34 : 33; // five of these: 169 bytes
    errno = 0;
    auto* zeroed = static_cast<char*>(std::calloc(5, size));
    if (last) {
      if (zeroed != nullptr || errno != ENOMEM) fail("calloc gave more than there is");
      zeroed = static_cast<char*>(std::calloc(5, 33));
    }
    if (!is_filled(zeroed, 165, 0)) fail("calloc gave what is not zero");
    std::memset(zeroed, 7, 165);
    auto* grown = static_cast<char*>(reallocarray(nullptr, 3, 50));
    std::memset(grown, 9, 150);
    void* aligned[] = {std::aligned_alloc(64, 192), memalign(128, 100), nullptr, nullptr};
    if (posix_memalign(&aligned[2], 32, 72) != 0) fail("posix_memalign failed");
    aligned[3] = ::operator new(72, std::align_val_t{256});
    for (std::size_t k = 0; k < 4; ++k) {
      constexpr std::size_t k_alignments[] = {64, 128, 32, 256};
      if (!is_at(aligned[k], k_alignments[k])) fail("a block is not aligned");
      std::memset(aligned[k], 5, 72);
    }
    if (std::aligned_alloc(48, 96) != nullptr && !is_at(zeroed, 16)) fail("zeroed");
    if (!is_filled(zeroed, 165, 7) || !is_filled(grown, 150, 9)) fail("a block was overwritten");
    for (int k = 0; k < 3; ++k)
      std::free(aligned[k]);
    ::operator delete(aligned[3], std::size_t{72}, std::align_val_t{256});
    ::operator delete(::operator new(56), std::size_t{56});
    std::free(zeroed);
    std::free(grown);
    std::free(std::malloc(0));
  }
  std::printf("%zu\n", sum);
}

// The child frees what the parent allocated, allocates and forks again, while threads allocate.
void forked() {
  bool over = false;
  std::mutex lock;
  std::thread busy([&] {
    for (;;) {
      for (int i = 0; i < 500; ++i)
        free_row(make_row(i), i);
      const std::lock_guard<std::mutex> guard(lock);
      if (over) return;
    }
  });
  std::vector<double*> matrix(20'000);
  for (int i = 0; i < 20'000; ++i)
    matrix[i] = make_row(i);
  for (int round = 0; round < 10; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      for (int i = 0; i < 20'000; i += 3)
        free_row(matrix[i], i);
      for (int i = 0; i < 20'000; i += 3)
        matrix[i] = make_row(i);
      if (const pid_t grandchild = fork(); grandchild == 0) {
        for (int i = 0; i < 20'000; ++i)
          free_row(matrix[i], i);
        std::_Exit(0);
      } else {
        int status = 1;
        waitpid(grandchild, &status, 0);
        std::exit(status == 0 ? 0 : 1);
      }
    }
    int status = 1;
    if (waitpid(child, &status, 0) != child || status != 0) fail("a child failed");
  }
  {
    const std::lock_guard<std::mutex> guard(lock);
    over = true;
  }
  busy.join();
  for (int i = 0; i < 20'000; ++i)
    free_row(matrix[i], i);
  std::printf("10 children\n");
}

// main returns while threads allocate and free, and destructors free.
struct AtEnd {
  std::vector<double*> matrix;
  ~AtEnd() {
    for (double* row : matrix)
      delete[] row;
  }
};
AtEnd g_at_end;
void ending() {
  for (int i = 0; i < 50'000; ++i)
    g_at_end.matrix.push_back(make_row(i));
  for (int i = 0; i < 4; ++i)
    std::thread([] {
      for (int k = 0;; ++k)
        free_row(make_row(k), k);
    }).detach();
  usleep(200'000);
  std::printf("ends\n");
}

} // namespace

int main(int argc, char** argv) {
  const std::string wanted = argc > 1 ? argv[1] : "";
  if (wanted == "rows") rows();
  if (wanted == "temporaries") temporaries();
  if (wanted == "threads") threads();
  if (wanted == "resized") resized();
  if (wanted == "forked") forked();
  if (wanted == "ending") ending();
}
