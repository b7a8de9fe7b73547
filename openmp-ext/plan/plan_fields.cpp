// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A new field is one line here, in the reader, in the writer and in docs/plan-format.md.
#include "plan/plan_fields.hpp"

namespace omptier {
namespace {

constexpr PlanField k_plan[] = {
    {"version", PlanType::whole, true},
    {"made_by", PlanType::text, false},
    {"program", PlanType::text, false},
    {"platform", PlanType::text, false},
    {"capacity", PlanType::object, false, PlanPlace::capacity},
    {"estimated", PlanType::array, false, PlanPlace::estimated},
    {"recorded_seconds", PlanType::real, false},
    {"predicted_seconds", PlanType::real, false},
    {"modules", PlanType::array, true, PlanPlace::modules},
    {"entries", PlanType::array, true, PlanPlace::entries},
    {"rest", PlanType::array, false, PlanPlace::rest},
};
constexpr PlanField k_capacity[] = {
    {"dram", PlanType::size, false},
    {"hbm", PlanType::size, false},
    {"nvm", PlanType::size, false},
    {"cxl", PlanType::size, false},
};
constexpr PlanField k_module[] = {
    {"identity", PlanType::text, true},
    {"name", PlanType::text, false},
};
constexpr PlanField k_entry[] = {
    {"label", PlanType::text, false},
    {"kinds", PlanType::array, true, PlanPlace::kinds},
    {"bytes", PlanType::size, false},
    {"least_block", PlanType::size, false},
    {"share", PlanType::real, false},
    {"benefit_ns", PlanType::real, false},
    {"reason", PlanType::text, false},
    {"instances", PlanType::array, false, PlanPlace::instances},
    {"parts", PlanType::array, false, PlanPlace::parts},
    {"frames", PlanType::array, false, PlanPlace::frames}, // or static
    {"static", PlanType::object, false, PlanPlace::static_object},
    {"region", PlanType::array, false, PlanPlace::region},
};
constexpr PlanField k_part[] = {
    {"begin", PlanType::size, true},
    {"end", PlanType::size, false},
    {"bytes", PlanType::size, false},
    {"kind", PlanType::text, true},
};
constexpr PlanField k_frame[] = {
    {"module", PlanType::whole, true},   {"offset", PlanType::address, true},
    {"function", PlanType::text, false}, {"callee", PlanType::text, false},
    {"ordinal", PlanType::whole, false}, {"of", PlanType::whole, false},
    {"variable", PlanType::text, false}, {"file", PlanType::text, false},
    {"line", PlanType::whole, false},
};

constexpr PlanField k_static[] = {
    {"module", PlanType::whole, true},
    {"symbol", PlanType::text, true},
};

} // namespace

std::span<const PlanField> fields_of(PlanPlace place) {
  switch (place) {
  case PlanPlace::plan:
    return k_plan;
  case PlanPlace::capacity:
    return k_capacity;
  case PlanPlace::module:
    return k_module;
  case PlanPlace::entry:
    return k_entry;
  case PlanPlace::part:
    return k_part;
  case PlanPlace::frame:
  case PlanPlace::region_frame:
    return k_frame;
  case PlanPlace::static_object:
    return k_static;
  default:
    return {};
  }
}

const char* title_of(PlanPlace place) {
  switch (place) {
  case PlanPlace::file:
    return "the file";
  case PlanPlace::plan:
    return "a plan";
  case PlanPlace::capacity:
    return "\"capacity\"";
  case PlanPlace::modules:
    return "\"modules\"";
  case PlanPlace::module:
    return "a module";
  case PlanPlace::entries:
    return "\"entries\"";
  case PlanPlace::entry:
    return "an entry";
  case PlanPlace::frames:
    return "\"frames\"";
  case PlanPlace::frame:
  case PlanPlace::region_frame:
    return "a frame";
  case PlanPlace::static_object:
    return "a static";
  case PlanPlace::region:
    return "\"region\"";
  case PlanPlace::instances:
    return "\"instances\"";
  case PlanPlace::range:
    return "a range of instances";
  case PlanPlace::kinds:
    return "\"kinds\"";
  case PlanPlace::rest:
    return "\"rest\"";
  case PlanPlace::estimated:
    return "\"estimated\"";
  case PlanPlace::parts:
    return "\"parts\"";
  case PlanPlace::part:
    return "a part";
  }
  return "";
}

const char* title_of(PlanType type) {
  switch (type) {
  case PlanType::text:
    return "a text";
  case PlanType::whole:
    return "a whole number from 0 to 4294967295";
  case PlanType::real:
    return "a number";
  case PlanType::size:
    return "bytes (a whole number, or a text such as \"64M\")";
  case PlanType::address:
    return "a whole number or a text such as \"0x1a2b\"";
  case PlanType::array:
    return "an array [...]";
  case PlanType::object:
    return "an object {...}";
  }
  return "";
}

std::string list_fields(PlanPlace place) {
  std::string list;
  for (const PlanField& field : fields_of(place))
    list += (list.empty() ? "" : ", ") + std::string(field.name);
  return list;
}

} // namespace omptier
