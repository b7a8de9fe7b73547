// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Containers of the standard library as people use them: returned, moved, grown, in maps, in lambdas.
#include "truth.h"

#include <array>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

struct Line {
  double values[8];
};

static std::vector<Line> make_table(std::size_t lines) {
  std::vector<Line> table(lines);
  for (auto& line : table)
    line.values[3] = 1;
  return table;
}

struct Matrix {
  std::unique_ptr<double[]> values;
  std::vector<std::vector<double>> rows;
  std::shared_ptr<float> shared;
};

template <typename T> static std::unique_ptr<T[]> zeros(std::size_t n) { return std::unique_ptr<T[]>(new T[n]()); }

static Matrix load(std::size_t n) {
  Matrix matrix;
  matrix.values = std::make_unique<double[]>(n + 1000);
  matrix.rows.resize(2);
  matrix.rows[0].resize(n + 2000);
  matrix.rows[1] = std::vector<double>(n + 3000);
  matrix.shared.reset(new float[n + 4000], std::default_delete<float[]>());
  return matrix;
}

struct Defaults {
  std::vector<double> cells = std::vector<double>(117000);
  std::vector<double> nodes{std::vector<double>(118000)};
};

int main(int argc, char**) {
  const std::size_t n = 100000 * static_cast<std::size_t>(argc);
  const std::vector<Line> small = make_table(n / 8), large = make_table(n);
  Matrix loaded = load(n);
  auto zeroed = zeros<double>(n + 5000);
  std::map<std::string, std::vector<double>> fields;
  fields["rho"].resize(n + 6000);
  fields["u"] = std::vector<double>(n + 7000);
  const auto make = [&](std::size_t more) { return std::vector<double>(n + more); };
  auto first = make(8000), second = make(9000);
  std::array<std::vector<float>, 3> velocity;
  velocity[1].assign(n + 10000, 0.0f);
  std::vector<double> grown;
  grown.reserve(n + 11000);
  const auto fill = [&grown](std::size_t count) {
    std::vector<int> order(count);
    KEEP(&order);
    grown.push_back(order[count / 2]);
  };
  fill(n + 12000);
  std::vector<std::unique_ptr<double[]>> blocks;
  blocks.push_back(std::make_unique<double[]>(n + 13000));
  blocks.emplace_back(new double[n + 14000]());
  Defaults defaults;
  std::pair<std::vector<double>, int> pair{std::vector<double>(n + 15000), 1};
  std::vector<double> tail(5);
  tail = std::vector<double>(n + 16000);
  KEEP(&velocity);
  KEEP(&grown);
  KEEP(zeroed.get());
  KEEP(blocks[0].get());
  KEEP(blocks[1].get());
  NAME("small", 8 * n);
  NAME("large", 64 * n);
  NAME("loaded/values", 8 * (n + 1000));
  NAME("loaded/rows", 8 * (n + 2000));
  NAME("loaded/rows", 8 * (n + 3000));
  NAME("loaded/shared", 4 * (n + 4000));
  NAME("zeroed", 8 * (n + 5000));
  NAME("fields", 8 * (n + 6000));
  NAME("fields", 8 * (n + 7000));
  NAME("first", 8 * (n + 8000));
  NAME("second", 8 * (n + 9000));
  NAME("velocity", 4 * (n + 10000));
  NAME("grown", 8 * (n + 11000));
  NAME("order", 4 * (n + 12000));
  NAME("blocks", 8 * (n + 13000));
  NAME("blocks", 8 * (n + 14000));
  NAME("defaults/cells or defaults", 8 * 117000);
  NAME("defaults/nodes or defaults", 8 * 118000);
  NAME("pair", 8 * (n + 15000));
  NAME("tail", 8 * (n + 16000));
  return small[3].values[3] + large[4].values[2] + loaded.values[5] + loaded.rows[0][4] + loaded.rows[1][5] +
             loaded.shared.get()[7] + zeroed[6] + fields["rho"][7] + fields["u"][8] + first[4] + second[5] +
             velocity[1][6] + grown[0] + blocks[0][6] + blocks[1][7] + defaults.cells[5] + defaults.nodes[6] +
             pair.first[7] + tail[8] == 0.5;
}
