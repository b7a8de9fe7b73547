// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See unwind_rule.hpp. A bounded cursor reads the tables: reading past the module sets a flag and
// gives zeros; the flag is checked once at the end. Register numbers are x86-64's.
#include "objects/unwind_rule.hpp"

namespace omptier {
namespace {

constexpr std::uint64_t k_frame_pointer = 6, k_stack_pointer = 7, k_return_address = 16;

// Encodings of pointers in .eh_frame (low four bits: format, next three: relative to what).
constexpr std::uint8_t k_omitted = 0xff, k_relative_to_place = 0x10, k_relative_to_header = 0x30;

class Cursor {
public:
  Cursor(const ByteSpan& span, std::uintptr_t at) : span_(span), at_(at) {}
  std::uintptr_t at() const { return at_; }
  bool failed() const { return failed_; }
  void fail() { failed_ = true; }
  void skip(std::uint64_t bytes) {
    if (!span_.holds(at_, bytes))
      failed_ = true;
    else
      at_ += bytes;
  }
  template <typename T> T read() {
    T value{};
    if (!span_.read(at_, value)) {
      failed_ = true;
      return T{};
    }
    at_ += sizeof value;
    return value;
  }
  std::uint64_t read_unsigned() { // ULEB128
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64; shift += 7) {
      const auto byte = read<std::uint8_t>();
      value |= std::uint64_t(byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    failed_ = true;
    return 0;
  }
  std::int64_t read_signed() { // SLEB128
    std::uint64_t value = 0;
    for (unsigned shift = 0; shift < 64;) {
      const auto byte = read<std::uint8_t>();
      value |= std::uint64_t(byte & 0x7f) << shift;
      shift += 7;
      if ((byte & 0x80) != 0) continue;
      if ((byte & 0x40) != 0 && shift < 64) value |= ~std::uint64_t{0} << shift;
      return static_cast<std::int64_t>(value);
    }
    failed_ = true;
    return 0;
  }
  std::uintptr_t read_pointer(std::uint8_t encoding, std::uintptr_t header) {
    const std::uintptr_t place = at_;
    std::uintptr_t value = 0;
    switch (encoding & 0x0f) {
    case 0x00:
      value = read<std::uint64_t>();
      break;
    case 0x02:
      value = read<std::uint16_t>();
      break;
    case 0x03:
      value = read<std::uint32_t>();
      break;
    case 0x04:
      value = read<std::uint64_t>();
      break;
    case 0x0a:
      value = static_cast<std::uintptr_t>(std::intptr_t{read<std::int16_t>()});
      break;
    case 0x0b:
      value = static_cast<std::uintptr_t>(std::intptr_t{read<std::int32_t>()});
      break;
    case 0x0c:
      value = read<std::uint64_t>();
      break;
    default:
      failed_ = true;
    }
    switch (encoding & 0x70) {
    case 0:
      return value;
    case k_relative_to_place:
      return value + place;
    case k_relative_to_header:
      return value + header;
    default:
      failed_ = true;
      return value;
    }
  }

private:
  ByteSpan span_;
  std::uintptr_t at_;
  bool failed_ = false;
};

// Binary search for the frame description entry (FDE) that may cover pc; 0 when there is none.
std::uintptr_t look_up(std::uintptr_t header, const ByteSpan& module, std::uintptr_t pc) {
  Cursor cursor(module, header);
  const auto version = cursor.read<std::uint8_t>();
  const auto start_encoding = cursor.read<std::uint8_t>();
  const auto count_encoding = cursor.read<std::uint8_t>();
  const auto table_encoding = cursor.read<std::uint8_t>();
  if (version != 1 || count_encoding == k_omitted || table_encoding != 0x3b) return 0;
  cursor.read_pointer(start_encoding, header);
  const std::uint64_t count = cursor.read_pointer(count_encoding, header);
  const std::uintptr_t table = cursor.at();
  if (cursor.failed() || count == 0 || count > (module.end - table) / 8) return 0;
  bool failed = false;
  const auto entry = [&](std::uint64_t i, std::uint64_t field) {
    std::int32_t value = 0;
    failed |= !module.read(table + 8 * i + 4 * field, value);
    return header + static_cast<std::uintptr_t>(std::intptr_t{value});
  };
  if (pc < entry(0, 0)) return 0;
  std::uint64_t low = 0, high = count; // entry(low) <= pc < entry(high)
  while (high - low > 1) {
    const std::uint64_t middle = low + (high - low) / 2;
    (entry(middle, 0) <= pc ? low : high) = middle;
  }
  const std::uintptr_t found = entry(low, 1);
  return failed ? 0 : found;
}

struct CommonEntry { // what a CIE holds for its FDEs
  std::uint64_t code_factor = 1;
  std::int64_t data_factor = 1;
  std::uint8_t pointer_encoding = 0;
  bool sized_augmentation = false;
  bool signal_frame = false;
  std::uint64_t return_register = 0;
  std::uintptr_t program = 0, program_end = 0;
};

bool read_common_entry(const ByteSpan& module, std::uintptr_t at, CommonEntry& common) {
  Cursor cursor(module, at);
  const auto length = cursor.read<std::uint32_t>();
  if (cursor.failed() || length == 0 || length == 0xffffffff) return false;
  common.program_end = cursor.at() + length;
  if (cursor.read<std::uint32_t>() != 0) return false; // not a CIE
  const auto version = cursor.read<std::uint8_t>();
  char augmentation[8] = {};
  for (unsigned i = 0;; ++i) {
    const char letter = cursor.read<char>();
    if (letter == 0) break;
    if (i + 1 == sizeof augmentation || cursor.failed()) return false;
    augmentation[i] = letter;
  }
  common.code_factor = cursor.read_unsigned();
  common.data_factor = cursor.read_signed();
  common.return_register = version == 1 ? cursor.read<std::uint8_t>() : cursor.read_unsigned();
  if (augmentation[0] == 'z') {
    common.sized_augmentation = true;
    const std::uint64_t bytes = cursor.read_unsigned();
    const std::uintptr_t end = cursor.at() + bytes;
    for (const char* letter = augmentation + 1; *letter != 0; ++letter) {
      if (*letter == 'R')
        common.pointer_encoding = cursor.read<std::uint8_t>();
      else if (*letter == 'L')
        cursor.read<std::uint8_t>();
      else if (*letter == 'P')
        cursor.read_pointer(cursor.read<std::uint8_t>() & 0x0f, 0);
      else if (*letter == 'S')
        common.signal_frame = true;
      else
        return false;
    }
    common.program = end;
  } else if (augmentation[0] == 0) {
    common.program = cursor.at();
  } else {
    return false;
  }
  return !cursor.failed() && common.program <= common.program_end &&
         module.holds(common.program, common.program_end - common.program);
}

struct Description { // what an FDE and its CIE hold
  CommonEntry common;
  CodeRange function;
  std::uintptr_t program = 0, program_end = 0;
};

bool find_description(std::uintptr_t header, const ByteSpan& module, std::uintptr_t pc,
                      Description& found) {
  const std::uintptr_t entry = look_up(header, module, pc);
  if (entry == 0) return false;
  Cursor cursor(module, entry);
  const auto length = cursor.read<std::uint32_t>();
  if (cursor.failed() || length == 0 || length == 0xffffffff) return false;
  const std::uintptr_t start = cursor.at();
  if (!module.holds(start, length)) return false;
  const auto back = cursor.read<std::uint32_t>();
  CommonEntry& common = found.common;
  if (back == 0 || !read_common_entry(module, start - back, common)) return false;
  const std::uintptr_t first = cursor.read_pointer(common.pointer_encoding, 0);
  const std::uintptr_t bytes = cursor.read_pointer(common.pointer_encoding & 0x0f, 0);
  if (cursor.failed() || pc < first || pc - first >= bytes || first + bytes < first) return false;
  found.function = {first, first + bytes};
  if (common.sized_augmentation) cursor.skip(cursor.read_unsigned());
  found.program = cursor.at();
  found.program_end = start + length;
  return !cursor.failed();
}

struct FrameState {
  bool cfa_known = false, cfa_complex = false;
  std::uint64_t cfa_register = 0, cfa_offset = 0;
  bool frame_pointer_saved = false, frame_pointer_complex = false;
  std::int64_t frame_pointer_offset = 0;
  bool return_undefined = false, return_complex = false;
  std::int64_t return_offset = 0;
};

void set_offset(FrameState& state, std::uint64_t number, std::int64_t offset) {
  if (number == k_frame_pointer) {
    state.frame_pointer_saved = true;
    state.frame_pointer_complex = false;
    state.frame_pointer_offset = offset;
  } else if (number == k_return_address) {
    state.return_undefined = state.return_complex = false;
    state.return_offset = offset;
  }
}

void set_complex(FrameState& state, std::uint64_t number) {
  if (number == k_frame_pointer)
    state.frame_pointer_complex = true;
  else if (number == k_return_address)
    state.return_complex = true;
}

void restore(FrameState& state, const FrameState& initial, std::uint64_t number) {
  if (number == k_frame_pointer) {
    state.frame_pointer_saved = initial.frame_pointer_saved;
    state.frame_pointer_complex = initial.frame_pointer_complex;
    state.frame_pointer_offset = initial.frame_pointer_offset;
  } else if (number == k_return_address) {
    state.return_undefined = initial.return_undefined;
    state.return_complex = initial.return_complex;
    state.return_offset = initial.return_offset;
  }
}

class FrameProgram {
public:
  FrameProgram(const ByteSpan& module, const CommonEntry& common, std::uintptr_t pc)
      : module_(module), common_(common), pc_(pc) {}

