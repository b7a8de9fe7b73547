// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How people allocate: helpers of helpers, classes with bases, globals, factories, vectors of vectors, swaps, and
// memory of their own inside of what others call.
#include "truth.h"

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>
#include <vector>

namespace app {

using real = double;
real* global_table = nullptr;
std::vector<real> history;

template <typename T> T* allocate_array(std::size_t n, T value = T()) {
  T* array = new T[n];
  std::fill(array, array + n, value);
  return array;
}

template <typename T> void ensure(T*& pointer, std::size_t n) {
  if (!pointer) pointer = allocate_array<T>(n);
}

class Base {
public:
  explicit Base(std::size_t n) : common_(allocate_array<real>(n)) {}
  virtual ~Base() { delete[] common_; }

protected:
  real* common_;
};

class Solver : public Base {
public:
  Solver(std::size_t n, std::size_t more);
  static std::unique_ptr<Solver> create(std::size_t n) { return std::make_unique<Solver>(n, n + 1000); }
  void prepare(std::size_t n);
  real use() const { return common_[3] + rhs_[4] + residual_[5] + (workspace_ ? workspace_[6] : 0); }

private:
  std::vector<real> rhs_;
  std::unique_ptr<real[]> residual_;
  real* workspace_ = nullptr;
};

Solver::Solver(std::size_t n, std::size_t more)
    : Base(n), rhs_(more, 0.0),
      residual_(new real[more + 1000]()) {
  if (more == 0) throw std::invalid_argument("no cells");
}

void Solver::prepare(std::size_t n) {
  ensure(workspace_, n);
}

struct Grid2 {
  int nx = 0, ny = 0;
  double **rows = nullptr, *cells = nullptr;
};

Grid2 make_grid(std::size_t nx, std::size_t ny) {
  Grid2 grid{};
  grid.cells = (double*)std::calloc(nx * ny, sizeof(double));
  grid.rows = (double**)std::malloc(ny * sizeof(double*));
  for (std::size_t y = 0; y < ny; ++y)
    grid.rows[y] = grid.cells + y * nx;
  return grid;
}

double norm(const std::vector<real>& v) { // memory of its own
  std::vector<real> squares(v.size() + 20000);
  for (std::size_t i = 0; i < v.size(); ++i)
    squares[i] = v[i] * v[i];
  KEEP(&squares);
  return squares[5];
}

std::vector<real> sorted(std::vector<real> values) {
  std::sort(values.begin(), values.end());
  return values;
}

std::vector<real>& cache(std::size_t n) {
  static std::vector<real> kept(n);
  return kept;
}

} // namespace app

int main(int argc, char** argv) {
  using namespace app;
  const std::size_t n = 100000 * static_cast<std::size_t>(argc);
  global_table = allocate_array<real>(n);
  history.resize(n + 100);
  auto solver = Solver::create(n + 200);
  solver->prepare(n + 300);
  Solver other(n + 400, n + 450);
  Grid2 grid = make_grid(n + 500, 2);
  double result = norm(history);
  double twice = argc > 5 ? 0 : norm(cache(n + 600));
  std::vector<real> ordered = sorted(std::vector<real>(n + 700, 1.0));
  std::vector<real> old(n + 800), fresh(n + 900);
  std::swap(old, fresh);
  char* buffer = static_cast<char*>(operator new(n + 901));
  char* text = argc > 3 ? strdup(argv[2]) : (char*)malloc(n + 903);
  int* counts = nullptr;
  if (!(counts = (int*)std::malloc(sizeof(int) * (n + 1001)))) return 1;
  real *left = allocate_array<real>(n + 1100), *right = allocate_array(n + 1201, 1.0);
  real* aligned = new (std::align_val_t(64)) real[n + 1296];
  KEEP(buffer);
  KEEP(text);
  KEEP(counts);
  KEEP(left);
  KEEP(right);
  KEEP(aligned);
  KEEP(&ordered);
  KEEP(&old);
  KEEP(&grid);
  KEEP(&other);
  NAME("global_table", 8 * n);
  NAME("history", 8 * (n + 100));
  NAME("solver/common_", 8 * (n + 200));
  NAME("solver/rhs_", 8 * (n + 1200));
  NAME("solver/residual_", 8 * (n + 2200));
  NAME("solver/workspace_", 8 * (n + 300));
  NAME("other/common_", 8 * (n + 400));
  NAME("other/rhs_", 8 * (n + 450));
  NAME("other/residual_", 8 * (n + 1450));
  NAME("grid/cells", 8 * 2 * (n + 500));
  NAME("squares or norm", 8 * (n + 20100));
  NAME("squares or norm", 8 * (n + 20600));
  NAME("kept", 8 * (n + 600));
  NAME("ordered or main", 8 * (n + 700));
  NAME("old", 8 * (n + 800));
  NAME("fresh", 8 * (n + 900));
  NAME("buffer", n + 901);
  NAME("text", n + 903);
  NAME("counts", 4 * (n + 1001));
  NAME("left", 8 * (n + 1100));
  NAME("right", 8 * (n + 1201));
  NAME("aligned", 8 * (n + 1296));
  return result + twice + solver->use() + other.use() + grid.rows[1][5] + global_table[5] == 0.25;
}
