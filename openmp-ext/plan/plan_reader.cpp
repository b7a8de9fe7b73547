// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reads plans. nlohmann-json delivers events (begin of an object, a key, a text, …), and a small
// state machine checks them against the table of fields: no tree of the file is built, nesting
// deeper than the format's is refused at once, and every error has its line, because the parser
// takes the characters from an iterator that counts them.
//
// This runs inside applications: a hostile or broken file must give one line. No exception leaves:
// the parser reports errors as events; parse_plan and read_plan catch exhausted memory.
#include "base/os.hpp"
#include "base/text.hpp"
#include "plan/plan.hpp"
#include "plan/plan_fields.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <limits>
#include <nlohmann/json.hpp>

namespace omptier {
namespace {

using Json = nlohmann::json;

constexpr std::size_t k_largest_file = std::size_t{1} << 30;
constexpr std::uint64_t k_largest_whole = std::numeric_limits<std::uint32_t>::max();

class CountingIterator {
public:
  using iterator_category = std::input_iterator_tag;
  using value_type = char;
  using difference_type = std::ptrdiff_t;
  using pointer = const char*;
  using reference = const char&;

  CountingIterator(const char* at, const char* begin, std::size_t* furthest)
      : at_(at), begin_(begin), furthest_(furthest) {}
  reference operator*() const { return *at_; }
  CountingIterator& operator++() {
    ++at_;
    *furthest_ = static_cast<std::size_t>(at_ - begin_);
    return *this;
  }
  CountingIterator operator++(int) {
    CountingIterator before = *this;
    ++*this;
    return before;
  }
  bool operator==(const CountingIterator& other) const { return at_ == other.at_; }
  bool operator!=(const CountingIterator& other) const { return at_ != other.at_; }

private:
  const char* at_;
  const char* begin_;
  std::size_t* furthest_;
};

bool parse_hexadecimal(std::string_view text, std::uint64_t& value) {
  if (!text.starts_with("0x") && !text.starts_with("0X")) return false;
  text.remove_prefix(2);
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc() && end == text.data() + text.size();
}

// Receives the parser's events. Every function returns false to stop; error() then explains why.
class PlanBuilder {
public:
  PlanBuilder(std::string_view json, std::string_view name, const std::size_t* furthest)
      : json_(json), name_(name), furthest_(furthest) {}

  Plan take() { return std::move(plan_); }
  const std::string& error() const { return error_; }

  // Checks that need the whole file.
  bool finish() {
    if (highest_module_ >= 0 && static_cast<std::size_t>(highest_module_) >= plan_.modules.size())
      return refuse_at(highest_module_line_,
                       "frame names module " + std::to_string(highest_module_) +
                           ", but there are only " + std::to_string(plan_.modules.size()) +
                           " (numbered from 0) under \"modules\"");
    return true;
  }

  // Events, under the names that nlohmann-json requires.
  bool start_object(std::size_t) { return open(PlanType::object); }
  bool end_object() { return close_object(); }
  bool start_array(std::size_t) { return open(PlanType::array); }
  bool end_array() { return close_array(); }
  bool key(std::string& text);
  bool string(std::string& text);
  bool number_unsigned(std::uint64_t value);
  bool number_integer(std::int64_t value) {
    return value >= 0 ? number_unsigned(static_cast<std::uint64_t>(value))
                      : number_float(static_cast<double>(value), "");
  }
  bool number_float(double value, const std::string&);
  bool boolean(bool) { return wrong_type("true or false"); }
  bool null() { return wrong_type("null"); }
  bool binary(Json::binary_t&) { return wrong_type("binary data"); }
  bool parse_error(std::size_t, const std::string&, const Json::exception& problem);

private:
  struct Level {
    PlanPlace place;
    std::uint32_t seen = 0;           // bit i: field i of the table was seen
    const PlanField* field = nullptr; // whose value comes next
    std::size_t line = 1;             // where it began
    unsigned elements = 0;            // of an array of plain values: read so far
  };

  Level& level() { return levels_.back(); }
  PlanPlace place() const { return levels_.empty() ? PlanPlace::file : levels_.back().place; }

  // The last character taken may already be the one after a number.
  std::size_t line() {
    const std::size_t upto = *furthest_ == 0 ? 0 : std::min(*furthest_ - 1, json_.size());
    for (; counted_upto_ < upto; ++counted_upto_)
      if (json_[counted_upto_] == '\n') ++lines_;
    return lines_ + 1;
  }
  bool refuse_at(std::size_t where, const std::string& what) {
    error_ = std::string(name_) + ":" + std::to_string(where) + ": " + what;
    return false;
  }
  bool refuse(const std::string& what) { return refuse_at(line(), what); }

