// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libomp's own switch, KMP_WARNINGS, applies to our warnings too. Needs only the C library.
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <strings.h>

namespace omptier {

inline bool warnings_wanted() {
  const char* text = std::getenv("KMP_WARNINGS");
  if (text == nullptr) return true;
  for (const char* off : {"0", "off", "false", "no", "f", "n", "disabled", ".false.", ".f."})
    if (strcasecmp(text, off) == 0) return false;
  return true;
}

} // namespace omptier
