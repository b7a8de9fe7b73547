// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names come from symbol tables, debug information and file names: bytes in any encoding. What
// other tools read must be UTF-8.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace omptier {

// In quotes, escaped; a byte that is no UTF-8 becomes U+FFFD.
inline std::string json_text(const std::string& text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

inline std::string as_utf8(const std::string& text) {
  return nlohmann::json::parse(json_text(text)).get<std::string>();
}

} // namespace omptier
