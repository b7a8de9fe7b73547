# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# The cases of validation/conformance/semantics_*.c that bind memory, where there are several kinds.
# Each program runs what the kinds named allow; cases named after them run alone.
if(NOT TARGET semantics_pages_clang)
  return()
endif()
# virtual_semantics(<theme> MACHINE preset NODES kind=node… [CASES name…])
function(virtual_semantics theme)
  cmake_parse_arguments(ARG "" "MACHINE" "NODES;CASES" ${ARGN})
  omptier_machine_test(semantics.${theme}.${ARG_MACHINE} MACHINE ${ARG_MACHINE}
    COMMAND env OMP_WAIT_POLICY=passive ${CMAKE_BINARY_DIR}/tests/semantics_${theme}_clang
            ${ARG_NODES} ${ARG_CASES})
endfunction()
virtual_semantics(pages MACHINE dram-hbm-nvm NODES dram=0 hbm=1 nvm=2)
virtual_semantics(environment MACHINE dram-hbm-nvm NODES dram=0 hbm=1 nvm=2
                  CASES plan-overruled display-chosen spaces fallbacks)
virtual_semantics(traits MACHINE dram-hbm-nvm NODES dram=0 hbm=1 nvm=2
                  CASES every-value fallback-default fallback-chain fallback-predefined access-pool)
virtual_semantics(pages MACHINE icelake-optane NODES dram=0+1 nvm=2+3
                  CASES partition-values partition-default-space partition-interleaved
                        partition-blocked missing)