  // Runs the instructions of [begin, end) from location on, until they are past pc.
  bool run(std::uintptr_t begin, std::uintptr_t end, std::uintptr_t location) {
    ByteSpan part = module_;
    part.end = end;
    Cursor cursor(part, begin);
    while (cursor.at() < end && location <= pc_ && !cursor.failed())
      if (!step(cursor, location)) return false;
    return !cursor.failed();
  }
  void keep_initial() { initial_ = state; }

  FrameState state;

private:
  bool step(Cursor& cursor, std::uintptr_t& location) {
    const auto code = cursor.read<std::uint8_t>();
    const std::uint64_t low = code & 0x3f;
    switch (code >> 6) {
    case 1:
      location += low * common_.code_factor;
      return true;
    case 2:
      set_offset(state, low, factored(cursor.read_unsigned()));
      return true;
    case 3:
      restore(state, initial_, low);
      return true;
    default:
      break;
    }
    switch (low) {
    case 0x00:
      return true; // nop
    case 0x01:
      location = cursor.read_pointer(common_.pointer_encoding, 0);
      return true;
    case 0x02:
      location += cursor.read<std::uint8_t>() * common_.code_factor;
      return true;
    case 0x03:
      location += cursor.read<std::uint16_t>() * common_.code_factor;
      return true;
    case 0x04:
      location += cursor.read<std::uint32_t>() * common_.code_factor;
      return true;
    case 0x0a:
      return push();
    case 0x0b:
      return pop();
    case 0x2e:
      cursor.read_unsigned();
      return true; // size of arguments: not needed
    default:
      return low >= 0x0c && low <= 0x13 && low != 0x10 && low != 0x11
                 ? define_cfa(low, cursor)
                 : define_register(low, cursor);
    }
  }

