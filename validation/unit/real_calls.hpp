// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a test's stand-ins for calls of the operating system pass on to. Each test sets it.
#pragma once

#include "base/os.hpp"

inline const omptier::OsCalls* real = nullptr;
