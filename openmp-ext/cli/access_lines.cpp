// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// See access_lines.hpp. Whether a line loads or stores is decided from the instructions: samples of
// time would give a false share of stores, because stores hardly ever wait.
#include "cli/access_lines.hpp"

#include "analysis/shares.hpp"
#include "cli/share_cells.hpp"
#include "symbols/code_line.hpp"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

namespace omptier {
namespace {

constexpr std::size_t k_most_lines = 12, k_most_lines_in_json = 64; // of an object
constexpr std::size_t k_most_names = 3;                       // of objects on one line
constexpr std::uint32_t k_around = 3;                         // lines shown beside one
constexpr double k_least_line = 0.0005;                       // share of a line, to be shown

std::string file_name(const std::string& file) {
  return std::filesystem::path(file).filename().string();
}

std::string words(bool loads, bool stores) {
  return loads && stores ? "loads, stores" : loads ? "loads" : stores ? "stores" : "-";
}

AccessLine line_of(const CodeSummary& code, const ProfileSummary& summary, Symbols& symbols) {
  const ModuleInfo& module = summary.modules[code.at.module];
  const SourceLocation at = own_line(symbols.resolve(module, code.at.offset));
  AccessLine line;
  line.function = at.function.empty() ? module.name : short_function(at.function);
  line.file = at.file;
  line.line = at.line;
  line.changed = !symbols.is_as_compiled(at);
  return line;
}

void add_to(AccessLine& line, const CodeSummary& code) {
  line.samples += code.samples;
  line.weight += code.weight;
  for (const CodeAtSite& part : code.by_site) {
    line.loads = line.loads || part.loads;
    line.stores = line.stores || part.stores;
    auto same = std::ranges::find(line.sites, part.site, &CodeAtSite::site);
    if (same == line.sites.end()) {
      line.sites.push_back(part);
      continue;
    }
    same->samples += part.samples;
    same->weight += part.weight;
    same->loads = same->loads || part.loads;
    same->stores = same->stores || part.stores;
  }
}

struct LineAtSite {
  const AccessLine* line;
  const CodeAtSite* part;
};

struct LinesOfSite {
  std::vector<LineAtSite> lines; // most samples first
  std::uint64_t samples = 0;
  double weight = 0;

  Share share(const ProfileSummary& summary, const LineAtSite& at) const {
    return share_of_samples(summary, at.part->weight, weight, samples);
  }
};

LinesOfSite lines_of_site(const std::vector<AccessLine>& lines, std::size_t site) {
  LinesOfSite all;
  for (const AccessLine& line : lines)
    for (const CodeAtSite& part : line.sites) {
      if (part.site != site) continue;
      all.lines.push_back({&line, &part});
      all.samples += part.samples;
      all.weight += part.weight;
    }
  std::ranges::stable_sort(all.lines, std::greater{},
                           [](const LineAtSite& at) { return at.part->weight; });
  return all;
}

std::string table_of_site(const ProfileSummary& summary, const std::string& name,
                          const LinesOfSite& of, const ProfileTextOptions& options) {
  std::vector<TableColumn> columns = share_columns(summary, "who accesses " + name);
  columns.push_back({"samples", TableColumn::Align::right, 2});
  columns.push_back({"what it does", TableColumn::Align::left, 1});
  std::vector<TableRow> rows;
  for (std::size_t i = 0; i < std::min(of.lines.size(), k_most_lines); ++i) {
    const LineAtSite& at = of.lines[i];
    const Share share = of.share(summary, at);
    if (share.value < options.minimum.value_or(0)) break;
    TableRow& row = rows.emplace_back(share_cells(summary, at.line->name(), share, options.look()));
    row.push_back(with_separators(at.part->samples));
    row.push_back(words(at.part->loads, at.part->stores));
  }
  if (rows.empty()) return "\nwho accesses " + name + ": no sample shows it\n";
  std::string text = "\n" + whole_table(columns, rows, options.look());
  if (rows.size() < of.lines.size())
    text += "  … " + std::to_string(of.lines.size() - rows.size()) + " more lines\n";
  return text;
}

// "grid.c" and "src/grid.c" name "/home/me/src/grid.c".
bool is_named(const std::string& file, const std::string& wanted) {
  if (!file.ends_with(wanted)) return false;
  return file.size() == wanted.size() || wanted.starts_with('/') ||
         file[file.size() - wanted.size() - 1] == '/';
}

std::vector<std::string> lines_of_file(const std::string& path) {
  std::ifstream file(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    std::string text;
    for (const char c : line)
      if (c == '\t')
        text.append(8 - text.size() % 8, ' ');
      else if (static_cast<unsigned char>(c) >= ' ')
        text += c;
    lines.push_back(text);
  }
  return lines;
}

class Annotation {
public:
  Annotation(const ProfileSummary& summary, const ProfileNames& names,
             const ProfileTextOptions& options)
      : summary_(summary), names_(names), options_(options) {
    for (const RegionSummary& region : summary.regions)
      all_ += region.accesses.total();
  }

