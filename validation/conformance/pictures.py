#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# pictures.py <case> --omptier PATH --gcc CC --phases PROGRAM [--screenshots FOLDER]: the page of omptier report --html (of diff --html),
# opened in a browser. It complains of nothing, asks the network for nothing, has its pictures, fits a narrow window; its
# tables say what the report's JSON says; it works by keyboard. --screenshots: for people to look at.
import json
import pathlib
import shutil
import sys

import browser
from recording import Recorder, check, run_case

MOST_BYTES, MOST_SECONDS = 5 << 20, 2.0
PARTS = pathlib.Path(__file__).resolve().parents[2] / "openmp-ext/cli/pictures"
BUILT = pathlib.Path(sys.argv[sys.argv.index("--omptier") + 1]).resolve().parents[1]
# 8 x 8 x 8 x 8 x 7 call stacks, a block each; few of them are used much.
MANY = """
#include <stdlib.h>
enum { k_levels = 5, k_blocks = 8 * 8 * 8 * 8 * 7 };
static char* blocks[k_blocks];
static size_t sizes[k_blocks];
static __attribute__((noinline)) char* allocate(unsigned path, int level, size_t bytes) {
  if (level == 0) return malloc(bytes);
  switch (path % 8) {
#define WAY(n) case n: { char* b = allocate(path / 8, level - 1, bytes); __asm__ volatile("" : "+r"(b) : "i"(n)); return b; }
  WAY(0) WAY(1) WAY(2) WAY(3) WAY(4) WAY(5) WAY(6) WAY(7)
  }
  return NULL;
}
int main(void) {
  unsigned sum = 0;
  for (unsigned i = 0; i < k_blocks; ++i) {
    sizes[i] = i % 1000 == 7 ? 1 << 20 : 4096 + i % 3 * 2048;
    blocks[i] = allocate(i, k_levels, sizes[i]);
  }
  for (unsigned round = 0; round < 30; ++round)
    for (unsigned i = 0; i < k_blocks; i += i < 200 ? 1 : 10)
      for (size_t k = 0; k < (i < 200 ? 8 : 1) * sizes[i]; k += 64) sum += (unsigned)++blocks[i][k * 7 % sizes[i]];
  for (unsigned i = 0; i < k_blocks; ++i) free(blocks[i]);
  return sum == 12345;
}
"""


class Pages(Recorder):
    def page(self, *profiles):
        """The report's JSON, and its page in a browser."""
        report = self.report(*profiles)
        self.open("report", *profiles)
        return report

    def open(self, command, *profiles):
        done = self.run(self.omptier, command, "--html", "page.html", *profiles)
        check("page.html written" in done.stderr and not done.stdout, done.stderr + done.stdout)
        path = self.folder / "page.html"
        check(path.stat().st_size <= MOST_BYTES, f"{path.stat().st_size} bytes")
        self.browser = browser.Browser(self.folder)
        took = [self.shown(path, width, dark) for width in (1280, 400) for dark in (False, True)]
        middle = sum(sorted(took)[1:3]) / 2  # the first one also waits for what the browser does at its start
        check(middle <= MOST_SECONDS, f"drawn after {took} s")
        self.browser.look(1280)

    def shown(self, path, width, dark):
        """Opens it: without a complaint, within its width. How long it took."""
        self.browser.look(width, dark)
        self.browser.open(path)
        self.browser.wait("document.body && document.body.dataset.drawn > 0", 20)
        took = self.browser.value("performance.getEntriesByType('mark').find(of => of.name === 'drawn').startTime") / 1000
        print(f"{path.name} at {width}{' dark' * dark}: {path.stat().st_size} bytes, drawn after {took:.2f} s")
        check(self.browser.complaints == [], f"{self.browser.complaints}")
        check(self.browser.requests == [path.as_uri()], f"asked for {self.browser.requests}")
        room = self.browser.value("document.documentElement.scrollWidth")
        check(room <= width, f"{room} pixels of {width}")
        for place in self.pictures():
            marks = self.browser.value(f"document.querySelectorAll('#{place} svg :is(path, text, rect)').length")
            check(5 < marks < 8000, f"{place} has {marks} marks")
        if self.options.screenshots:
            name = f"{self.options.case}-{width}{'-dark' * dark}.png"
            self.browser.screenshot(pathlib.Path(self.options.screenshots) / name)
        return took

    def pictures(self):
        return self.browser.value("[...document.querySelectorAll('.picture')].map(of => of.id)")

    def title(self, name):
        return self.browser.value(f"document.querySelector('#{name}').closest('section').querySelector('h2').textContent")

    def table(self, name):
        """Its rows: of each cell the text and the number behind it."""
        self.browser.value(f"document.querySelector('#{name}').closest('.scrolls').parentElement"
                           f".querySelectorAll('button.more').forEach(of => of.click())")
        return self.browser.value(f"""[...document.querySelectorAll('#{name} tbody tr')].map(row => [...row.cells].map(
            cell => [cell.textContent, cell.dataset.value === undefined ? null : Number(cell.dataset.value)]))""")


