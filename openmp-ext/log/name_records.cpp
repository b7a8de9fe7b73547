// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See name_records.hpp.
#include "log/name_records.hpp"

#include "objects/modules.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <initializer_list>
#include <unordered_map>

namespace omptier {
namespace {

class NameBlocks {
public:
  explicit NameBlocks(std::uint32_t sequence) : sequence_(sequence) {}

  void add(RecordType type, const std::string& body) {
    if (body.size() > k_longest_body) {
      fits_ = false;
      return;
    }
    if (block_.size() + body.size() + k_beside_body > k_largest_block - sizeof(BlockHeader)) end();
    block_ += static_cast<char>(type);
    append_number(block_, body.size());
    block_ += body;
    ++records_;
  }

  std::string finish() {
    end();
    return fits_ ? std::move(blocks_) : std::string();
  }

  static void append_number(std::string& text, std::uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      text += static_cast<char>(value | 0x80);
    text += static_cast<char>(value);
  }

private:
  static constexpr std::size_t k_beside_body = 4; // its type and length
  static constexpr std::size_t k_longest_body =
      k_largest_block - sizeof(BlockHeader) - k_beside_body;

  void end() {
    if (records_ == 0) return;
    BlockHeader header{};
    header.magic = k_block_magic;
    header.bytes = static_cast<std::uint32_t>(block_.size());
    header.sequence = sequence_++;
    header.records = records_;
    const std::uint64_t head = hash_bytes(0, &header, offsetof(BlockHeader, checksum));
    header.checksum = hash_bytes(head, block_.data(), block_.size());
    blocks_.append(reinterpret_cast<const char*>(&header), sizeof header);
    blocks_ += block_;
    block_.clear();
    records_ = 0;
  }

  std::string blocks_, block_; // finished; without its header
  std::uint32_t sequence_, records_ = 0;
  bool fits_ = true;
};

class NameWriter {
public:
  NameWriter(const ResolvedNames& names, const Profile& profile)
      : names_(names), blocks_(profile.blocks) {
    for (std::size_t i = profile.modules.size(); i-- > 0;)
      modules_[profile.modules[i].identity] = i;
  }

  std::string write() {
    for (const auto& [place, frame] : names_.frames)
      if (modules_.contains(place.first)) add_frame(place, frame);
    for (const auto& [stack, from] : names_.sites)
      if (std::ranges::all_of(stack, [&](const auto& at) { return modules_.contains(at.first); }))
        add_site(stack, from);
    for (const auto& [identity, variables] : names_.statics)
      if (modules_.contains(identity)) add_statics(identity, variables);
    for (const auto& [file, time] : names_.sources) {
      numbers({number_of(file), fold_sign(time)});
      add_body(RecordType::source_time);
    }
    blocks_.add(RecordType::names_end, {});
    return blocks_.finish();
  }

private:
  void numbers(std::initializer_list<std::uint64_t> values) {
    for (const std::uint64_t value : values)
      NameBlocks::append_number(body_, value);
  }

  // 0 is the empty text.
  std::uint64_t number_of(const std::string& text) {
    if (text.empty()) return 0;
    const auto [at, added] = texts_.try_emplace(text, texts_.size() + 1);
    if (added) blocks_.add(RecordType::name_text, text);
    return at->second;
  }

  void add_body(RecordType type) {
    blocks_.add(type, body_);
    body_.clear();
  }

  void add_frame(const ModulePlace& place, const ResolvedFrame& frame) {
    const PortableFrame& call = frame.portable;
    numbers({modules_.at(place.first), place.second, frame.known, number_of(call.function),
             number_of(call.callee), call.ordinal, call.calls, number_of(call.variable),
             number_of(call.file), call.line, frame.runs});
    for (const SourceLocation& location : frame.locations)
      numbers({number_of(location.function), number_of(location.file), location.line,
               location.column, number_of(location.defined_in), location.order.index,
               location.order.count, location.changed});
    add_body(RecordType::frame_name);
  }

  void add_site(const std::vector<ModulePlace>& stack, const std::vector<SiteNameFrom>& from) {
    numbers({stack.size()});
    for (const auto& [identity, offset] : stack)
      numbers({modules_.at(identity), offset});
    for (const auto& [own, found] : from)
      numbers({own, number_of(found.name), found.first, found.last});
    add_body(RecordType::site_name);
  }