  bool wrong_type(const std::string& got);
  bool open(PlanType type);
  bool begin(PlanPlace where);
  bool close_object();
  bool is_entry_whole(std::size_t line);
  bool close_array();
  bool finish_part();
  bool add_kind(std::vector<MemoryKind>& kinds, const std::string& text);
  bool set_text(const PlanField& field, std::string& text);
  bool set_whole(const PlanField& field, std::uint64_t value);

  PlanEntry& entry() { return plan_.entries.back(); }
  PlanFrame& frame() {
    return place() == PlanPlace::region_frame ? entry().region.back() : entry().frames.back();
  }

  std::string_view json_;
  std::string_view name_;
  const std::size_t* furthest_;
  std::size_t counted_upto_ = 0;
  std::size_t lines_ = 0; // newlines before counted_upto_
  std::vector<Level> levels_;
  Plan plan_;
  std::int64_t highest_module_ = -1;
  std::size_t highest_module_line_ = 0;
  unsigned part_ends_ = 0; // "end" and "bytes" seen in the part being read
  bool part_has_bytes_ = false;
  std::string error_;
};

PlanPlace element_of(PlanPlace array) {
  switch (array) {
  case PlanPlace::file:
    return PlanPlace::plan;
  case PlanPlace::modules:
    return PlanPlace::module;
  case PlanPlace::entries:
    return PlanPlace::entry;
  case PlanPlace::frames:
    return PlanPlace::frame;
  case PlanPlace::region:
    return PlanPlace::region_frame;
  case PlanPlace::instances:
    return PlanPlace::range;
  case PlanPlace::parts:
    return PlanPlace::part;
  default:
    return PlanPlace::file; // plain values only
  }
}

bool PlanBuilder::wrong_type(const std::string& got) {
  if (levels_.empty()) return refuse("a plan is an object {...}, not " + got);
  if (level().field != nullptr)
    return refuse(in_quotes(level().field->name) + " must be " + title_of(level().field->type) +
                  ", not " + got);
  const PlanPlace here = place();
  const bool of_kinds =
      here == PlanPlace::kinds || here == PlanPlace::rest || here == PlanPlace::estimated;
  const char* wanted = of_kinds ? "memory kinds (\"dram\", \"hbm\", \"nvm\" or \"cxl\")"
                       : here == PlanPlace::instances ? "ranges [first, last]"
                       : here == PlanPlace::range     ? title_of(PlanType::whole)
                                                      : "objects {...}";
  return refuse(std::string(title_of(here)) + " holds " + wanted + ", not " + got);
}

bool PlanBuilder::open(PlanType type) {
  const std::string got = title_of(type);
  PlanPlace inside = PlanPlace::file;
  if (!levels_.empty() && level().field != nullptr) {
    if (level().field->type != type) return wrong_type(got);
    inside = level().field->opens;
  } else {
    inside = element_of(place());
    const bool array = inside == PlanPlace::range;
    if (inside == PlanPlace::file || array != (type == PlanType::array)) return wrong_type(got);
  }
  return begin(inside);
}

bool PlanBuilder::begin(PlanPlace where) {
  if (!levels_.empty()) level().field = nullptr;
  levels_.push_back({where, 0, nullptr, line(), 0});
  const auto too_many_frames = [&](const std::vector<PlanFrame>& frames) {
    return frames.size() >= k_max_frames &&
           !refuse("more than " + std::to_string(k_max_frames) + " frames in one call stack");
  };
  switch (where) {
  case PlanPlace::module:
    plan_.modules.emplace_back();
    break;
  case PlanPlace::entry:
    plan_.entries.emplace_back();
    break;
  case PlanPlace::frame:
    if (too_many_frames(entry().frames)) return false;
    entry().frames.emplace_back();
    break;
  case PlanPlace::region_frame:
    if (too_many_frames(entry().region)) return false;
    entry().region.emplace_back();
    break;
  case PlanPlace::range:
    entry().instances.emplace_back();
    break;
  case PlanPlace::part:
    if (entry().parts.size() >= Plan::k_most_parts)
      return refuse("more than " + std::to_string(Plan::k_most_parts) + " parts in one entry");
    entry().parts.emplace_back();
    part_ends_ = 0;
    break;
  default:
    break;
  }
  return true;
}

bool PlanBuilder::key(std::string& text) {
  const auto fields = fields_of(place());
  for (std::size_t i = 0; i < fields.size(); ++i) {
    if (text != fields[i].name) continue;
    if ((level().seen >> i & 1) != 0)
      return refuse(in_quotes(text) + " is there twice in " + title_of(place()));
    level().seen |= 1u << i;
    level().field = &fields[i];
    return true;
  }
  return refuse(std::string(title_of(place())) + " has no field " + in_quotes(text) +
                "; it may have: " + list_fields(place()));
}

bool PlanBuilder::close_object() {
  const Level ended = level();
  const auto fields = fields_of(ended.place);
  for (std::size_t i = 0; i < fields.size(); ++i)
    if (fields[i].required && (ended.seen >> i & 1) == 0)
      return refuse_at(ended.line, std::string(title_of(ended.place)) + " beginning here has no " +
                                       in_quotes(fields[i].name));
  if (ended.place == PlanPlace::part && !finish_part()) return false;
  if (ended.place == PlanPlace::entry && !is_entry_whole(ended.line)) return false;
  levels_.pop_back();
  return true;
}

bool PlanBuilder::finish_part() {
  PlanPart& part = entry().parts.back();
  if (part_ends_ != 1)
    return refuse_at(level().line,
                     "a part has either \"end\" or \"bytes\", in bytes of the object");
  if (part_has_bytes_ && __builtin_add_overflow(part.begin, part.end, &part.end))
    return refuse_at(level().line, "a part that ends beyond any memory");
  if (part.end <= part.begin)
    return refuse_at(level().line, "part [" + std::to_string(part.begin) + ", " +
                                       std::to_string(part.end) + ") holds no byte");
  for (const PlanPart& other : entry().parts)
    if (&other != &part && other.begin < part.end && part.begin < other.end)
      return refuse_at(level().line, "part [" + std::to_string(part.begin) + ", " +
                                         std::to_string(part.end) + ") overlaps part [" +
                                         std::to_string(other.begin) + ", " +
                                         std::to_string(other.end) + ")");
  return true;
}

bool PlanBuilder::is_entry_whole(std::size_t line) {
  const bool site = !entry().frames.empty();
  const bool named = !entry().symbol.empty();
  if (site == named)
    return refuse_at(line, site ? "an entry has either \"frames\" or \"static\""
                                : "an entry beginning here has neither \"frames\" nor \"static\"");
  if (named && (!entry().instances.empty() || !entry().region.empty()))
    return refuse_at(line, "a static has no \"instances\" and is placed for the whole program, not "
                           "for a \"region\"");
  const bool of_small = entry().least_block < k_least_large && entry().kinds.size() > 1;
  if (entry().share < 1 && !of_small)
    return refuse_at(line, "\"share\" is of small blocks, between two kinds: it needs "
                           "\"least_block\" and a second kind in \"kinds\"");
  return true;
}

bool PlanBuilder::close_array() {
  const Level ended = level();
  if (ended.place == PlanPlace::range) {
    if (ended.elements != 2) return refuse("a range of instances is [first, last]");
    const InstanceRange& range = entry().instances.back();
    if (range.first > range.last)
      return refuse("range [" + std::to_string(range.first) + ", " + std::to_string(range.last) +
                    "] ends before it begins");
  }
  if (ended.place == PlanPlace::kinds && entry().kinds.empty())
    return refuse("\"kinds\" is empty; name the wanted memory kind, then what to take when it is "
                  "full");
  if (ended.place == PlanPlace::frames && entry().frames.empty())
    return refuse("\"frames\" is empty; an entry needs at least the caller's frame");
  levels_.pop_back();
  return true;
}

bool PlanBuilder::add_kind(std::vector<MemoryKind>& kinds, const std::string& text) {
  const auto kind = parse_memory_kind(text);
  if (!kind || *kind == MemoryKind::unknown)
    return refuse(in_quotes(text) + " is no memory kind; the kinds are dram, hbm, nvm, cxl");
  if (std::ranges::find(kinds, *kind) != kinds.end())
    return refuse(in_quotes(text) + " is there twice in " + title_of(place()));
  kinds.push_back(*kind);
  return true;
}

bool PlanBuilder::string(std::string& text) {
  if (place() == PlanPlace::kinds) return add_kind(entry().kinds, text);
  if (place() == PlanPlace::rest) return add_kind(plan_.rest, text);
  if (place() == PlanPlace::estimated) return add_kind(plan_.estimated, text);
  if (levels_.empty() || level().field == nullptr) return wrong_type("the text " + in_quotes(text));
  const PlanField& field = *level().field;
  if (field.type == PlanType::size) {
    const auto size = parse_size(text);
    if (!size) return refuse(in_quotes(field.name) + ": " + size.error());
    return set_whole(field, *size);
  }
  if (field.type == PlanType::address) {
    std::uint64_t value = 0;
    if (!parse_hexadecimal(text, value)) return wrong_type("the text " + in_quotes(text));
    return set_whole(field, value);
  }
  if (field.type != PlanType::text) return wrong_type("the text " + in_quotes(text));
  return set_text(field, text);
}

bool PlanBuilder::set_text(const PlanField& field, std::string& text) {
  const std::string_view name = field.name;
  level().field = nullptr;
  if (text.find('\0') != std::string::npos)
    return refuse(in_quotes(name) + " holds a character with code 0");
  if (name == "kind") {
    const auto kind = parse_memory_kind(text);
    if (!kind || *kind == MemoryKind::unknown)
      return refuse(in_quotes(text) + " is no memory kind; the kinds are dram, hbm, nvm, cxl");
    entry().parts.back().kind = *kind;
  }
  if (name == "made_by") plan_.made_by = text;
  if (name == "program") plan_.program = text;
  if (name == "platform") plan_.platform_fingerprint = text;
  if (name == "identity") {
    if (text.empty()) return refuse("\"identity\" is empty; it is what a module is recognised by");
    plan_.modules.back().identity = text;
  }
  if (name == "name") plan_.modules.back().name = text;
  if (name == "symbol") {
    if (text.empty()) return refuse("\"symbol\" is empty; it is the static's name for the linker");
    entry().symbol = text;
  }
  if (name == "label") entry().label = text;
  if (name == "reason") entry().reason = text;
  if (name == "function") frame().portable.function = text;
  if (name == "callee") frame().portable.callee = text;
  if (name == "variable") frame().portable.variable = text;
  if (name == "file") frame().portable.file = text;
  return true;
}

bool PlanBuilder::number_unsigned(std::uint64_t value) {
  if (place() == PlanPlace::range) {
    if (value > k_largest_whole) return wrong_type(std::to_string(value));
    InstanceRange& range = entry().instances.back();
    const unsigned position = level().elements++;
    if (position > 1) return refuse("a range of instances is [first, last]");
    (position == 0 ? range.first : range.last) = static_cast<std::uint32_t>(value);
    return true;
  }
  if (levels_.empty() || level().field == nullptr) return wrong_type(std::to_string(value));
  const PlanField& field = *level().field;
  switch (field.type) {
  case PlanType::whole:
    if (value > k_largest_whole) return wrong_type(std::to_string(value));
    [[fallthrough]];
  case PlanType::size:
  case PlanType::address:
    return set_whole(field, value);
  case PlanType::real:
    return number_float(static_cast<double>(value), "");
  default:
    return wrong_type("the number " + std::to_string(value));
  }
}

bool PlanBuilder::set_whole(const PlanField& field, std::uint64_t value) {
  const std::string_view name = field.name;
  level().field = nullptr;
  const auto narrow = static_cast<std::uint32_t>(value);
  if (place() == PlanPlace::capacity) {
    if (const auto kind = parse_memory_kind(name)) // its fields are the kinds
      plan_.capacity[static_cast<std::size_t>(*kind)] = value;
  } else if (name == "version") {
    if (value != Plan::k_version)
      return refuse("version " + std::to_string(value) +
                    " of the plan format; this omptier reads " + "version " +
                    std::to_string(Plan::k_version) +
                    " (make the plan again with 'omptier advise')");
  } else if (place() == PlanPlace::part) {
    if (name != "begin") {
      ++part_ends_;
      part_has_bytes_ = name == "bytes";
    }
    (name == "begin" ? entry().parts.back().begin : entry().parts.back().end) = value;
  } else if (name == "bytes") {
    entry().bytes = value;
  } else if (name == "least_block") {
    if (value == 0 || value > k_least_large)
      return refuse("\"least_block\" is " + std::to_string(value) + "; it is from 1 to " +
                    std::to_string(k_least_large) + " bytes (as without it)");
    entry().least_block = value;
  } else if (name == "module") {
    (place() == PlanPlace::static_object ? entry().symbol_module : frame().module) = narrow;
    if (static_cast<std::int64_t>(value) > highest_module_) {
      highest_module_ = static_cast<std::int64_t>(value);
      highest_module_line_ = line();
    }
  } else if (name == "offset") {
    frame().offset = value;
  } else if (name == "ordinal") {
    frame().portable.ordinal = narrow;
  } else if (name == "of") {
    frame().portable.calls = narrow;
  } else if (name == "line") {
    frame().portable.line = narrow;
  }
  return true;
}

bool PlanBuilder::number_float(double value, const std::string&) {
  char shown[40];
  std::snprintf(shown, sizeof shown, "%.10g", value);
  if (levels_.empty() || level().field == nullptr || level().field->type != PlanType::real)
    return wrong_type(shown);
  if (!std::isfinite(value)) return wrong_type("an infinite number");
  const std::string_view name = level().field->name;
  level().field = nullptr;
  if (name == "benefit_ns") {
    entry().benefit = value;
    return true;
  }
  if (name == "share") {
    if (value <= 0 || value > 1)
      return refuse("\"share\" is " + std::string(shown) +
                    "; it is more than 0, and 1 for all small blocks (as without it)");
    entry().share = value;
    return true;
  }
  if (value < 0)
    return refuse("\"" + std::string(name) + "\" is " + shown + "; no run takes less than 0");
  if (name == "recorded_seconds")
    plan_.recorded_seconds = value;
  else if (name == "predicted_seconds")
    plan_.predicted_seconds = value;
  return true;
}

// nlohmann-json: "[json.exception.…] parse error at line 3, column 7: syntax error while …"
bool PlanBuilder::parse_error(std::size_t, const std::string&, const Json::exception& problem) {
  std::string_view what = problem.what();
  const auto column = what.find("column ");
  const auto colon = what.find(": ", column == std::string_view::npos ? 0 : column);
  if (colon != std::string_view::npos) what.remove_prefix(colon + 2);
  std::string text(what.substr(0, 300));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < ' ') c = ' ';
  return refuse("not JSON: " + text);
}

Parsed<Plan> parse(std::string_view json, std::string_view name) {
  std::size_t furthest = 0;
  PlanBuilder builder(json, name, &furthest);
  const CountingIterator begin(json.data(), json.data(), &furthest);
  const CountingIterator end(json.data() + json.size(), json.data(), &furthest);
  if (!Json::sax_parse(begin, end, &builder, Json::input_format_t::json, true, true) ||
      !builder.finish())
    return Parsed<Plan>::failure(builder.error());
  return builder.take();
}

std::string read_file(const std::string& path, std::string& content) {
  const int fd = os().open(path.c_str(), O_RDONLY | O_CLOEXEC, 0);
  if (fd < 0) return std::strerror(errno);
  std::string error;
  while (true) {
    const std::size_t before = content.size();
    const std::size_t piece = std::max(before, std::size_t{4096}); // most plans are small
    if (before > k_largest_file) {
      error = "larger than 1 GiB, which no plan is";
      break;
    }
    content.resize(before + piece);
    const ssize_t got = os().read(fd, content.data() + before, piece);
    content.resize(before + (got > 0 ? static_cast<std::size_t>(got) : 0));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) error = std::strerror(errno);
    if (got <= 0) break;
  }
  os().close(fd);
  return error;
}

} // namespace

Parsed<Plan> parse_plan(std::string_view json, std::string_view name) {
  try {
    return parse(json, name);
  } catch (const std::exception& problem) {
    return Parsed<Plan>::failure(std::string(name) + ":1: cannot be read: " + problem.what());
  }
}

Parsed<Plan> read_plan(const std::string& path) {
  try {
    std::string content;
    if (const std::string error = read_file(path, content); !error.empty())
      return Parsed<Plan>::failure(path + ":1: cannot be read: " + error);
    constexpr std::string_view k_profile = "OMPTIERp"; // log/format.hpp
    if (content.starts_with(k_profile))
      return Parsed<Plan>::failure(path + ":1: is a profile; make a plan of it: omptier advise " +
                                   path + " -o PLAN");
    return parse(content, path);
  } catch (const std::exception& problem) {
    return Parsed<Plan>::failure(path + ":1: cannot be read: " + problem.what());
  }
}

} // namespace omptier
