// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The plan's format: what is written is read back, what a person may write is understood, and every
// refusal is one line that names the file's line and what would be right.
#include "plan/plan.hpp"

#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace omptier {
namespace {

Plan example() {
  Plan plan;
  plan.made_by = "omptier 0.1.0";
  plan.program = "solver";
  plan.platform_fingerprint = "dram:1x64GiB,105/105GB/s,95/95ns";
  plan.capacity[1] = 17179869184u;
  plan.modules = {{"build-id:3f1c9a", "solver"}, {"segments:00ff", "libmesh.so"}};
  plan.recorded_seconds = 12.5;
  plan.predicted_seconds = 8;
  PlanEntry entry;
  entry.label = "matrix \"values\" (matrix.cpp:41)";
  entry.kinds = {MemoryKind::hbm, MemoryKind::dram};
  entry.bytes = 805306368;
  entry.benefit = 2.1e9;
  entry.reason = "61 % of the time, streamed: twice as fast";
  entry.instances = {{0, 3}, {7, 7}};
  entry.frames = {
      {0, 4660, {"make_matrix(int, double)", "omp_alloc", 2, 4, "values", "matrix.cpp", 41}},
      {1, 77, {}}};
  entry.region = {{0, 9032, {"solve", "", 7, 0, "", "", 0}}};
  plan.entries = {entry, {"", {{1, 12, {}}}, {}, {}, {MemoryKind::nvm}, 0, 0, ""}};
  plan.rest = {MemoryKind::dram, MemoryKind::cxl};
  return plan;
}

std::string error_of(std::string_view json) {
  const auto plan = parse_plan(json, "p.json");
  return plan ? "(no error)" : plan.error();
}

// A plan of one entry with the text put in, on line 4.
std::string with_entry(const std::string& fields) {
  return "{\"version\": 1,\n\"modules\": [{\"identity\": \"build-id:1\"}],\n\"entries\": [\n{" +
         fields + "}]}";
}
const std::string k_good_frames = R"("frames": [{"module": 0, "offset": 16}])";

TEST(Plan, StaticIsReadAndWritten) {
  const auto plan =
      parse_plan(with_entry(R"("kinds": ["nvm"], "static": {"module": 0, "symbol": "blk_"})"), "p");
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_EQ(plan->entries[0].symbol, "blk_");
  EXPECT_EQ(plan->entries[0].symbol_module, 0u);
  EXPECT_TRUE(plan->entries[0].frames.empty());
  const std::string text = write_plan(*plan);
  EXPECT_NE(text.find(R"("static": {"module": 0, "symbol": "blk_"})"), std::string::npos) << text;
  const auto again = parse_plan(text, "p");
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(write_plan(*again), text);
}

TEST(Plan, RoundTripKeepsEverything) {
  const std::string text = write_plan(example());
  const auto read = parse_plan(text, "p.json");
  ASSERT_TRUE(read) << read.error() << "\n" << text;
  EXPECT_EQ(write_plan(*read), text);
  EXPECT_EQ(read->recorded_seconds, 12.5);
  EXPECT_EQ(read->predicted_seconds, 8);
  ASSERT_EQ(read->entries.size(), 2u);
  const PlanEntry& entry = read->entries[0];
  EXPECT_EQ(entry.label, "matrix \"values\" (matrix.cpp:41)");
  EXPECT_EQ(entry.kinds, (std::vector{MemoryKind::hbm, MemoryKind::dram}));
  EXPECT_EQ(entry.bytes, 805306368u);
  EXPECT_DOUBLE_EQ(entry.benefit, 2.1e9);
  EXPECT_EQ(entry.reason, "61 % of the time, streamed: twice as fast");
  ASSERT_EQ(entry.instances.size(), 2u);
  EXPECT_EQ(entry.instances[0].last, 3u);
  EXPECT_EQ(entry.instances[1].first, 7u);
  ASSERT_EQ(entry.frames.size(), 2u);
  EXPECT_EQ(entry.frames[0].portable.function, "make_matrix(int, double)");
  EXPECT_EQ(entry.frames[0].portable.callee, "omp_alloc");
  EXPECT_EQ(entry.frames[0].portable.ordinal, 2u);
  EXPECT_EQ(entry.frames[0].portable.calls, 4u);
  EXPECT_EQ(entry.frames[0].portable.variable, "values");
  EXPECT_EQ(entry.frames[0].portable.line, 41u);
  EXPECT_EQ(entry.frames[1].module, 1u);
  EXPECT_EQ(entry.frames[1].offset, 77u);
  ASSERT_EQ(entry.region.size(), 1u);
  EXPECT_EQ(entry.region[0].portable.ordinal, 7u);
  EXPECT_EQ(read->capacity[1], 17179869184u);
  EXPECT_FALSE(read->capacity[0]);
  EXPECT_EQ(read->rest, (std::vector{MemoryKind::dram, MemoryKind::cxl}));
  EXPECT_EQ(read->modules[1].name, "libmesh.so");
}

TEST(Plan, FrameIsOneLineForPeople) {
  EXPECT_NE(write_plan(example()).find(
                "\n        {\"module\": 0, \"offset\": 4660, \"function\": \"make_matrix(int, "
                "double)\", \"callee\": \"omp_alloc\", \"ordinal\": 2, \"of\": 4, \"variable\": "
                "\"values\", \"file\": \"matrix.cpp\", \"line\": 41},\n"),
            std::string::npos);
}

TEST(Plan, BytesThatAreNoUtf8AreReplacedWhenWritten) {
  Plan plan = example();
  plan.entries[0].frames[0].portable.file = "caf\xe9.c";
  const auto read = parse_plan(write_plan(plan), "p.json");
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(read->entries[0].frames[0].portable.file, "caf\xef\xbf\xbd.c");
}

TEST(Plan, PeopleMayWriteSizesHexadecimalAndComments) {
  const auto plan = parse_plan(R"(// by hand
    {"entries": [{"frames": [{"offset": "0x1a2b", "module": 0}], "kinds": ["HBM"], "bytes": "64M",
                  "benefit_ns": 12}],
     "capacity": {"hbm": "1.5G", "dram": 7}, /* after use */ "modules": [{"identity": "build-id:1"}],
     "version": 1})",
                               "p.json");
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_EQ(plan->entries[0].frames[0].offset, 0x1a2bu);
  EXPECT_EQ(plan->entries[0].bytes, 64u << 20);
  EXPECT_EQ(plan->entries[0].benefit, 12);
  EXPECT_EQ(plan->capacity[1], 3u << 29);
  EXPECT_EQ(plan->capacity[0], 7u);
  EXPECT_TRUE(plan->rest.empty());
}

