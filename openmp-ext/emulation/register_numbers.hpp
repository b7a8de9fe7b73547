// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Our numbers of x86-64's registers from Zydis' names, including names of parts of a register;
// k_no_register for registers of another file.
#pragma once

#include "emulation/decode.hpp"

#include <Zydis/Zydis.h>
#include <cstdint>

namespace omptier {

inline std::int8_t number_from(ZydisRegister first, ZydisRegister last, ZydisRegister reg) {
  return reg < first || reg > last ? k_no_register : static_cast<std::int8_t>(reg - first);
}

inline ZydisRegister enclosing(ZydisRegister reg) {
  return ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
}

inline std::int8_t general_number(ZydisRegister reg) { // 0 to 15, as instructions encode them
  return number_from(ZYDIS_REGISTER_RAX, ZYDIS_REGISTER_R15, enclosing(reg));
}

inline std::int8_t vector_number(ZydisRegister reg) { // 0 to 31
  return number_from(ZYDIS_REGISTER_ZMM0, ZYDIS_REGISTER_ZMM31, enclosing(reg));
}

inline std::int8_t mask_number(ZydisRegister reg) { // 0 to 7
  return number_from(ZYDIS_REGISTER_K0, ZYDIS_REGISTER_K7, reg);
}

} // namespace omptier