def same_percent(text, share):
    """A half may be rounded either way."""
    return abs(float(text.split()[0]) - share * 100) <= 0.0500001


def check_objects(pages, report, most=None):
    """The table of objects: as in the JSON, in its order."""
    rows = pages.table("objects-table")
    sites = report["sites"]
    elsewhere = [row for row in rows if row[0][0] in ("small objects (under 4 KiB)", "everything else")]
    check([row[1][1] for row in elsewhere] == [report[of]["share"] for of in ("small_objects", "other") if
                                               of == "other" or report[of]["objects"]], f"{elsewhere}")
    check(abs(sum(row[1][1] for row in rows) - 1) < 1e-6, f"shares add up to {sum(row[1][1] for row in rows)}")
    if most is None:
        check(len(rows) == len(sites) + len(elsewhere), f"{len(rows)} rows of {len(sites)} objects")
    for row, site in zip(rows, sites[:most]):
        check(row[0][0] == site["label"] and row[1][1] == site["share"] and same_percent(row[1][0], site["share"]),
              f"{row} {site['label']} {site['share']}")
        low, high = row[2][0].split("–")
        check(row[2][1] == site["low"] and same_percent(low, site["low"]) and same_percent(high, site["high"]), f"{row}")
        check(row[3][1] == (site["bytes_peak"] or None), f"{row} {site['bytes_peak']}")
        check(row[-1][1] == site["samples"], f"{row} {site['samples']}")


def check_densest(pages, report):
    """The curve: as in the JSON, rising, and its sum is that of the objects with bytes; the title says where it bends."""
    steps, rows = report["densest"], pages.table("densest-table")
    check([[row[1][1], row[2][1], row[3][1]] for row in rows] == [[of["sites"], of["bytes"], of["share"]] for of in steps],
          f"{rows}")
    check(all(a["bytes"] < b["bytes"] and a["share"] <= b["share"] for a, b in zip(steps, steps[1:])), f"{steps}")
    sized = [of for of in report["sites"] if of["bytes_peak"] and of["kind"] not in ("stacks", "heap", "constants")]
    last = steps[-1]
    check(last["sites"] == len(sized) and last["bytes"] == sum(of["bytes_peak"] for of in sized), f"{last}")
    check(abs(last["share"] - sum(of["share"] for of in sized)) < 1e-9, f"{last}")
    reached = max(steps, key=lambda step: step["share"] / last["share"] - step["bytes"] / last["bytes"])
    title = pages.title("densest")
    few = report["too_few_samples"] or reached["samples"] < 5 * reached["sites"]
    check(title.startswith(f"The {report['samples']:,} samples are too few" if few else
                           f"{reached['sites']:,} of {last['sites']:,} object"), title)


