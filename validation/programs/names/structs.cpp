// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Structures of vectors and of plain arrays, made by constructors and by methods.
#include "truth.h"

#include <array>
#include <cstddef>
#include <vector>

struct Field {
  std::size_t cells;
  double* data;
  explicit Field(std::size_t n) : cells(n), data(new double[n]) {}
};

struct Sim {
  std::vector<double> density, energy;
  std::array<std::vector<float>, 2> velocity;
  explicit Sim(std::size_t n)
      : density(n),
        energy(n + 1000, 2.0) {
    velocity[0].resize(n + 2000);
    velocity[1].resize(n + 3000);
  }
};

class Mesh {
public:
  struct Level {
    std::vector<int> parents;
    double* weights = nullptr;
  };

  void build(std::size_t n) {
    fine_.parents.assign(n + 4000, 1);
    fine_.weights = new double[n + 5000];
    m_edges = new int[n + 6000];
    allocateNodes(n);
  }
  double sum() const { return fine_.parents[5] + fine_.weights[6] + m_edges[7] + nodes[8]; }

private:
  void allocateNodes(std::size_t n) { nodes = new float[n + 7000]; }

  Level fine_;
  int* m_edges = nullptr;
  float* nodes = nullptr;
};

template <typename T> class Array {
public:
  explicit Array(std::size_t n) : start_(new T[n]), end_(start_ + n) {}
  T& operator[](std::size_t at) { return start_[at]; }
  ~Array() { delete[] start_; }

private:
  T *start_, *end_;
};

namespace app {

template <typename Index> struct Matrix {
  std::vector<Index> first, column;
};

// An instance of a template within a namespace, by itself; what it makes is a member's member.
template <typename Index> __attribute__((noinline)) Matrix<Index> stencil(std::size_t n) {
  Matrix<Index> A;
  A.first.reserve(n + 14000);
  A.column.reserve(n + 15000);
  for (std::size_t i = 0; i < n; ++i) {
    A.column.push_back(static_cast<Index>(i));
    A.first.push_back(static_cast<Index>(A.column.size()));
  }
  return A;
}

struct Level {
  Matrix<int> A;
};

} // namespace app

int main(int argc, char**) {
  const std::size_t n = 100000 * static_cast<std::size_t>(argc);
  Field temperature(n + 8000), pressure(n + 9000);
  auto* heat = new Field(n + 10000);
  Sim sim(n);
  Mesh mesh;
  mesh.build(n);
  Array<double> scores(n + 11000);
  Array<int> ranks(n + 12000), counts{n + 13000};
  app::Level level;
  level.A = app::stencil<int>(n);
  KEEP(&level);
  KEEP(temperature.data);
  KEEP(pressure.data);
  KEEP(&scores[0]);
  KEEP(&ranks[0]);
  KEEP(&counts[0]);
  temperature.data[5] = pressure.data[6] = heat->data[7] = 1;
  scores[5] = ranks[6] = counts[7] = 2;
  NAME("temperature/data", 8 * (n + 8000));
  NAME("pressure/data", 8 * (n + 9000));
  NAME("heat/data", 8 * (n + 10000));
  NAME("level/A/first", 4 * (n + 14000));
  NAME("level/A/column", 4 * (n + 15000));
  NAME("sim/density", 8 * n);
  NAME("sim/energy", 8 * (n + 1000));
  NAME("sim/velocity", 4 * (n + 2000));
  NAME("sim/velocity", 4 * (n + 3000));
  NAME("mesh/fine_/parents", 4 * (n + 4000));
  NAME("mesh/fine_/weights", 8 * (n + 5000));
  NAME("mesh/m_edges", 4 * (n + 6000));
  NAME("mesh/nodes", 4 * (n + 7000));
  NAME("scores/start_", 8 * (n + 11000));
  NAME("ranks/start_", 4 * (n + 12000));
  NAME("counts/start_", 4 * (n + 13000));
  return sim.density[3] + sim.energy[4] + sim.velocity[0][5] + sim.velocity[1][6] + mesh.sum() + scores[5] + ranks[6] +
                     counts[7] + temperature.data[5] + pressure.data[6] + heat->data[7] == 0.5;
}