TEST(Plan, LargestNumbersFit) {
  const auto plan = parse_plan(
      with_entry(R"("kinds": ["nvm"], "bytes": 18446744073709551615, "instances": [[0, 4294967295]],
                    "frames": [{"module": 0, "offset": "0xffffffffffffffff"}])"),
      "p.json");
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_EQ(plan->entries[0].bytes, ~0ull);
  EXPECT_EQ(plan->entries[0].frames[0].offset, ~0ull);
  EXPECT_EQ(plan->entries[0].instances[0].last, ~0u);
}

TEST(Plan, PartsAreReadInTheirOrderAndWrittenBack) {
  const auto plan = parse_plan(
      with_entry(R"("kinds": ["nvm"], "parts": [{"begin": "64M", "bytes": "32M", "kind": "hbm"},
                    {"end": 4096, "kind": "DRAM", "begin": 0}], )" +
                 k_good_frames),
      "p.json");
  ASSERT_TRUE(plan) << plan.error();
  const auto& parts = plan->entries[0].parts;
  ASSERT_EQ(parts.size(), 2u);
  EXPECT_EQ(parts[0].begin, 64u << 20);
  EXPECT_EQ(parts[0].end, 96u << 20);
  EXPECT_EQ(parts[0].kind, MemoryKind::hbm);
  EXPECT_EQ(parts[1].end, 4096u);
  EXPECT_EQ(plan->entries[0].bytes, 0u) << "\"bytes\" of a part is no entry's";
  const auto again = parse_plan(write_plan(*plan), "p.json");
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(write_plan(*again), write_plan(*plan));
  EXPECT_EQ(again->entries[0].parts[1].kind, MemoryKind::dram);
}

