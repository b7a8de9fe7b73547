# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# validation/conformance/preload.cmake where hot and cold differ: HBM is node 1, NVM node 2.
if(NOT TARGET preload_cases)
  return()
endif()
# virtual_preload(<name> <program> [SOAK] [options of preload.py…])
# SOAK: what it shows beyond the others, the host shows too.
function(virtual_preload name program)
  cmake_parse_arguments(PARSE_ARGV 2 ARG "SOAK" "" "")
  set(labels virtual)
  if(ARG_SOAK)
    set(labels virtual soak)
  endif()
  omptier_test(virtual.preload.${name}
    COMMAND ${preload_test} --program ${program} --folder ${preload_folder}/virtual-${name}
            --machine dram-hbm-nvm --hot hbm=1 --cold nvm=2 ${ARG_UNPARSED_ARGUMENTS}
    BESIDE TIMEOUT 240 LABELS ${labels})
endfunction()
virtual_preload(c ${preload_folder}/c-gcc --least 20 --nodes)
virtual_preload(cpp-libgomp ${preload_folder}/cpp-gcc SOAK --nodes --runtime own)
virtual_preload(cpp-debian-libomp ${preload_folder}/cpp-clang --nodes --runtime own
                --stock /usr/lib/llvm-19/lib)
virtual_preload(fortran ${preload_folder}/fortran --least 4)
virtual_preload(c-jemalloc ${preload_folder}/c-jemalloc SOAK --least 20 --nodes)
if(TARGET example_neutron_lookup-malloc)
  virtual_preload(neutron ${bin}/neutron_lookup-malloc ${neutron_options})
  virtual_preload(alternating ${bin}/alternating-malloc-gcc --runtime own
                  --stock /usr/lib/${CMAKE_LIBRARY_ARCHITECTURE} ${alternating_options})
endif()
omptier_test(virtual.preload.small
  COMMAND ${placed_small_test} --folder ${preload_folder}/virtual-small --machine dram-hbm-nvm
  BESIDE TIMEOUT 240 LABELS virtual)
omptier_machine_test(preload.place-range MACHINE dram-hbm-nvm
                     COMMAND env OMP_WAIT_POLICY=passive ${place_range} dram=0 hbm=1)
