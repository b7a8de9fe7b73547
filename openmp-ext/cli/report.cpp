// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// omptier report: prints profiles as text with bars, as CSV, JSON, collapsed stacks or trace events,
// or writes a page with pictures. For a profile that cannot be read it prints one line with file and
// place (status 2); a truncated one is read up to the cut, with a note.
#include "cli/access_lines.hpp"
#include "cli/code_text.hpp"
#include "cli/command.hpp"
#include "cli/flame_text.hpp"
#include "cli/held_names.hpp"
#include "cli/html_page.hpp"
#include "cli/region_view.hpp"
#include "cli/report_html.hpp"
#include "cli/report_options.hpp"
#include "cli/report_text.hpp"
#include "cli/trace_text.hpp"

#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

namespace omptier {
namespace {

struct ReportArguments {
  std::vector<std::string> profiles;
  bool json = false, csv = false, trace = false, force = false, resolve = false;
  std::string object, file, flame, page; // "": not asked for
  std::string pictures;                  // folder with the page's parts
  TextArguments text;
};

Parsed<std::string> text_of_object(const ProfileSummary& summary, const ProfileNames& names,
                                   const ReportArguments& arguments, ProfileTextOptions options,
                                   Symbols& symbols) {
  options.filter = arguments.object;
  const std::string lines =
      who_accesses_text(summary, names, access_lines(summary, symbols), options);
  if (lines.empty())
    return Parsed<std::string>::failure("--object: no object's name has " + arguments.object +
                                        "; omptier report without it lists them");
  return objects_report(summary, names, options) + lines;
}

Parsed<std::string> text_of(ProfileSummary& summary, const ReportArguments& arguments,
                            const ProfileTextOptions& options, Symbols& symbols) {
  ProfileNames names = names_of(summary, symbols);
  if (!arguments.page.empty())
    return report_page(profile_json(summary, names, symbols, Details::of_pictures),
                       arguments.pictures);
  if (arguments.json)
    return profile_json(summary, names, symbols)
               .dump(2, ' ', false, nlohmann::json::error_handler_t::replace) +
           "\n";
  if (!arguments.flame.empty()) {
    if (const auto by = flame_by(arguments.flame)) return flame_text(summary, names, symbols, *by);
    return Parsed<std::string>::failure("--flame: there are no stacks by " +
                                        in_quotes(arguments.flame) +
                                        "; there are: " + std::string(k_flame_names));
  }
  if (arguments.trace) return trace_text(summary, names);
  if (!options.region.empty() && !keep_regions(summary, names, options.region))
    return Parsed<std::string>::failure("--region: no region's name has " + options.region +
                                        "; omptier report without it lists them");
  if (arguments.csv) return profile_csv(summary, names, options);
  if (!arguments.file.empty())
    return annotated_text(summary, names, access_lines(summary, symbols), arguments.file, options);
  if (!arguments.object.empty())
    return text_of_object(summary, names, arguments, options, symbols);
  std::string text = profile_text(summary, names, options);
  if (summary.regions.size() == 1)
    text += code_text(summary, functions_of(summary, symbols), options);
  return text;
}

int report(const ReportArguments& arguments) {
  if (!arguments.page.empty())
    if (const std::string problem = problem_with_page(arguments.page, arguments.profiles);
        !problem.empty())
      return fail("report", 2, "--html: " + problem);
  const Parsed<ProfileTextOptions> options = text_options(arguments.text);
  if (!options) return fail("report", 2, options.error());
  if (arguments.trace && arguments.profiles.size() > 1)
    return fail("report", 2, "--trace: a trace is of one process: give one profile");
  Symbols symbols;
  Parsed<ProfileSummary> summary =
      summarize_with_names(symbols, arguments.profiles,
                           arguments.force ? Programs::any : Programs::one, arguments.resolve);
  if (!summary) return fail("report", 2, summary.error());
  const Parsed<std::string> text = text_of(*summary, arguments, *options, symbols);
  if (!text) return fail("report", 2, text.error());
  for (const std::string& note : summary->notes)
    std::fprintf(stderr, "omptier report: %s\n", note.c_str());
  for (const std::string& problem : symbols.problems())
    std::fprintf(stderr, "omptier report: %s\n", problem.c_str());
  if (!arguments.page.empty()) return write_page("report", arguments.page, *text);
  if (std::fputs(text->c_str(), stdout) < 0 || std::fflush(stdout) != 0)
    return fail("report", 125, "standard output cannot be written");
  return 0;
}

} // namespace

void add_report(CLI::App& app, CommandContext& context) {
  auto* command = app.add_subcommand("report", "Show what profiles hold");
  auto arguments = std::make_shared<ReportArguments>();
  command->add_option("profiles", arguments->profiles, "Profiles written by omptier record")
      ->type_name("FILE")
      ->required();
  auto* json = command->add_flag("--json", arguments->json, "JSON instead of text");
  auto* csv = command->add_flag("--csv", arguments->csv,
                                "A line of comma-separated values for each object");
  auto* region = command->add_option("--region", arguments->text.options.region,
                                     "Only parallel regions with TEXT in their names");
  auto* object = command->add_option("--object", arguments->object,
                                     "Objects with TEXT in their names, and who accesses them");
  auto* file = command->add_option("--annotate", arguments->file,
                                   "The lines of a source file that access objects");
  auto* page = command->add_option("--html", arguments->page,
                                   "Pictures: writes a page that a browser shows, without network");
  auto* flame = command->add_flag("--flame{objects}", arguments->flame,
                                  "Collapsed stacks for flame graphs: calls that lead to objects; "
                                  "--flame=code, --flame=regions: by accessing code, by region");
  auto* trace = command->add_flag("--trace", arguments->trace,
                                  "Trace events (JSON) for Perfetto and Chrome: the run in time");
  csv->excludes(json);
  for (CLI::Option* option : {json, csv, region, object, file, page})
    for (CLI::Option* other : {flame, trace})
      option->excludes(other);
  flame->excludes(trace);
  region->type_name("TEXT")->excludes(json);
  object->type_name("TEXT")->excludes(json)->excludes(csv)->excludes(region);
  file->type_name("FILE")->excludes(json)->excludes(csv)->excludes(region)->excludes(object);
  page->type_name("FILE")->excludes(json)->excludes(csv)->excludes(region);
  page->excludes(object)->excludes(file);
  arguments->pictures = pictures_folder(context.self);
  command->add_flag("--force", arguments->force, "Join profiles of different programs");
  command->add_flag("--resolve", arguments->resolve, k_resolve_help);
  add_text_options(*command, arguments->text);
  command->callback([&context, arguments] { context.status = report(*arguments); });
}

} // namespace omptier