TEST(Plan, SmallBlocksArePlacedWhereAnEntrySaysSo) {
  const auto plan = parse_plan(
      with_entry(R"("kinds": ["hbm"], "least_block": "1K", )" + k_good_frames), "p.json");
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_EQ(plan->entries[0].least_block, 1024u);
  const auto again = parse_plan(write_plan(*plan), "p.json");
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(again->entries[0].least_block, 1024u);
  const auto usual = parse_plan(with_entry(R"("kinds": ["hbm"], )" + k_good_frames), "p.json");
  ASSERT_TRUE(usual);
  EXPECT_EQ(usual->entries[0].least_block, 65536u);
  EXPECT_EQ(write_plan(*usual).find("least_block"), std::string::npos);
}

TEST(Plan, SmallBlocksAreDividedByAShare) {
  const std::string fields = R"("kinds": ["hbm", "dram"], "least_block": 1, "share": )";
  const auto plan = parse_plan(with_entry(fields + "0.375, " + k_good_frames), "p.json");
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_EQ(plan->entries[0].share, 0.375);
  const auto again = parse_plan(write_plan(*plan), "p.json");
  ASSERT_TRUE(again) << again.error();
  EXPECT_EQ(again->entries[0].share, 0.375);
  const auto whole = parse_plan(with_entry(fields + "1, " + k_good_frames), "p.json");
  ASSERT_TRUE(whole) << whole.error();
  EXPECT_EQ(write_plan(*whole).find("share"), std::string::npos);
}

struct Refusal {
  const char* json;
  const char* line;
};
class PlanRefusal : public testing::TestWithParam<Refusal> {};

TEST_P(PlanRefusal, IsOneLine) {
  EXPECT_EQ(error_of(GetParam().json), GetParam().line);
}

INSTANTIATE_TEST_SUITE_P(
    Document, PlanRefusal,
    testing::Values(
        Refusal{"[]", "p.json:1: a plan is an object {...}, not an array [...]"},
        Refusal{"7", "p.json:1: a plan is an object {...}, not 7"},
        Refusal{"null", "p.json:1: a plan is an object {...}, not null"},
        Refusal{"{}", "p.json:1: a plan beginning here has no \"version\""},
        Refusal{"{\"version\": 1,\n\"modules\": []\n}",
                "p.json:1: a plan beginning here has no \"entries\""},
        Refusal{"{\n\"version\": 2\n", "p.json:2: version 2 of the plan format; this omptier reads "
                                       "version 1 (make the plan again with 'omptier advise')"},
        Refusal{"{\n\n\"version\": \"1\"}",
                "p.json:3: \"version\" must be a whole number from 0 to "
                "4294967295, not the text \"1\""},
        Refusal{
            "{\"version\": 1,\n\"verzion\": 2}",
            "p.json:2: a plan has no field \"verzion\"; it may have: version, made_by, program, "
            "platform, capacity, estimated, recorded_seconds, predicted_seconds, modules, "
            "entries, rest"},
        Refusal{"{\"version\": 1,\n\"predicted_seconds\": -1.5}",
                "p.json:2: \"predicted_seconds\" is -1.5; no run takes less than 0"},
        Refusal{"{\"version\": 1,\n\"version\": 1}",
                "p.json:2: \"version\" is there twice in a plan"},
        Refusal{"{\"modules\": {}}",
                "p.json:1: \"modules\" must be an array [...], not an object {...}"},
        Refusal{"{\"modules\": [\n3]}", "p.json:2: \"modules\" holds objects {...}, not 3"},
        Refusal{"{\"modules\": [\n[]]}",
                "p.json:2: \"modules\" holds objects {...}, not an array [...]"},
        Refusal{"{\"modules\": [{\"name\": \"a\"}]}",
                "p.json:1: a module beginning here has no \"identity\""},
        Refusal{"{\"modules\": [{\"identity\": \"\"}]}",
                "p.json:1: \"identity\" is empty; it is what a module is recognised by"},
        Refusal{"{\"capacity\": {\"ram\": 1}}",
                "p.json:1: \"capacity\" has no field \"ram\"; it may have: dram, hbm, nvm, cxl"},
        Refusal{"{\"capacity\": {\"hbm\": \"64Q\"}}",
                "p.json:1: \"hbm\": \"64Q\" is not a size (such as 64M; K, M, G, T)"},
        Refusal{"{\"capacity\": {\"hbm\": \"6\\n4\"}}",
                "p.json:1: \"hbm\": \"6 4\" is not a size (such as 64M; K, M, G, T)"},
        Refusal{"{\"capacity\": {\"hbm\": -1}}",
                "p.json:1: \"hbm\" must be bytes (a whole number, or a text such as \"64M\"), not "
                "-1"},
        Refusal{"{\"rest\": [\"dram\",\n\"optane\"]}",
                "p.json:2: \"optane\" is no memory kind; the kinds are dram, hbm, nvm, cxl"},
        Refusal{"{\"rest\": [\"unknown\"]}",
                "p.json:1: \"unknown\" is no memory kind; the kinds are dram, hbm, nvm, cxl"},
        Refusal{"{\"program\": \"a\\u0000b\"}",
                "p.json:1: \"program\" holds a character with code 0"}));

