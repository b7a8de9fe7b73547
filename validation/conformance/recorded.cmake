# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Programs of the distribution's, recorded: recorded.py has the table, docs/recorded-programs.md what
# came out.
if(NOT TARGET libomp OR NOT TARGET libomptier_ompt)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
function(recorded label)
  foreach(name IN LISTS ARGN)
    omptier_record_test(recorded.${name} recorded.py TIMEOUT 300 LABELS "${label}" ${name})
  endforeach()
endfunction()
recorded(conformance xz zstd sort gcc python3 numpy numpy-forks gm clustalo-mpich hpcc fails)
recorded("conformance;all" pigz 7z clang fftw clustalo)
