// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line as data, and what is made of it: completion, man pages, topics; on a small
// command line of the test's own.
#include "cli/command.hpp"
#include "cli/command_tree.hpp"
#include "cli/completion.hpp"
#include "cli/help_topics.hpp"
#include "cli/man_page.hpp"
#include "cli/nearest.hpp"

#include <gtest/gtest.h>

namespace omptier {
namespace {

class CommandLine : public testing::Test {
protected:
  CommandLine() {
    app_.name("tool");
    CLI::App* go = app_.add_subcommand("go", "Start a program");
    go->add_option("-o,--output", text_, "Where to write; it's 'quoted'")->type_name("FILE");
    go->add_option("--events", text_, "What to count")
        ->check(CLI::IsMember({"all", "any", "none"}));
    go->add_option("--rate", number_, "How often")->check(CLI::Range(1, 99));
    CLI::Option* plan = go->add_option("--plan", text_, "By this")->type_name("FILE");
    go->add_option("--way", text_, "Or so")->type_name(choices("fast, slow"))->excludes(plan);
    go->add_option("--columns", text_, "Which")->type_name("COLUMN,...");
    go->add_option("--status", number_, "Now and then")->expected(0, 1);
    go->add_option("--keep", words_, "More than one");
    go->add_flag("-v,--verbose", flag_, "More lines");
    go->add_flag("--timed{100}", text_, "Slower");
    go->add_option("--secret", text_)->group("");
    go->add_option("command", words_, "Program")->required()->type_name("PROGRAM");
    go->positionals_at_end();
    CLI::App* look = app_.add_subcommand("look", "Show a file");
    look->add_option("name", text_, "Of what")->required();
    look->add_option("files", words_, "In these")->required()->type_name("FILE");
    app_.add_subcommand("tune", "Try")->add_option("file", text_)->type_name("FILE");
    app_.get_subcommand("tune")->add_option("command", words_)->type_name("PROGRAM");
    app_.add_subcommand("inner", "Not for people")->group("");
    root_ = describe_command(app_, [](std::string_view word) {
      return word == "COLUMN" ? std::vector<std::string>{"name", "near", "bytes"}
                              : std::vector<std::string>{};
    });
  }

  // What `omptier complete` prints for these words, without descriptions, in one line.
  std::string offers(const std::vector<std::string>& words) const {
    std::string text = text_of(complete(root_, words)), line;
    for (bool in_word = true; const char c : text) {
      if (c == '\t' || c == '\n') in_word = c == '\n';
      if (c == '\n')
        line += ' ';
      else if (in_word && c != '\t')
        line += c;
    }
    return line.empty() ? line : line.substr(0, line.size() - 1);
  }