struct EntryRefusal {
  std::string fields;
  std::string line;
};
class PlanEntryRefusal : public testing::TestWithParam<EntryRefusal> {};

TEST_P(PlanEntryRefusal, IsOneLine) {
  EXPECT_EQ(error_of(with_entry(GetParam().fields)), "p.json:" + GetParam().line);
}

INSTANTIATE_TEST_SUITE_P(
    Entry, PlanEntryRefusal,
    testing::Values(
        EntryRefusal{k_good_frames, "4: an entry beginning here has no \"kinds\""},
        EntryRefusal{R"("kinds": ["hbm"])", "4: an entry beginning here has neither \"frames\" nor "
                                            "\"static\""},
        EntryRefusal{R"("kinds": ["hbm"], "static": {"module": 0, "symbol": "x"}, )" +
                         k_good_frames,
                     "4: an entry has either \"frames\" or \"static\""},
        EntryRefusal{R"("kinds": ["hbm"], "static": {"module": 0, "symbol": ""})",
                     "4: \"symbol\" is empty; it is the static's name for the linker"},
        EntryRefusal{R"("kinds": ["hbm"], "static": {"symbol": "x"})",
                     "4: a static beginning here has no \"module\""},
        EntryRefusal{
            R"("kinds": ["hbm"], "instances": [[0, 1]], "static": {"module": 0, )"
            R"("symbol": "x"})",
            "4: a static has no \"instances\" and is placed for the whole program, not for "
            "a \"region\""},
        EntryRefusal{R"("kinds": ["hbm"], "least_block": 0, )" + k_good_frames,
                     "4: \"least_block\" is 0; it is from 1 to 65536 bytes (as without it)"},
        EntryRefusal{R"("kinds": ["hbm"], "least_block": "65K", )" + k_good_frames,
                     "4: \"least_block\" is 66560; it is from 1 to 65536 bytes (as without it)"},
        EntryRefusal{R"("kinds": ["hbm"], "share": 0, )" + k_good_frames,
                     "4: \"share\" is 0; it is more than 0, and 1 for all small blocks (as without "
                     "it)"},
        EntryRefusal{R"("kinds": ["hbm"], "share": 1.5, )" + k_good_frames,
                     "4: \"share\" is 1.5; it is more than 0, and 1 for all small blocks (as "
                     "without it)"},
        EntryRefusal{R"("kinds": ["hbm"], "least_block": 1, "share": 0.5, )" + k_good_frames,
                     "4: \"share\" is of small blocks, between two kinds: it needs "
                     "\"least_block\" and a second kind in \"kinds\""},
        EntryRefusal{R"("kinds": ["hbm", "dram"], "share": 0.5, )" + k_good_frames,
                     "4: \"share\" is of small blocks, between two kinds: it needs "
                     "\"least_block\" and a second kind in \"kinds\""},
        EntryRefusal{R"("kinds": [], )" + k_good_frames,
                     "4: \"kinds\" is empty; name the wanted memory kind, then what to take when "
                     "it is full"},
        EntryRefusal{"\n\"kinds\": [\"hbm\",\n\"hbm\"]", "6: \"hbm\" is there twice in \"kinds\""},
        EntryRefusal{R"("kinds": "hbm")", "4: \"kinds\" must be an array [...], not the text "
                                          "\"hbm\""},
        EntryRefusal{R"("kinds": [1])", "4: \"kinds\" holds memory kinds (\"dram\", \"hbm\", "
                                        "\"nvm\" or \"cxl\"), not 1"},
        EntryRefusal{R"("kinds": [["hbm"]])", "4: \"kinds\" holds memory kinds (\"dram\", \"hbm\", "
                                              "\"nvm\" or \"cxl\"), not an array [...]"},
        EntryRefusal{R"("frames": [])", "4: \"frames\" is empty; an entry needs at least the "
                                        "caller's frame"},
        EntryRefusal{"\n\"frames\": [{\"module\": 0}]", "5: a frame beginning here has no "
                                                        "\"offset\""},
        EntryRefusal{R"("frames": [{"module": 4294967296, "offset": 1}])",
                     "4: \"module\" must be a whole number from 0 to 4294967295, not 4294967296"},
        EntryRefusal{R"("kinds": ["hbm"], "frames": [{"module": 0, "offset": 1},)"
                     "\n"
                     R"({"module": 1,)"
                     "\n"
                     R"("offset": 1}])",
                     "5: frame names module 1, but there are only 1 (numbered from 0) under "
                     "\"modules\""},
        EntryRefusal{R"("frames": [{"module": 0, "offset": "12"}])",
                     "4: \"offset\" must be a whole number or a text such as \"0x1a2b\", not the "
                     "text \"12\""},
        EntryRefusal{R"("frames": [{"module": 0, "offset": "0x10000000000000000"}])",
                     "4: \"offset\" must be a whole number or a text such as \"0x1a2b\", not the "
                     "text \"0x10000000000000000\""},
        EntryRefusal{"\"instances\": [[0, 1],\n[5, 4]]", "5: range [5, 4] ends before it begins"},
        EntryRefusal{R"("instances": [[0]])", "4: a range of instances is [first, last]"},
        EntryRefusal{R"("instances": [[0, 1, 2]])", "4: a range of instances is [first, last]"},
        EntryRefusal{R"("instances": [0, 1])", "4: \"instances\" holds ranges [first, last], not "
                                               "0"},
        EntryRefusal{R"("instances": [[0, 1.5]])", "4: a range of instances holds a whole number "
                                                   "from 0 to 4294967295, not 1.5"},
        EntryRefusal{R"("bytes": 1.5)", "4: \"bytes\" must be bytes (a whole number, or a text "
                                        "such as \"64M\"), not 1.5"},
        EntryRefusal{R"("benefit_ns": true)", "4: \"benefit_ns\" must be a number, not true or "
                                              "false"},
        EntryRefusal{R"("parts": {})", "4: \"parts\" must be an array [...], not an object {...}"},
        EntryRefusal{R"("parts": [1])", "4: \"parts\" holds objects {...}, not 1"},
        EntryRefusal{R"("parts": [{"begin": 0, "kind": "hbm"}])",
                     "4: a part has either \"end\" or \"bytes\", in bytes of the object"},
        EntryRefusal{R"("parts": [{"begin": 0, "end": 9, "bytes": 9, "kind": "hbm"}])",
                     "4: a part has either \"end\" or \"bytes\", in bytes of the object"},
        EntryRefusal{R"("parts": [{"end": 9, "kind": "hbm"}])",
                     "4: a part beginning here has no \"begin\""},
        EntryRefusal{"\"parts\": [{\"begin\": 0, \"end\": 9, \"kind\":\n\"gold\"}]",
                     "5: \"gold\" is no memory kind; the kinds are dram, hbm, nvm, cxl"},
        EntryRefusal{R"("parts": [{"begin": 9, "end": 9, "kind": "hbm"}])",
                     "4: part [9, 9) holds no byte"},
        EntryRefusal{
            R"("parts": [{"begin": -1, "end": 9, "kind": "hbm"}])",
            "4: \"begin\" must be bytes (a whole number, or a text such as \"64M\"), not -1"},
        EntryRefusal{R"("parts": [{"begin": 9, "bytes": 18446744073709551615, "kind": "hbm"}])",
                     "4: a part that ends beyond any memory"},
        EntryRefusal{"\"parts\": [{\"begin\": \"1M\", \"bytes\": \"2M\", \"kind\": \"hbm\"},\n"
                     "{\"begin\": \"2M\", \"end\": \"8M\", \"kind\": \"nvm\"}]",
                     "5: part [2097152, 8388608) overlaps part [1048576, 3145728)"},
        EntryRefusal{R"("label": 3)", "4: \"label\" must be a text, not the number 3"},
        EntryRefusal{R"("label": null)", "4: \"label\" must be a text, not null"}));