  void add_statics(const std::string& identity, const std::vector<StaticVariable>& variables) {
    constexpr std::size_t k_in_one = 1024; // fits a block
    std::size_t at = 0;
    do {
      numbers({modules_.at(identity)});
      const std::size_t end = std::min(at + k_in_one, variables.size());
      for (; at < end; ++at) {
        const StaticVariable& variable = variables[at];
        const auto& labels = names_.static_labels;
        const auto label = labels.find({{identity, variable.offset}, variable.symbol});
        numbers({number_of(variable.symbol), variable.offset, variable.bytes,
                 label == labels.end() ? 0 : number_of(label->second)});
      }
      add_body(RecordType::static_names);
    } while (at < variables.size());
  }

  const ResolvedNames& names_;
  NameBlocks blocks_;
  std::unordered_map<std::string, std::uint64_t> modules_, texts_; // numbers
  std::string body_;
};

} // namespace

std::optional<std::int64_t> source_time(const std::string& file) {
  std::error_code missing;
  const auto time = std::filesystem::last_write_time(file, missing).time_since_epoch();
  if (missing) return std::nullopt;
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time).count();
}

std::string encode_names(const ResolvedNames& names, const Profile& profile) {
  return NameWriter(names, profile).write();
}

std::string NameReader::text(RecordBody& body) {
  const std::uint64_t number = body.number();
  if (number > texts_.size()) body.fail();
  return number > 0 && body.good() ? texts_[number - 1] : std::string();
}

void NameReader::read_text(RecordBody& body) {
  texts_.push_back(body.rest());
}

void NameReader::read_frame(RecordBody& body) {
  Frame at;
  at.module = body.small(k_largest_module);
  at.offset = body.number();
  ResolvedFrame frame;
  frame.known = body.number() != 0;
  PortableFrame& call = frame.portable;
  call.function = text(body);
  call.callee = text(body);
  body.numbers(call.ordinal, call.calls);
  call.variable = text(body);
  call.file = text(body);
  body.numbers(call.line, frame.runs);
  while (body.good() && !body.empty()) {
    SourceLocation& location = frame.locations.emplace_back();
    location.function = text(body);
    location.file = text(body);
    body.numbers(location.line, location.column);
    location.defined_in = text(body);
    body.numbers(location.order.index, location.order.count);
    location.changed = body.number() != 0;
  }
  if (body.good()) frames_.emplace_back(at, std::move(frame));
}

void NameReader::read_site(RecordBody& body) {
  std::vector<Frame> stack = body.frames();
  std::vector<SiteNameFrom> from;
  while (body.good() && !body.empty()) {
    SiteNameFrom& one = from.emplace_back();
    one.own = body.number();
    one.name.name = text(body);
    body.numbers(one.name.first, one.name.last);
    if (from.size() > 1 && one.own <= from[from.size() - 2].own) body.fail();
  }
  if (from.empty() || from.front().own != 0) body.fail();
  if (body.good()) sites_.emplace_back(std::move(stack), std::move(from));
}

void NameReader::read_statics(RecordBody& body) {
  const std::uint32_t module = body.small(k_largest_module);
  std::vector<NamedStatic> statics;
  while (body.good() && !body.empty()) {
    NamedStatic& one = statics.emplace_back();
    one.variable.symbol = text(body);
    body.numbers(one.variable.offset, one.variable.bytes);
    one.label = text(body);
  }
  if (body.good()) statics_.emplace_back(module, std::move(statics));
}

void NameReader::read_source(RecordBody& body) {
  const std::string file = text(body);
  const std::int64_t time = unfold_sign(body.number());
  if (body.good()) sources_.try_emplace(file, time);
}

void NameReader::read_end(RecordBody&) {
  complete_ = true;
}

std::optional<ResolvedNames> NameReader::finish(const std::vector<ModuleInfo>& modules) {
  if (!complete_) return std::nullopt;
  const auto exists = [&](const Frame& frame) { return frame.module < modules.size(); };
  const auto place_of = [&](const Frame& frame) {
    return ModulePlace{modules[frame.module].identity, frame.offset};
  };
  ResolvedNames names;
  names.sources = std::move(sources_);
  for (auto& [at, frame] : frames_)
    if (exists(at)) names.frames.try_emplace(place_of(at), std::move(frame));
  for (auto& [stack, from] : sites_) {
    if (!std::ranges::all_of(stack, exists)) continue;
    std::vector<ModulePlace> places;
    for (const Frame& frame : stack)
      places.push_back(place_of(frame));
    names.sites.try_emplace(std::move(places), std::move(from));
  }
  for (auto& [module, statics] : statics_) {
    if (module >= modules.size()) continue;
    const std::string& identity = modules[module].identity;
    std::vector<StaticVariable>& variables = names.statics[identity];
    for (NamedStatic& one : statics) {
      if (!one.label.empty())
        names.static_labels[{{identity, one.variable.offset}, one.variable.symbol}] = one.label;
      variables.push_back(std::move(one.variable));
    }
  }
  return names;
}

} // namespace omptier
