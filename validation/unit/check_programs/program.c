// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A program for `omptier check` to look at: with or without an OpenMP runtime, or with one inside.
#if defined(WITH_RUNTIME)
int omp_get_max_threads(void);
int main(void) {
  return omp_get_max_threads();
}
#elif defined(WITH_NEWER_RUNTIME)
int omp_brand_new(void);
int main(void) {
  return omp_brand_new();
}
#elif defined(RUNTIME_INSIDE)
void GOMP_parallel(void);
void GOMP_parallel(void) {}
int main(void) {
  GOMP_parallel();
  return 0;
}
#else
int main(void) {
  return 0;
}
#endif
