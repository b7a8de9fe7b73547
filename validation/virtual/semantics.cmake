# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The cases of validation/conformance/semantics_*.c on every machine, on its fastest or largest kind
# beside DRAM ("on="). `./test` runs those that bind in most ways, one run a machine; all of
# them, one run a machine and theme, have the label "all" (`./test --all`, or
# `ctest --test-dir build/release -L all -R virtual.semantics`).
if(NOT TARGET semantics_pages_clang)
  return()
endif()
# virtual_semantics(<preset> <argument for all programs…>): its kinds, and what the standard spaces are.
function(virtual_semantics preset)
  set(run sh ${OMPTIER_SOURCE_DIR}/validation/virtual/semantics.sh ${CMAKE_BINARY_DIR}/tests ${ARGN})
  set(environment display-chosen,fallbacks)
  if("${ARGN}" MATCHES "nvm=")
    string(APPEND environment ,plan-overruled)
  endif()
  omptier_machine_test(semantics.${preset} MACHINE ${preset} TIMEOUT 240 COMMAND ${run}
    pages_clang:-exhaustion,-pinned-reused,-pinned-realloc,-pinned-threads,-partition-default-space
    traits_clang:every-extended-value,fallback-default,fallback-chain,fallback-predefined
    pools_clang:access-pool
    blocks_clang:alignment-trait,pool-race,realloc-across-pools,destroy-with-blocks
    threads_clang:nested,tasks,default-per-thread
    clauses_clang:clause-private,directive-locals,uses-allocators
    environment_clang:${environment}
    TEST BESIDE COST 20)
  foreach(theme IN ITEMS pages traits pools blocks threads clauses environment cpp)
    set(programs ${theme}_clang)
    if(theme STREQUAL clauses)
      list(APPEND programs ${theme}_gcc) # what compilers make of it differs
    endif()
    omptier_machine_test(semantics.${theme}.${preset} MACHINE ${preset} TIMEOUT 240 LABELS virtual all
                         COMMAND ${run} ${programs} TEST BESIDE COST 20)
  endforeach()
endfunction()
virtual_semantics(dram-hbm-nvm dram=0 hbm=1 nvm=2 on=hbm
                  high_bw=hbm low_lat=dram large_cap=nvm const=hbm)
# Its kinds have the same capacity: the largest is not said.
virtual_semantics(icelake-optane dram=0+1 nvm=2+3 on=nvm high_bw=dram low_lat=dram const=dram)
virtual_semantics(xeon-max-flat dram=0 hbm=1 on=hbm
                  high_bw=hbm low_lat=dram large_cap=dram const=hbm)
virtual_semantics(dram-cxl dram=0 cxl=1 on=cxl
                  high_bw=dram low_lat=dram large_cap=cxl const=dram)
virtual_semantics(knl-snc4-flat dram=0+1+2+3 hbm=4+5+6+7 on=hbm
                  high_bw=hbm low_lat=dram large_cap=dram const=hbm)
virtual_semantics(xeon-max-snc4-2s dram=0+1+2+3+4+5+6+7 hbm=8+9+10+11+12+13+14+15 on=hbm
                  high_bw=hbm low_lat=dram large_cap=dram const=hbm)
virtual_semantics(nvdimm dram=0 nvm=1 on=nvm
                  high_bw=dram low_lat=dram large_cap=nvm const=dram)
