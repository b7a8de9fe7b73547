// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The schema of a plan as a table: the fields of each object, their types, and which are required.
// The reader checks a file against it; docs/plan-format.md documents it.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace omptier {

enum class PlanPlace : std::uint8_t { // position of a value in the document
  file,                               // at the top level
  plan,
  capacity,
  modules, // array of module
  module,
  entries, // array of entry
  entry,
  frames, // array of frame
  frame,
  region, // array of frame
  region_frame,
  instances, // array of ranges
  range,     // [first, last]
  kinds,     // array of text
  rest,      // array of text
  estimated, // array of text
  parts,     // array of part
  part,
  static_object, // what identifies a static
};

enum class PlanType : std::uint8_t { text, whole, real, size, address, array, object };

struct PlanField {
  const char* name;
  PlanType type;
  bool required;
  PlanPlace opens = PlanPlace::file; // for arrays and objects: the place inside
};

// Fields of an object; empty for arrays.
std::span<const PlanField> fields_of(PlanPlace place);

// For messages: "a plan", "an entry".
const char* title_of(PlanPlace place);
const char* title_of(PlanType type);

std::string list_fields(PlanPlace place);

} // namespace omptier