  bool define_cfa(std::uint64_t code, Cursor& cursor) {
    state.cfa_known = true;
    switch (code) {
    case 0x0c: // register and offset
      state.cfa_register = cursor.read_unsigned();
      state.cfa_offset = cursor.read_unsigned();
      state.cfa_complex = false;
      return true;
    case 0x0d:
      state.cfa_register = cursor.read_unsigned();
      return true;
    case 0x0e:
      state.cfa_offset = cursor.read_unsigned();
      return true;
    case 0x0f:
      state.cfa_complex = true;
      cursor.skip(cursor.read_unsigned());
      return true;
    case 0x12:
      state.cfa_register = cursor.read_unsigned();
      state.cfa_offset = static_cast<std::uint64_t>(signed_factored(cursor.read_signed()));
      state.cfa_complex = false;
      return true;
    case 0x13:
      state.cfa_offset = static_cast<std::uint64_t>(signed_factored(cursor.read_signed()));
      return true;
    default:
      return false;
    }
  }

  bool define_register(std::uint64_t code, Cursor& cursor) {
    const std::uint64_t number = cursor.read_unsigned();
    switch (code) {
    case 0x05:
      set_offset(state, number, factored(cursor.read_unsigned()));
      return true;
    case 0x06:
      restore(state, initial_, number);
      return true;
    case 0x07: // undefined: of the return address, the outermost frame
      if (number == k_return_address) state.return_undefined = true;
      return true;
    case 0x08: // same value
      if (number == k_frame_pointer) state.frame_pointer_saved = false;
      return true;
    case 0x09: // in another register
    case 0x14:
      set_complex(state, number);
      cursor.read_unsigned();
      return true;
    case 0x15:
      set_complex(state, number);
      cursor.read_signed();
      return true;
    case 0x10:
    case 0x16:
      set_complex(state, number);
      cursor.skip(cursor.read_unsigned());
      return true;
    case 0x11:
      set_offset(state, number, signed_factored(cursor.read_signed()));
      return true;
    case 0x2f:
      set_offset(state, number, -factored(cursor.read_unsigned()));
      return true;
    default:
      return false;
    }
  }

