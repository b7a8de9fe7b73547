// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loops around an instruction, in code alone. Compilers put cold code behind a function's end
// or above a loop, so a backward jump that spans an instruction need not repeat it.
#pragma once

#include "emulation/decode.hpp"

#include <cstdint>
#include <vector>

namespace omptier {

bool holds(const Loop& loop, int instruction); // by extent

// By extent; the instruction may lie in cold code there.
const Loop* innermost_loop(const Function& function, int instruction);
// The smallest loop that holds it and more; null: there is none.
const Loop* loop_around(const Function& function, const Loop& inner);

// By instruction: whether `to` can run after it, and whether it can run after `from`. An
// instruction is among its own. Valid until the function is asked for many others.
const std::vector<bool>& leading_to(const Function& function, std::uint32_t to);
const std::vector<bool>& reached_from(const Function& function, std::uint32_t from);

// The innermost loop that repeats the instruction, and the next larger one; null: none does.
const Loop* loop_repeating(const Function& function, int instruction);
const Loop* loop_repeating_around(const Function& function, const Loop& inner, int instruction);
// The largest of these, from `inner` on, that calls nothing: no thread waits for another there.
const Loop& nest_around(const Function& function, const Loop& inner, int instruction);

} // namespace omptier
