// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stands in for an OpenMP runtime; the newer one has a routine, and a symbol version, more.
int omp_get_max_threads(void);
int omp_get_max_threads(void) {
  return 1;
}
#ifdef NEWER
int omp_brand_new(void);
int omp_brand_new(void) {
  return 2;
}
#endif