TEST(Plan, NotJsonNamesLineAndWhatIsWrong) {
  const std::string error = error_of("{\"version\": 1,\n\"modules\": [}\n");
  EXPECT_TRUE(error.starts_with("p.json:2: not JSON: syntax error")) << error;
  const std::string profile = ::testing::TempDir() + "a.profile";
  std::ofstream(profile) << "OMPTIERp and so on";
  EXPECT_TRUE(read_plan(profile).error().ends_with("omptier advise " + profile + " -o PLAN"));
  EXPECT_EQ(error.find('\n'), std::string::npos);
}

TEST(Plan, LastNumberOnItsLineIsThatLine) {
  EXPECT_TRUE(error_of("{\"modules\": [\n1\n]}").starts_with("p.json:2:"));
  EXPECT_TRUE(error_of("{\"version\":\n3\n}").starts_with("p.json:2:"));
}

TEST(Plan, FileIsReadWhole) {
  const std::string path = testing::TempDir() + "plan_test.json";
  Plan plan = example();
  plan.entries.resize(1);
  for (int i = 0; i < 2000; ++i) // several read(2) pieces
    plan.entries.push_back(plan.entries[0]);
  std::ofstream(path) << write_plan(plan);
  const auto read = read_plan(path);
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(write_plan(*read), write_plan(plan));
}