  CLI::App app_{"A tool."};
  std::string text_;
  std::vector<std::string> words_;
  int number_ = 0;
  bool flag_ = false;
  CommandText root_;
};

TEST_F(CommandLine, IsReadFromTheParser) {
  const CommandText* go = find_command(root_, "go");
  ASSERT_NE(go, nullptr);
  EXPECT_TRUE(go->program_follows);
  EXPECT_EQ(find_command(root_, "inner"), nullptr);
  EXPECT_EQ(find_option(*go, "--secret"), nullptr);
  EXPECT_EQ(find_option(*go, "-o"), find_option(*go, "--output"));
  const OptionText* events = find_option(*go, "--events");
  ASSERT_NE(events, nullptr);
  EXPECT_EQ(events->value.word, "TEXT");
  EXPECT_EQ(events->value.choices, (std::vector<std::string>{"all", "any", "none"}));
  EXPECT_EQ(find_option(*go, "--rate")->value.range, "1 to 99");
  EXPECT_TRUE(find_option(*go, "--rate")->value_needed);
  EXPECT_FALSE(find_option(*go, "--status")->value_needed);
  EXPECT_TRUE(find_option(*go, "--status")->takes_value);
  EXPECT_FALSE(find_option(*go, "--verbose")->takes_value);
  EXPECT_FALSE(find_option(*go, "--timed")->takes_value);
  EXPECT_TRUE(find_option(*go, "--keep")->repeated);
  EXPECT_EQ(find_option(*go, "--way")->value.choices, (std::vector<std::string>{"fast", "slow"}));
  EXPECT_EQ(find_option(*go, "--way")->excludes, std::vector<std::string>{"--plan"});
}

TEST_F(CommandLine, CompletesCommandsAndOptions) {
  EXPECT_EQ(offers({""}), "go look tune");
  EXPECT_EQ(offers({"l"}), "look");
  EXPECT_EQ(offers({"nothing", ""}), "");
  EXPECT_EQ(offers({"go", "--ve"}), "--verbose");
  EXPECT_EQ(offers({"go", "-v", "--ve"}), "") << "it is there already";
  EXPECT_EQ(offers({"go", "--keep", "a", "--ke"}), "--keep") << "this may be repeated";
  EXPECT_EQ(offers({"go", "--plan", "p", "--w"}), "") << "one excludes the other";
  EXPECT_EQ(offers({"look", "--"}), "--help");
}

TEST_F(CommandLine, CompletesValues) {
  EXPECT_EQ(offers({"go", "--output", ""}), ":files");
  EXPECT_EQ(offers({"go", "-o", ""}), ":files");
  EXPECT_EQ(offers({"go", "--output=a"}), ":files");
  EXPECT_EQ(offers({"go", "--events", "a"}), "all any");
  EXPECT_EQ(offers({"go", "--events=n"}), "--events=none");
  EXPECT_EQ(offers({"go", "--columns", "bytes,n"}), "bytes,name bytes,near");
  EXPECT_EQ(offers({"go", "--rate", ""}), "") << "a number";
  EXPECT_EQ(offers({"go", "--status", "--ve"}), "--verbose") << "the value may be left out";
  EXPECT_EQ(offers({"go", "--rate", "--events", "--ve"}), "--verbose")
      << "its value, if a wrong one";
  EXPECT_EQ(offers({"look", "gr"}), "") << "a name";
  EXPECT_EQ(offers({"look", "grid", "a", "b"}), ":files");
}

TEST_F(CommandLine, LeavesProgramsToTheShell) {
  EXPECT_EQ(offers({"go", "./a"}), ":program 2");
  EXPECT_EQ(offers({"go", "--timed", "./a", "--ve"}), ":program 3") << "a flag takes no next word";
  EXPECT_EQ(offers({"go", "-o", "x", "--", "./a", "b"}), ":program 5");
  EXPECT_EQ(offers({"go", "--"}), offers({"go", "-"})) << "begun, not ended";
  EXPECT_EQ(offers({"tune", "x", "--", "./a", "--out"}), ":program 4");
}

TEST_F(CommandLine, BecomesManPages) {
  const auto pages = man_pages(root_, "9.8.7");
  ASSERT_EQ(pages.size(), 4u);
  EXPECT_EQ(pages[0].file, "tool.1");
  EXPECT_NE(pages[0].text.find("\\fBOMPTIER_CAPACITY\\fR"), std::string::npos);
  const std::string& go = pages[1].text;
  EXPECT_EQ(pages[1].file, "tool-go.1");
  EXPECT_NE(go.find("\\fB\\-o\\fR, \\fB\\-\\-output\\fR \\fIFILE\\fR\n"
                    "Where to write; it\\(aqs \\(aqquoted\\(aq."),
            std::string::npos)
      << go;
  EXPECT_NE(go.find("What to count.\nOne of: \\fBall\\fR, \\fBany\\fR, \\fBnone\\fR."),
            std::string::npos);
  EXPECT_NE(go.find("How often.\nFrom 1 to 99."), std::string::npos);
  EXPECT_NE(go.find("\\-\\- \\fIPROGRAM\\fR [\\fIARGUMENT\\fR]..."), std::string::npos);
  EXPECT_EQ(go.find("secret"), std::string::npos);
}

TEST(Nearest, AreTheLeastDifferent) {
  const std::vector<std::string> names = {"traits", "mpi", "plan-format", "run", "runs"};
  EXPECT_EQ(nearest_names("trait", names, 3), std::vector<std::string>{"traits"});
  EXPECT_EQ(nearest_names("rum", names, 3), (std::vector<std::string>{"run", "runs"}));
  EXPECT_EQ(nearest_names("plan", names, 1), std::vector<std::string>{"plan-format"});
  EXPECT_TRUE(nearest_names("x", {}, 3).empty());
}

TEST(HelpTopics, OnlyHeadingsAreBold) {
  EXPECT_EQ(with_bold_headings("# A\nb\n```sh\n# c\n```\n## D"),
            "\033[1m# A\033[0m\nb\n```sh\n# c\n```\n\033[1m## D\033[0m");
  EXPECT_EQ(with_bold_headings(""), "");
}

} // namespace
} // namespace omptier
