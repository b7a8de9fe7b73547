# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# Programs of Debian's that nobody built for this, placed by a plan; see preload.py. Stripped, so sites
# have no names: all of them are placed. GraphicsMagick keeps its pixels, 70 MiB here, in blocks of its
# library (GCC's OpenMP, C): one site, a single frame. Clustal Omega has many sites in C and C++, most of
# whose blocks it never touches.
if(NOT TARGET libomp OR NOT TARGET libomptier_preload)
  return()
endif()
find_package(Python3 REQUIRED COMPONENTS Interpreter)
find_program(OMPTIER_GM NAMES gm REQUIRED DOC "A third-party OpenMP program (package graphicsmagick)")
find_program(OMPTIER_CLUSTALO NAMES clustalo REQUIRED DOC "A third-party OpenMP program (package clustalo)")
set(third_party_test ${Python3_EXECUTABLE} ${CMAKE_CURRENT_LIST_DIR}/preload.py
    --omptier ${CMAKE_BINARY_DIR}/bin/omptier --all-cold)
set(third_party_folder ${CMAKE_BINARY_DIR}/tests/third_party)
set(third_party_gm --program ${OMPTIER_GM} --least 1 --touched 60 --output turned.ppm
    -- convert -size 1600x1200 gradient:red-blue -wave 20x100 -blur 0x1 -rotate 7 turned.ppm)
set(third_party_clustalo --program ${OMPTIER_CLUSTALO} --least 3 --output alignment.fa
    -- -i ${CMAKE_CURRENT_LIST_DIR}/preload_proteins.fa --threads 2 --force -o alignment.fa)
foreach(program IN ITEMS gm clustalo)
  foreach(runtime IN ITEMS own omptier)
    omptier_test(conformance.third_party.${program}-${runtime}
      COMMAND ${third_party_test} --folder ${third_party_folder}/${program}-${runtime}
              --runtime ${runtime} ${third_party_${program}}
      BESIDE TIMEOUT 120 LABELS conformance)
  endforeach()
endforeach()
