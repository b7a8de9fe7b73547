# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# libomptier_preload.so's small blocks by site, without the library, which would take the test's malloc.
omptier_unit_test(small_spans SOURCES small_spans_test.cpp ../../openmp-ext/preload/small_spans.cpp
                  ../../openmp-ext/preload/small_calls.cpp ../../openmp-ext/preload/span_pool.cpp)