  void add(const AccessLine& line) {
    AccessLine& here = lines_[line.line];
    CodeSummary code;
    code.samples = line.samples;
    code.weight = line.weight;
    code.by_site = line.sites;
    add_to(here, code);
  }

  std::string text(const std::vector<std::string>& source) const {
    std::vector<TableColumn> columns = share_columns(summary_, "line");
    columns.erase(columns.begin() + 2); // intervals: the tables of objects have them
    columns.push_back({"what it does", TableColumn::Align::left, 2});
    columns.push_back({"source", TableColumn::Align::left, 0, TableColumn::Cut::end});
    columns.push_back({"objects", TableColumn::Align::left, 1, TableColumn::Cut::end});
    std::vector<TableRow> rows;
    std::uint32_t last = 0;
    for (const std::uint32_t number : shown(source.size())) {
      if (number > last + 1 && last > 0) rows.push_back({"…", "", "", "", ""});
      rows.push_back(row(number, number <= source.size() ? source[number - 1] : ""));
      last = number;
    }
    return whole_table(columns, rows, options_.look());
  }

private:
  bool counts(const AccessLine& line) const {
    return share_of(line.weight, all_) >= std::max(k_least_line, options_.minimum.value_or(0)) ||
           (line.stores && !options_.minimum);
  }

  std::vector<std::uint32_t> shown(std::size_t end) const {
    std::vector<std::uint32_t> numbers;
    std::uint32_t last = 0;
    for (const auto& [number, line] : lines_) {
      if (!counts(line)) continue;
      for (std::uint32_t i = std::max(last + 1, number > k_around ? number - k_around : 1);
           i <= number + k_around && (i <= end || i == number); ++i)
        numbers.push_back(last = i);
    }
    return numbers;
  }

  TableRow row(std::uint32_t number, const std::string& source) const {
    const auto at = lines_.find(number);
    const std::string name = fitted(std::to_string(number), 6, true);
    if (at == lines_.end() || !counts(at->second)) return {name, "", "", source, ""};
    const AccessLine& line = at->second;
    const Share share = share_of_samples(summary_, line.weight, all_, summary_.samples);
    return {name, share_cells(summary_, "", share, options_.look())[1],
            words(line.loads, line.stores), source, objects(line)};
  }

  std::string objects(const AccessLine& line) const {
    std::vector<CodeAtSite> parts = line.sites; // beside others, the stack is not worth a word
    const auto is_stack = [&](const CodeAtSite& part) {
      return summary_.sites[part.site].kind == SiteKind::stacks;
    };
    if (!std::ranges::all_of(parts, is_stack)) std::erase_if(parts, is_stack);
    std::ranges::stable_sort(parts, std::greater{}, &CodeAtSite::weight);
    std::string text;
    for (std::size_t i = 0; i < std::min(parts.size(), k_most_names); ++i) {
      const std::string& name = names_.sites[parts[i].site];
      text += (i == 0 ? "" : ", ") + name.substr(0, name.rfind(" ("));
    }
    return parts.size() > k_most_names ? text + ", …" : text;
  }