def check_over_time(report):
    """Of one profile: the steps add up to what the rest of the report says."""
    over = report["over_time"]
    peak = max(over["live"]["bytes"])
    check(over["live"]["most"]["bytes"] == peak and over["live"]["most"]["at"] <= over["nanoseconds"], f"{over['live']}")
    check(peak >= max(site["bytes_peak"] for site in report["sites"] if site["kind"] == "allocation"), f"{peak}")
    for of in over["live"]["sites"]:
        check(all(part <= whole for part, whole in zip(of["bytes"], over["live"]["bytes"])), f"{of}")
    for of in over["accesses"]["sites"]:
        site = report["sites"][of["site"]]
        check(abs(sum(of["shares"]) - site["share"]) < 0.02, f"{site['label']}: {sum(of['shares'])}, {site['share']}")
        ranges = sum(sum(step) for step in of["ranges"])
        check(ranges <= sum(of["shares"]) + 1e-4, f"{site['label']}: {ranges} in ranges")
    check(any(step for of in over["accesses"]["sites"] for step in of["ranges"]), "no place in an object")
    width = over["nanoseconds"] / over["steps"]
    for of in over["phases"]:
        phase = report["phases"][of["phase"]]
        check(abs(sum(of["parts"]) * width - phase["nanoseconds"]) <= width, f"{of} {phase['nanoseconds']}")


def check_keyboard(pages):
    """A table is sorted by a button that is reached and pressed by keyboard; an object is chosen for its ranges."""
    value = pages.browser.value
    value("document.querySelector('#objects-table thead th:nth-child(4) button').focus()")
    for falls in True, False:
        pages.browser.press("Enter")
        bytes_ = [row[3][1] for row in pages.table("objects-table") if row[3][1] is not None]
        check(bytes_ == sorted(bytes_, reverse=falls), f"{bytes_}")
    check(value("document.querySelector('#objects-table thead th:nth-child(4)').ariaSort") == "ascending", "aria-sort")
    unreached = value("[...document.querySelectorAll('main button, main summary, main select')].filter(of => of.tabIndex < 0)"
                      ".length")
    check(unreached == 0, f"{unreached} buttons are not reached by keyboard")


def case_phases(pages):
    """Regions, named phases and stretches."""
    pages.record(pages.options.phases, "named", "150")
    report = pages.page("p.profile")
    check(set(pages.pictures()) >= {"densest", "treemap", "time", "phases", "ranges"}, f"{pages.pictures()}")
    check_objects(pages, report)
    check_densest(pages, report)
    check_over_time(report)
    check_keyboard(pages)
    rows = {row[0][0]: row for row in pages.table("regions-table")}
    for phase in report["phases"]:
        if phase["kind"] == "named":
            check(rows[phase["label"]][1][1] == phase["share"] and rows[phase["label"]][3][1] == phase["nanoseconds"], f"{rows}")
    lines = pages.table("lines-table")
    known = {(line["function"], site["label"]): line["samples"] for site in report["sites"] for line in site["lines"]}
    check(lines and all((row[0][0], row[2][0]) in known for row in lines), f"{lines}")
    shares = {(line["function"], line["line"], site["label"]): line["of_all"] for site in report["sites"]
              for line in site["lines"]}
    check(sum(of["share"] for of in shares.values()) < 1.01, f"{shares}")
    check(all(of["low"] <= of["share"] <= of["high"] for of in shares.values()), f"{shares}")


def case_ranks(pages):
    """Two runs as ranks of a job: side by side. Names that look like HTML stay text."""
    program = "a<b>&amp;"
    (pages.folder / "c.c").write_text(MANY.replace("8 * 8 * 8 * 8 * 7", "16"))
    pages.run(pages.options.gcc, "-O1", "-g", "c.c", "-o", program)
    for rank in "0", "1":
        pages.record("./" + program, log=f"{rank}.profile", options=["--children", "all"],
                     PMI_RANK=rank, PMI_SIZE="2", OMPI_COMM_WORLD_RANK=rank, OMPI_COMM_WORLD_SIZE="2")
    profiles = sorted(path.name for path in pages.folder.glob("*.profile"))
    report = pages.page(*profiles)
    check([rank["rank"] for rank in report["ranks"]] == [0, 1], f"{report['ranks']}")
    check("ranks" in pages.pictures(), f"{pages.pictures()}")
    check([[row[0][1], row[3][1], row[5][1]] for row in pages.table("ranks-table")] ==
          [[rank["rank"], rank["bytes_peak"], rank["samples"]] for rank in report["ranks"]], f"{pages.table('ranks-table')}")
    check("2 profiles" in pages.browser.value("document.querySelector('#time').closest('section').textContent"), "whose time")
    check(program in pages.browser.value("document.querySelector('h1').textContent"), "the program's name")
    check_objects(pages, report)


