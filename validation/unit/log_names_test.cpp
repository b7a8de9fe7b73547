// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names behind a profile's own records: read back as they were, by another profile's numbers of
// modules too; all or none; nothing else of the profile changes.
#include "log/name_records.hpp"
#include "log_build.hpp"

#include <gtest/gtest.h>

using namespace omptier;

namespace {

const ModulePlace k_call = {"build-id:b", 0x1234}, k_static = {"build-id:b", 0x8000};

SourceLocation location(const std::string& function, std::uint32_t line) {
  return {function, "/src/app.f90", line, 7, "/src/app.f90", {1, 3}, line == 3};
}

ResolvedNames some_names() {
  ResolvedNames names;
  PortableFrame call = {"main", "malloc", 2, 5, "grid", "app.f90", 3};
  names.frames[k_call] = {true, call, {location("make(int)", 3), location("main", 90000)}, 0x4321};
  names.frames[{"build-id:a", 1}] = {}; // nothing is known, which is an answer too
  names.sites[{k_call, {"build-id:a", 1}}] = {{0, {"grid/data", 0, 1}}, {2, {}}};
  names.statics["build-id:a"] = {};
  names.statics["build-id:b"] = {{"grid_", 0x8000, 4096}, {"other_", 0x9000, 8192}};
  names.static_labels[{k_static, "grid_"}] = "/grid/ (app.f90:4)";
  names.sources["/src/app.f90"] = -1234567890123456789;
  return names;
}

void write_modules(LogWriter& writer, const std::vector<const char*>& identities) {
  std::uint32_t number = 0;
  for (const char* identity : identities) {
    ModuleText module;
    module.identity = identity;
    writer.module(number++, module);
  }
}

// A profile of these modules, with blocks for the names behind it.
std::string with_names(const ResolvedNames& names, const std::vector<const char*>& modules,
                       std::size_t* behind = nullptr) {
  StartedLog log;
  write_modules(*log.operator->(), modules);
  log->end();
  log->close();
  const Profile profile = read_back(log.file.path());
  EXPECT_FALSE(profile.names);
  if (behind != nullptr) *behind = profile.bytes;
  return log.file.bytes() + encode_names(names, profile);
}

} // namespace

TEST(LogNames, AreReadBack) {
  const ResolvedNames want = some_names();
  const auto profile = parse_profile(with_names(want, {"build-id:a", "build-id:b"}), "log");
  ASSERT_TRUE(profile) << profile.error();
  EXPECT_TRUE(profile->end && profile->cut.empty()) << profile->cut;
  ASSERT_TRUE(profile->names);
  const ResolvedNames& got = *profile->names;
  ASSERT_EQ(got.frames.size(), 2u);
  const ResolvedFrame &frame = got.frames.at(k_call), &wanted = want.frames.at(k_call);
  EXPECT_TRUE(frame.known);
  EXPECT_EQ(frame.portable.function, "main");
  EXPECT_EQ(frame.portable.callee, "malloc");
  EXPECT_EQ(frame.portable.ordinal, 2u);
  EXPECT_EQ(frame.portable.calls, 5u);
  EXPECT_EQ(frame.portable.variable, "grid");
  EXPECT_EQ(frame.portable.file, "app.f90");
  EXPECT_EQ(frame.portable.line, 3u);
  EXPECT_EQ(frame.locations, wanted.locations);
  EXPECT_EQ(frame.runs, 0x4321u);
  EXPECT_FALSE(got.frames.at({"build-id:a", 1}).known);
  const auto& site = got.sites.at({k_call, {"build-id:a", 1}});
  ASSERT_EQ(site.size(), 2u);
  EXPECT_EQ(site[0].name, (SiteName{"grid/data", 0, 1}));
  EXPECT_EQ(site[1].own, 2u);
  EXPECT_EQ(site[1].name, SiteName());
  EXPECT_TRUE(got.statics.at("build-id:a").empty());
  ASSERT_EQ(got.statics.at("build-id:b").size(), 2u);
  EXPECT_EQ(got.statics.at("build-id:b")[1].symbol, "other_");
  EXPECT_EQ(got.statics.at("build-id:b")[1].bytes, 8192u);
  EXPECT_EQ(got.static_labels, want.static_labels);
  EXPECT_EQ(got.sources, want.sources);
}

TEST(LogNames, OfModulesThatTheProfileLacksAreLeftOut) {
  const auto profile = parse_profile(with_names(some_names(), {"build-id:c", "build-id:b"}), "log");
  ASSERT_TRUE(profile) << profile.error();
  ASSERT_TRUE(profile->names);
  EXPECT_EQ(profile->names->frames.size(), 1u);
  EXPECT_TRUE(profile->names->frames.contains(k_call));
  EXPECT_TRUE(profile->names->sites.empty());
  EXPECT_EQ(profile->names->statics.size(), 1u);
}

TEST(LogNames, InManyBlocksAreAllOrNone) {
  ResolvedNames names = some_names();
  for (std::uint64_t i = 0; i < 5000; ++i) {
    PortableFrame call;
    call.function = "function_" + std::to_string(i) + std::string(40, 'x');
    names.frames[{"build-id:b", 0x10000 + i}] = {true, call, {location(call.function, 3)}, 0};
    names.statics["build-id:b"].push_back({"static_" + std::to_string(i), 0x100000 + i, 4096});
  }
  std::size_t behind = 0;
  const std::string bytes = with_names(names, {"build-id:a", "build-id:b"}, &behind);
  ASSERT_GT(bytes.size() - behind, 4u * k_largest_block);
  const auto whole = parse_profile(bytes, "log");
  ASSERT_TRUE(whole) << whole.error();
  ASSERT_TRUE(whole->names);
  EXPECT_EQ(whole->names->frames.size(), 5002u);
  EXPECT_EQ(whole->names->statics.at("build-id:b").size(), 5002u);
  EXPECT_EQ(whole->names->frames.at({"build-id:b", 0x10000 + 4999}).portable.function,
            "function_4999" + std::string(40, 'x'));
  for (std::size_t cut = behind; cut < bytes.size(); cut += 4099) {
    const auto part = parse_profile(bytes.substr(0, cut), "log");
    ASSERT_TRUE(part) << part.error();
    EXPECT_FALSE(part->names) << cut;
    EXPECT_TRUE(part->end) << cut;
  }
}

TEST(LogNames, LongerThanABlockAreNotWritten) {
  ResolvedNames names = some_names();
  names.frames[k_call].portable.function.assign(k_largest_block, 'x');
  StartedLog log;
  write_modules(*log.operator->(), {"build-id:a", "build-id:b"});
  log->end();
  log->close();
  EXPECT_EQ(encode_names(names, read_back(log.file.path())), "");
  names.frames[k_call].portable.function.assign(k_largest_block / 2, 'x');
  EXPECT_NE(encode_names(names, read_back(log.file.path())), "");
}
