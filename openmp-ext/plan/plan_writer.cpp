// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Writes plans for people to read and edit: fields in a fixed order, the most important first, one
// line per frame. nlohmann-json's own layout would be one line, or a line for every number.
#include "plan/plan.hpp"

#include <nlohmann/json.hpp>

namespace omptier {
namespace {

using OrderedJson = nlohmann::ordered_json;

// One line; bytes that are not UTF-8 (file names may hold any) are replaced, so nothing throws.
std::string compact(const OrderedJson& value) {
  const std::string dense = value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
  // Spaces after commas and colons outside strings.
  std::string text;
  bool inside = false;
  bool escaped = false;
  for (const char c : dense) {
    text += c;
    if (inside) {
      if (c == '"' && !escaped) inside = false;
      escaped = c == '\\' && !escaped;
    } else if (c == '"') {
      inside = true;
    } else if (c == ',' || c == ':') {
      text += ' ';
    }
  }
  return text;
}

OrderedJson kinds_json(const std::vector<MemoryKind>& kinds) {
  OrderedJson list = OrderedJson::array();
  for (const MemoryKind kind : kinds)
    list.push_back(name_of(kind));
  return list;
}

OrderedJson frame_json(const PlanFrame& frame) {
  OrderedJson json = {{"module", frame.module}, {"offset", frame.offset}};
  const PortableFrame& portable = frame.portable;
  if (!portable.function.empty()) {
    json["function"] = portable.function;
    if (!portable.callee.empty()) json["callee"] = portable.callee;
    json["ordinal"] = portable.ordinal;
    if (portable.calls != 0) json["of"] = portable.calls;
    if (!portable.variable.empty()) json["variable"] = portable.variable;
  }
  if (!portable.file.empty()) {
    json["file"] = portable.file;
    json["line"] = portable.line;
  }
  return json;
}

class Writer {
public:
  void field(const char* name, const OrderedJson& value) {
    begin(name);
    text_ += compact(value);
  }
  void begin_object(const char* name = nullptr) { open(name, '{'); }
  void begin_array(const char* name = nullptr) { open(name, '['); }
  void element(const OrderedJson& value) { field(nullptr, value); }
  void end(char bracket) {
    indent_ -= 2;
    if (!first_) new_line();
    text_ += bracket;
    first_ = false;
  }
  std::string take() { return std::move(text_) + "\n"; }

private:
  void new_line() { text_ += "\n" + std::string(indent_, ' '); }
  void begin(const char* name) {
    if (!first_) text_ += ",";
    if (!text_.empty()) new_line();
    if (name != nullptr) text_ += "\"" + std::string(name) + "\": ";
    first_ = false;
  }
  void open(const char* name, char bracket) {
    begin(name);
    text_ += bracket;
    indent_ += 2;
    first_ = true;
  }

  std::string text_;
  std::size_t indent_ = 0;
  bool first_ = true;
};

void write_frames(Writer& out, const char* name, const std::vector<PlanFrame>& frames) {
  out.begin_array(name);
  for (const PlanFrame& frame : frames)
    out.element(frame_json(frame));
  out.end(']');
}

void write_entry(Writer& out, const PlanEntry& entry) {
  out.begin_object();
  if (!entry.label.empty()) out.field("label", entry.label);
  out.field("kinds", kinds_json(entry.kinds));
  out.field("bytes", entry.bytes);
  if (entry.least_block < k_least_large) out.field("least_block", entry.least_block);
  if (entry.share < 1) out.field("share", entry.share);
  out.field("benefit_ns", entry.benefit);
  if (!entry.reason.empty()) out.field("reason", entry.reason);
  if (!entry.instances.empty()) {
    OrderedJson ranges = OrderedJson::array();
    for (const InstanceRange& range : entry.instances)
      ranges.push_back({range.first, range.last});
    out.field("instances", ranges);
  }
  if (!entry.parts.empty()) {
    out.begin_array("parts");
    for (const PlanPart& part : entry.parts)
      out.element({{"begin", part.begin}, {"end", part.end}, {"kind", name_of(part.kind)}});
    out.end(']');
  }
  if (entry.symbol.empty())
    write_frames(out, "frames", entry.frames);
  else
    out.field("static", {{"module", entry.symbol_module}, {"symbol", entry.symbol}});
  if (!entry.region.empty()) write_frames(out, "region", entry.region);
  out.end('}');
}

} // namespace

std::string write_plan(const Plan& plan) {
  Writer out;
  out.begin_object();
  out.field("version", Plan::k_version);
  out.field("made_by", plan.made_by);
  out.field("program", plan.program);
  out.field("platform", plan.platform_fingerprint);
  OrderedJson capacity = OrderedJson::object();
  for (const MemoryKind kind : k_all_memory_kinds)
    if (const auto& bytes = plan.capacity[static_cast<std::size_t>(kind)])
      capacity[std::string(name_of(kind))] = *bytes;
  out.field("capacity", capacity);
  if (!plan.estimated.empty()) out.field("estimated", kinds_json(plan.estimated));
  if (plan.predicted_seconds > 0) {
    out.field("recorded_seconds", plan.recorded_seconds);
    out.field("predicted_seconds", plan.predicted_seconds);
  }
  out.begin_array("modules");
  for (const PlanModule& module : plan.modules)
    out.element({{"identity", module.identity}, {"name", module.name}});
  out.end(']');
  out.begin_array("entries");
  for (const PlanEntry& entry : plan.entries)
    write_entry(out, entry);
  out.end(']');
  out.field("rest", kinds_json(plan.rest));
  out.end('}');
  return out.take();
}

} // namespace omptier