def case_many(pages):
    """28,672 objects: small, quick, and what is not shown is counted."""
    (pages.folder / "many.c").write_text(MANY)
    pages.run(pages.options.gcc, "-O1", "-g", "-fno-optimize-sibling-calls", "many.c", "-o", "many")
    pages.record("./many", options=["--children", "all"], OMPTIER_PROFILE_MEMORY="128M")
    report = pages.page("p.profile")
    check(len(report["sites"]) > 28000, f"{len(report['sites'])} objects")
    names = {site["label"] for site in report["sites"]}
    shown = sum(row[0][0] in names for row in pages.table("objects-table"))
    check(100 <= shown <= 600, f"{shown} rows")
    check_objects(pages, report, most=100)
    check_densest(pages, report)
    check(len(report["densest"]) <= 402, f"{len(report['densest'])} steps")
    text = pages.browser.value("document.querySelector('ul.notes').textContent")
    check(f"{len(report['sites']) - shown:,} more are counted together" in text, text)


OFTEN = """
#include <stdlib.h>
#include <string.h>
enum { k_bytes = 64 << 20 };
__attribute__((noinline)) static unsigned walk(const unsigned char* of, int rounds) {
  unsigned sum = 0;
  for (int round = 0; round < rounds; ++round)
    for (size_t i = 0; i < k_bytes; ++i) sum += of[i * 4099 % k_bytes];
  return sum;
}
int main(int argc, char** argv) {
  unsigned char* often = malloc(k_bytes);
  unsigned char* seldom = malloc(k_bytes);
  if (argc != 2 || !often || !seldom) return 1;
  memset(often, 1, k_bytes);
  memset(seldom, 1, k_bytes);
  return walk(often, atoi(argv[1])) + walk(seldom, 2) == 7;
}
"""


def case_compared(pages):
    """Two runs, in the second of which one array is read three times as often: the page says what diff --json says."""
    (pages.folder / "twice.c").write_text(OFTEN)
    pages.run(pages.options.gcc, "-O1", "-g", "twice.c", "-o", "twice")
    for name, rounds in (("a", "2"), ("b", "6")):
        pages.record("./twice", rounds, log=f"{name}.profile", options=["--children", "all"])
    diff = json.loads(pages.run(pages.omptier, "diff", "--json", "a.profile", "b.profile").stdout)
    pages.open("diff", "a.profile", "b.profile")
    check(pages.pictures() == ["objects"], f"{pages.pictures()}")  # no parallel region
    often = next(of for of in diff["objects"] if "often" in of["label"])
    check(often["cost"]["sure"] and often["cost"]["difference"]["low"] > 0, f"{often}")
    sure = sum(of["cost"]["sure"] for of in diff["objects"])
    title = pages.title("objects")
    check(f" of {sure} object" in title and title.endswith(f"that of {len(diff['objects']) - sure} did not"), title)
    rows = pages.table("objects-table")
    for row, of in zip(rows, diff["objects"]):
        cost = of["cost"]
        check(row[0][0] == of["label"] and [cell[1] for cell in row[1:4]] == [
            cost["a"]["value"], cost["b"]["value"], cost["difference"]["value"] if cost["sure"] else None], f"{row} {of}")
    check(len(rows) >= len(diff["objects"]), f"{len(rows)} rows")
    times = diff["b"]["nanoseconds"] / diff["a"]["nanoseconds"]
    title = pages.browser.value("document.querySelector('h1').textContent")
    check(title.startswith("twice took ") and abs(float(title.split()[2]) - times) <= 0.00501, title)


