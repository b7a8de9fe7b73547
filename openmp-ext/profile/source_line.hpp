// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which variable gets what a call in a source line allocates: read from the text of the line, since
// debug information does not say it. C, C++ and Fortran, in the forms that people write; where a
// line says nothing plainly, the answer is "" and never a guess.
#pragma once

#include <cstdint>
#include <string>

namespace omptier {

// "  double *grid = omp_alloc(n," -> "grid"; "posix_memalign((void**)&grid, 64, n)",
// "grid.resize(n)", "std::vector<double> grid(n)", "Solver(int n) : grid(n)", "allocate(grid(n))"
// as well. column: where the call stands in the line, from 1, so that of several statements the
// right one is taken; 0 = unknown.
std::string variable_of_line(const std::string& line, std::uint32_t column = 0);

// The file belongs to a compiler or to the system: what is inlined from its headers says nothing of
// the program's variables.
bool is_library_file(const std::string& file);

} // namespace omptier