  std::int64_t factored(std::uint64_t value) const {
    return static_cast<std::int64_t>(value * static_cast<std::uint64_t>(common_.data_factor));
  }
  std::int64_t signed_factored(std::int64_t value) const {
    return factored(static_cast<std::uint64_t>(value));
  }
  bool push() {
    if (depth_ == sizeof saved_ / sizeof *saved_) return false;
    saved_[depth_++] = state;
    return true;
  }
  bool pop() {
    if (depth_ == 0) return false;
    state = saved_[--depth_];
    return true;
  }

  const ByteSpan& module_;
  const CommonEntry& common_;
  std::uintptr_t pc_;
  FrameState initial_;
  FrameState saved_[8];
  unsigned depth_ = 0;
};

UnwindRule rule_of(const FrameState& state) {
  UnwindRule rule;
  if (state.return_undefined) return rule; // Kind::end
  rule.kind = UnwindRule::Kind::complex;
  const bool from_registers =
      state.cfa_register == k_stack_pointer || state.cfa_register == k_frame_pointer;
  if (!state.cfa_known || state.cfa_complex || !from_registers || state.return_complex ||
      state.return_offset != -8 || state.frame_pointer_complex)
    return rule;
  if (state.cfa_offset % 8 != 0 || state.cfa_offset == 0 || state.cfa_offset >= (1u << 30))
    return rule;
  if (state.frame_pointer_saved &&
      (state.frame_pointer_offset >= 0 || state.frame_pointer_offset <= -8192 ||
       state.frame_pointer_offset % 8 != 0))
    return rule;
  rule.kind = UnwindRule::Kind::normal;
  rule.from_frame_pointer = state.cfa_register == k_frame_pointer;
  rule.cfa_offset = static_cast<std::uint32_t>(state.cfa_offset);
  if (state.frame_pointer_saved)
    rule.saved_at = static_cast<std::uint32_t>(-state.frame_pointer_offset);
  return rule;
}

} // namespace

UnwindRule find_unwind_rule(std::uintptr_t header, const ByteSpan& module, std::uintptr_t pc) {
  Description found;
  if (!find_description(header, module, pc, found) ||
      found.common.return_register != k_return_address)
    return {};
  UnwindRule complex;
  complex.kind = UnwindRule::Kind::complex;
  if (found.common.signal_frame) return complex;
  const std::uintptr_t first = found.function.begin;
  FrameProgram program(module, found.common, pc);
  if (!program.run(found.common.program, found.common.program_end, first)) return complex;
  program.keep_initial();
  if (!program.run(found.program, found.program_end, first)) return complex;
  return rule_of(program.state);
}

std::optional<CodeRange> find_function(std::uintptr_t header, const ByteSpan& module,
                                       std::uintptr_t pc) {
  Description found;
  if (!find_description(header, module, pc, found)) return {};
  return found.function;
}

} // namespace omptier
