// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which variable gets what a call in a source line allocates: read from the text of the line, since
// debug information does not say it. C, C++ and Fortran, in the forms that people write; where a
// line says nothing plainly, the answer is "" and never a guess.
#pragma once

#include "symbols/source_text.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace omptier {

// "  double *grid = omp_alloc(n," -> "grid"; "posix_memalign((void**)&grid, 64, n)",
// "grid.resize(n)", "std::vector<double> grid(n)", "Solver(int n) : grid(n)", "allocate(grid(n))"
// as well. column: where the call stands in the line, from 1, so that of several statements the
// right one is taken; 0 = unknown.
std::string variable_of_line(const std::string& line, std::uint32_t column = 0);

// Fortran by its name, and if so whether in fixed form (.f, .for, .ftn), where column 6 continues.
enum class FortranForm { none, free, fixed };
FortranForm fortran_form(const std::string& file);

// The statement that the line is part of (from 0), its continuation lines joined, without comments.
std::string fortran_statement(const std::vector<std::string>& lines, std::size_t line,
                              FortranForm form);

// The arrays that the allocate statements allocate, in order, each as the names of its expression
// without subscripts: "allocate(a(n), tiles(i)%rho(n))" is {{a}, {tiles, rho}}.
std::vector<std::vector<std::string>> allocated_arrays(const std::string& statement);

// The variables that "call name(…)" passes, likewise; empty where one is no variable.
std::vector<std::vector<std::string>> arguments_of_call(const std::string& statement);

// The subroutine or function that the line (from 0) stands in: its arguments, all by reference.
FunctionText fortran_procedure(const std::vector<std::string>& lines, std::size_t line);

// {"tiles", "rho"} -> "tiles%rho"
std::string joined_path(const std::vector<std::string>& path, const char* between);

// The file belongs to a compiler or to the system: what is inlined from its headers says nothing of
// the program's variables.
bool is_library_file(const std::string& file);

} // namespace omptier
