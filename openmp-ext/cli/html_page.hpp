// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pages that a browser shows: our scripts, the drawing library (pictures/) and a command's numbers,
// in one file that needs no network.
#pragma once

#include "base/text.hpp"

#include <span>
#include <string>

namespace omptier {

// Of the program `self` with its folder, where the pages' parts are.
std::string pictures_folder(const std::string& self);

// As a script's text: "<" could end the script.
std::string in_script(const std::string& json);

// The page of `omptier COMMAND --html`. scripts: files of the folder that draw, in their order.
// numbers: in_script().
Parsed<std::string> filled_page(const std::string& command, std::span<const char* const> scripts,
                                const std::string& numbers, const std::string& folder);

// Why the page cannot be written to this file, in one line; "" if it can. Only a page of ours is
// written over: `--html a.profile b.profile` names a recording.
std::string problem_with_page(const std::string& file, std::span<const std::string> profiles);

// The exit status. Says what was written.
int write_page(const char* command, const std::string& file, const std::string& page);

} // namespace omptier