// A plan of format 1 as it was when that version was made: must stay readable.
TEST(Plan, VersionOneStaysReadable) {
  const auto plan = read_plan(OMPTIER_FIXTURES "/plans/version-1.json");
  ASSERT_TRUE(plan) << plan.error();
  ASSERT_EQ(plan->entries.size(), 1u);
  EXPECT_EQ(plan->entries[0].region[0].offset, 9032u);
  EXPECT_EQ(plan->rest, std::vector{MemoryKind::dram});
}

TEST(Plan, AbsentFileAndFolderAreOneLine) {
  EXPECT_EQ(read_plan("/nonexistent/plan.json").error(),
            "/nonexistent/plan.json:1: cannot be read: No such file or directory");
  EXPECT_EQ(read_plan("/").error(), "/:1: cannot be read: Is a directory");
}

TEST(Plan, DocumentedExampleIsAPlan) {
  std::ifstream page(OMPTIER_FIXTURES "/../../docs/plan-format.md");
  std::stringstream text;
  text << page.rdbuf();
  const std::string all = text.str();
  const auto begin = all.find("```json\n");
  ASSERT_NE(begin, std::string::npos);
  const std::string json = all.substr(begin + 8, all.find("```", begin + 8) - begin - 8);
  const auto plan = parse_plan(json, "docs/plan-format.md");
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_EQ(plan->entries[0].instances[0].last, 3u);
}

} // namespace
} // namespace omptier
