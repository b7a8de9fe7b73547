// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A unit of another compiler in a program, which lists its address ranges where the others do not: one range below
// their code, because it is cold, and one above. libdw takes all between the two for this unit's.
__attribute__((cold)) double below(double x);
double above(double x);
double below(double x) {
  return 2 * x;
}
double above(double x) {
  return 3 * x;
}
