// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A step of a simulation in three phases, each with arrays of its own: the temperature is smoothed
// into another array and back in turn, particles are counted into cells, and the columns of a grid
// stored by rows are summed up. Built with and without OpenMP.
//
// usage: phases [thousands of particles 8000] [steps 2] [--truth FILE [--alone]]
#include "truth.h"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

struct Field {
  explicit Field(long n) : size(n), data(new double[n]) {}
  long size;
  std::unique_ptr<double[]> data;
};

static void smooth(const double* from, double* to, long n) {
#pragma omp parallel for
  for (long i = 1; i < n - 1; ++i)
    to[i] = 0.25 * from[i - 1] + 0.5 * from[i] + 0.25 * from[i + 1];
}

static void count(const std::int32_t* cell, double* occupied, long n) {
#pragma omp parallel for
  for (long i = 0; i < n; ++i) {
#pragma omp atomic
    occupied[cell[i]] += 1.0;
  }
}

static double sum_columns(const double* grid, long rows, long columns) {
  double largest = 0;
#pragma omp parallel for reduction(max : largest)
  for (long column = 0; column < columns; ++column) {
    double sum = 0;
    for (long row = 0; row < rows; ++row)
      sum += grid[row * columns + column];
    largest = sum > largest ? sum : largest;
  }
  return largest;
}

int main(int argc, char** argv) {
  const double begin = truth_clock();
  const long n = 1000 * truth_number(argc, argv, 1, 8000);
  const int steps = static_cast<int>(truth_number(argc, argv, 2, 2));
  const long columns = 2048, rows = n / 512, cells = 2 * n;
  const int sweeps = 6;

  Field temperature(3 * n), smoothed(3 * n), occupied(cells);
  auto* cell = new std::int32_t[n];
  double* grid = new double[rows * columns];
  for (long i = 0; i < 3 * n; ++i)
    temperature.data[i] = smoothed.data[i] = static_cast<double>(i % 100);
  for (long i = 0; i < cells; ++i)
    occupied.data[i] = 0;
  std::uint64_t random = 1;
  for (long i = 0; i < n; ++i) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    cell[i] = static_cast<std::int32_t>((random >> 33) % static_cast<std::uint64_t>(cells));
  }
  for (long i = 0; i < rows * columns; ++i)
    grid[i] = static_cast<double>(i % 17);
  const double filled = truth_clock();

  double smoothing = 0, counting = 0, summing = 0, largest = 0;
  for (int step = 0; step < steps; ++step) {
    const double start = truth_clock();
    for (int i = 0; i < sweeps; ++i) {
      smooth(temperature.data.get(), smoothed.data.get(), temperature.size);
      smooth(smoothed.data.get(), temperature.data.get(), temperature.size);
    }
    const double smoothed_at = truth_clock();
    count(cell, occupied.data.get(), n);
    const double counted = truth_clock();
    largest += sum_columns(grid, rows, columns);
    smoothing += smoothed_at - start;
    counting += counted - smoothed_at;
    summing += truth_clock() - counted;
  }
  std::printf("%g %g %g\n", temperature.data[n], occupied.data[3], largest);

  const char* file = truth_option(argc, argv, "--truth");
  int status = 0;
  if (file != nullptr) {
    const double size = 24.0 * static_cast<double>(n), some = static_cast<double>(n), times = steps;
    const double table = 8.0 * static_cast<double>(rows * columns);
    const auto bytes = static_cast<std::size_t>(size);
    const int first = truth_object("temperature", bytes, 1, TRUTH_SEQUENTIAL);
    const int second = truth_object("smoothed", bytes, 1, TRUTH_SEQUENTIAL);
    const int filled_cells = truth_object("occupied", 8 * cells, 1, TRUTH_INDIRECT);
    const int numbers = truth_object("cell", 4 * n, 1, TRUTH_SEQUENTIAL);
    const int matrix = truth_object("grid", 8 * rows * columns, 1, TRUTH_STRIDED);
    truth_through(filled_cells, "cell");
    truth_stride(matrix, 8 * columns);
    if (2 * bytes > 2 * truth_last_level_cache()) {
      truth_from_cache(first, 0);
      truth_from_cache(second, 0);
    }

    const int filling = truth_loop("fill", filled - begin);
    truth_weight(truth_use(filling, first, 0, size), size);
    truth_weight(truth_use(filling, second, 0, size), size);
    truth_weight(truth_use(filling, filled_cells, 0, 16 * some), 16 * some);
    truth_weight(truth_use(filling, numbers, 0, 4 * some), 4 * some);
    truth_weight(truth_use(filling, matrix, 0, table), table);
    const int smooths = truth_loop("smooth", smoothing);
    for (const int one : {first, second}) // each is read in one half and written in the other
      truth_weight(truth_use(smooths, one, times * sweeps * 3 * size, times * sweeps * size), 1);
    const int counts = truth_loop("count", counting);
    const int use_cells = truth_use(counts, filled_cells, times * 8 * some, times * 8 * some);
    const int use_numbers = truth_use(counts, numbers, times * 4 * some, 0);
    truth_use(truth_loop("columns", summing), matrix, times * table, 0);
    for (int round = 0; truth_option(argc, argv, "--alone") != nullptr && round < 5; ++round) {
      const double read = truth_read_lines(cell, 4 * n);
      const double start = truth_clock();
      count(cell, occupied.data.get(), n);
      truth_alone(use_numbers, read);
      truth_alone(use_cells, truth_clock() - start - read);
      smooth(temperature.data.get(), smoothed.data.get(),
             temperature.size); // the cache is another's
    }
    status = truth_write(file, "phases") == 0 ? 0 : 1;
  }
  delete[] cell;
  delete[] grid;
  return status;
}