  const ProfileSummary& summary_;
  const ProfileNames& names_;
  const ProfileTextOptions& options_;
  double all_ = 0;
  std::map<std::uint32_t, AccessLine> lines_; // by number
};

} // namespace

std::string AccessLine::name() const {
  return line == 0 ? function
                   : function + " (" + file_name(file) + ":" + std::to_string(line) + ")";
}

std::vector<AccessLine> access_lines(const ProfileSummary& summary, Symbols& symbols) {
  std::map<std::tuple<std::string, std::uint32_t, std::string>, AccessLine> lines;
  for (const CodeSummary& code : summary.code) {
    const AccessLine here = line_of(code, summary, symbols);
    add_to(lines.try_emplace({here.file, here.line, here.function}, here).first->second, code);
  }
  std::vector<AccessLine> sorted;
  for (auto& [key, line] : lines)
    sorted.push_back(std::move(line));
  std::ranges::stable_sort(sorted, std::greater{}, &AccessLine::weight);
  return sorted;
}

std::string who_accesses_text(const ProfileSummary& summary, const ProfileNames& names,
                              const std::vector<AccessLine>& lines,
                              const ProfileTextOptions& options) {
  std::string text;
  std::size_t count = 0;
  for (std::size_t i = 0; i < summary.sites.size() && count < k_most_objects_explained; ++i) {
    if (!has_text(names.sites[i], options.filter)) continue;
    ++count;
    text += table_of_site(summary, names.sites[i], lines_of_site(lines, i), options);
  }
  return text;
}

Parsed<std::string> annotated_text(const ProfileSummary& summary, const ProfileNames& names,
                                   const std::vector<AccessLine>& lines, const std::string& file,
                                   const ProfileTextOptions& options) {
  using Text = Parsed<std::string>;
  Annotation annotation(summary, names, options);
  const AccessLine* found = nullptr; // the first, which has most samples
  std::string hottest;
  for (const AccessLine& line : lines) {
    if (line.line == 0) continue;
    if (hottest.empty()) hottest = line.file;
    if (!is_named(line.file, file) || (found != nullptr && line.file != found->file)) continue;
    if (found == nullptr) found = &line;
    annotation.add(line);
  }
  if (found == nullptr)
    return Text::failure("--annotate: no sample fell on " + file + (hottest.empty()
                             ? "; no source lines are known: compile with -g"
                             : "; most fell on " + hottest));
  std::vector<std::string> source;
  if (!found->changed) source = lines_of_file(found->file);
  return "\n" + found->file +
         (found->changed ? " (it is not there, or not as it was compiled: only numbers)" : "") +
         "\n" + annotation.text(source);
}

nlohmann::json access_lines_json(const ProfileSummary& summary,
                                 const std::vector<AccessLine>& lines) {
  nlohmann::json sites = nlohmann::json::array();
  const double all = weight_of_all(summary);
  for (std::size_t i = 0; i < summary.sites.size(); ++i) {
    nlohmann::json& list = sites.emplace_back(nlohmann::json::array());
    const LinesOfSite of = lines_of_site(lines, i);
    for (std::size_t n = 0; n < std::min(of.lines.size(), k_most_lines_in_json); ++n) {
      const LineAtSite& at = of.lines[n];
      const Share share = of.share(summary, at);
      const Share whole = share_of_samples(summary, at.part->weight, all, summary.samples);
      list.push_back(
          {{"function", at.line->function},
           {"file", at.line->file},
           {"line", at.line->line},
           {"samples", at.part->samples},
           {"share", share.value},
           {"low", share.low},
           {"high", share.high},
           {"of_all", {{"share", whole.value}, {"low", whole.low}, {"high", whole.high}}},
           {"loads", at.part->loads},
           {"stores", at.part->stores}});
    }
  }
  return sites;
}

} // namespace omptier