def case_unsampled(pages):
    """Without samples the page says why, shows objects without colours, and claims nothing. A long name is cut."""
    long = "_long" * 100  # too long a variable: the object is called after the function
    (pages.folder / "long.c").write_text(f"""#include <stdlib.h>
        __attribute__((noinline)) char* f{long}(void) {{
          char* block{long} = malloc(1 << 20);
          if (block{long}) block{long}[5] = 1;
          return block{long};
        }}
        int main(void) {{ return f{long}() == NULL; }}""")
    pages.run(pages.options.gcc, "-O1", "-g", "long.c", "-o", "long")
    pages.record("./long", options=["--children", "all", "--events", "none"])
    report = pages.page("p.profile")
    check(report["samples"] == 0, f"{report['samples']} samples")
    check("treemap" in pages.pictures() and "densest" not in pages.pictures(), f"{pages.pictures()}")
    text = pages.browser.value("document.body.innerText")
    check("There are no samples" in text and "no sample fell on" not in text and "under 0.1 %" not in text, text)
    cut = [row[0][0] for row in pages.table("objects-table") if "…" in row[0][0]]
    whole = pages.browser.value("[...document.querySelectorAll('#objects-table th[title]')].map(of => of.title)")
    check(cut and all(len(name) <= 120 for name in cut) and any("_long" * 90 in name for name in whole), f"{cut} {whole}")


def case_refused(pages):
    """Where no page can be written, one line says so, and nothing is."""
    pages.record(pages.options.phases, "named", "20")
    for options, says in ((("--html", "-"), "name one"), (("--html", "no/page.html"), "there is no folder"),
                          (("--html", "."), "this is a folder"), (("--html", "x.html", "--json"), "excludes")):
        done = pages.run(pages.omptier, "report", *options, "p.profile", status=2)
        check(done.stderr.count("\n") == 1 and says in done.stderr and not done.stdout, f"{options}: {done.stderr}")
    check(not (pages.folder / "x.html").exists(), "a page was written")
    profile = (pages.folder / "p.profile").read_bytes()
    for name, says in ("p.profile", "is one of the profiles"), ("other.profile", "is no page of this command"):
        (pages.folder / name).write_bytes(profile)
        done = pages.run(pages.omptier, "report", "--html", name, "p.profile", status=2)
        check(done.stderr.count("\n") == 1 and says in done.stderr, done.stderr)
        check((pages.folder / name).read_bytes() == profile, f"{name} was written over")
    pages.run(pages.omptier, "advise", "p.profile", "--machine", "dram-hbm-nvm", "-o", "p.plan")
    for options, says in ((("--html", "x.html", "p.plan", "p.plan"), "pictures are of two profiles"),
                          (("--html", "p.profile", "p.profile", "p.profile"), "is one of the profiles")):
        done = pages.run(pages.omptier, "diff", *options, status=2)
        check(done.stderr.count("\n") == 1 and says in done.stderr, done.stderr)
    check(not (pages.folder / "x.html").exists(), "a page was written")
    check((pages.folder / "p.profile").read_bytes() == profile, "p.profile was written over")
    for part in "bin/omptier", "share/omptier/pictures":  # as a build without network leaves it
        there = pages.folder / "built" / part
        there.parent.mkdir(parents=True)
        shutil.copy(pages.omptier, there) if part.startswith("bin") else shutil.copytree(PARTS, there)
    (there / "vega.js").unlink(missing_ok=True)
    done = pages.run("built/bin/omptier", "report", "--html", "x.html", "p.profile", status=2)
    check(done.stderr.count("\n") == 1 and "build again where the network is reachable" in done.stderr, done.stderr)


def why_skipped():
    if browser.program() is None:
        return "needs the browser chromium"
    if not (BUILT / "share/omptier/pictures/vega.js").is_file():
        return "needs what draws the pictures, which the build could not fetch"
    return None


if "refused" not in sys.argv and (reason := why_skipped()):
    print(reason)
    sys.exit(77)
run_case(globals(), "gcc", "phases", recorder=Pages, optional=["screenshots"])
