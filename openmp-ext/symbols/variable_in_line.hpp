// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which variable gets what a call in a source line allocates: read from the text of the line, since
// debug information does not contain it. C, C++ and Fortran, in usual forms; if a line is not
// plain, the answer is "", never a guess.
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

// By the file's name: none = not Fortran; fixed: .f, .for, .ftn, where column 6 continues.
enum class FortranForm { none, free, fixed };
FortranForm fortran_form(const std::string& file);

// The statement that contains the line (from 0), with continuation lines and without comments.
std::string fortran_statement(const std::vector<std::string>& lines, std::size_t line,
                              FortranForm form);

// The arrays that the allocate statements allocate, in order, each as the names of its expression
// without subscripts: "allocate(a(n), tiles(i)%rho(n))" is {{a}, {tiles, rho}}.
std::vector<std::vector<std::string>> allocated_arrays(const std::string& statement);

// The variables that "call name(…)" passes, in the same form; empty for other arguments.
std::vector<std::vector<std::string>> arguments_of_call(const std::string& statement);

// The subroutine or function around the line (from 0) with its arguments, all by reference.
FunctionText fortran_procedure(const std::vector<std::string>& lines, std::size_t line);

// {"tiles", "rho"} -> "tiles%rho"
std::string joined_path(const std::vector<std::string>& path, const char* between);

// A file of a compiler or the system: its inlined code says nothing of the program's variables.
bool is_library_file(const std::string& file);

} // namespace omptier
