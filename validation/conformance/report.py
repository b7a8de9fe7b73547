#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# report.py <case> --omptier PATH: what omptier report prints on a program whose accesses are counted exactly: tables of
# any width, CSV, JSON as its schema says, the lines that access an object, and a terminal's colours.
import csv
import fcntl
import io
import json
import os
import pathlib
import pty
import re
import struct
import subprocess
import sys
import termios

from recording import Recorder, check, run_case

SYSTEM_PYTHON = "/usr/bin/python3"
SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "openmp-ext" / "cli" / "report.schema.json"
SOURCE = """
#include <stdlib.h>
enum { N = 1 << 15 };
static volatile double a_static_with_a_name_longer_than_a_narrow_table_has_room_for[N];
static void fill(int* keys) {
  for (int i = 0; i < N; ++i) keys[i] = (int)((i * 7919u) % N); // fills
}
static double look_up(const double* table, const int* keys) {
  double sum = 0;
  for (int i = 0; i < N; ++i)
    sum += table[keys[i]]; // looks up
  return sum;
}
int main(void) {
  double* table = calloc(N, sizeof *table);
  int* keys = malloc(N * sizeof *keys);
  double sum = 0;
  fill(keys);
#pragma omp parallel for reduction(+ : sum)
  for (int round = 0; round < 8; ++round) sum += look_up(table, keys);
  for (int i = 0; i < N; ++i) a_static_with_a_name_longer_than_a_narrow_table_has_room_for[i] = sum;
  free(keys), free(table);
  return sum > 0;
}
"""


class Report(Recorder):
    def __init__(self, options):
        super().__init__(options)
        (self.folder / "counted.c").write_text(SOURCE)
        wrapper = pathlib.Path(self.omptier).parent / "omptier-cc"
        self.run(wrapper, "-O1", "-g", "-fopenmp", "-L" + self.libraries, "counted.c", "-o", "counted")
        self.record("./counted")

    def lines(self, *options, **variables):
        """What it prints, by line; none is wider than asked for."""
        text = self.run(self.omptier, "report", *options, "p.profile", **variables).stdout
        return text.splitlines()

    def rows(self, *options):
        """Of the table of objects: the names in order."""
        lines = self.lines(*options)
        table = lines[lines.index("") + 1:]
        check(table[0].startswith("object "), f"{table}")
        return [re.split(r" {2,}", line)[0] for line in table[1:table.index("")] if line.strip() and line[0] not in " ("]

    def refused(self, *options, says):
        done = self.run(self.omptier, "report", *options, "p.profile", status=2)
        check(done.stderr.count("\n") == 1 and says in done.stderr and not done.stdout, f"{options}: {done.stderr}{done.stdout}")


def name(row):
    return row.split()[0]


def case_table(bench):
    """As wide as asked for, 120 columns in a pipe; rows by column, by name, by share; and what is refused."""
    for width, options in ((120, ()), (60, ("--width", "60")), (80, ("--width", "80"))):
        lines = bench.lines(*options)
        check(lines[3] == "" and lines[4].startswith("object "), f"three lines above: {lines[:5]}")
        check(max(map(len, lines)) <= width, f"wider than {width}: {max(lines, key=len)}")
        check("\33" not in "".join(lines), "colour in a pipe")
    check(bench.lines() == bench.lines(COLUMNS="40", TERM="xterm", CLICOLOR_FORCE="1"), "a pipe's text is not stable")
    check("(--width 0 also shows " in "".join(bench.lines("--width", "60")), "what is left out is not said")
    whole = bench.lines("--width", "0")
    check(any("a_static_with_a_name_longer_than_a_narrow_table_has_room_for (counted.c:4)" in line for line in whole), f"{whole}")
    check("how" not in whole[3] and len(bench.lines("--verbose")) > len(bench.lines()), "nothing more is said")

    check(name(bench.rows()[0]) == "table", f"{bench.rows()}")
    check(name(bench.rows("--sort", "stores")[0]) == "static", f"{bench.rows('--sort', 'stores')}")
    named = [row for row in bench.rows("--sort", "object") if not row.startswith("OMPTier and ")]
    check(name(named[0]) == "keys", f"{named}")
    rows = bench.rows("--filter", "KEY")
    check(name(rows[0]) == "keys" and re.fullmatch(r"\d+ others?", rows[1]), f"{rows}")
    check([name(row) for row in bench.rows("--minimum", "30")][:2] == ["table", "keys"], f"{bench.rows('--minimum', '30')}")
    titles = re.split(r" {2,}", bench.lines("--columns", "pattern,bytes", "--width", "60")[4].strip())
    check(titles[-2:] == ["pattern", "most bytes"], f"{titles}")
    asked = "".join(bench.lines("--columns", "latency,bytes"))
    check("latency is not known: the source of the samples measures none" in asked, f"a column without figures:\n{asked}")
    check("most bytes is not known" not in asked and "is not known" not in "".join(bench.lines()), "reasons nobody asked for")

    for options, says in ((("--columns", "bytes,sise"), "no column sise; there are: bytes, blocks, stores"),
                          (("--sort", "size"), "no column size; there are: share, object, bytes"),
                          (("--minimum", "200"), "from 0 to 100"), (("--minimum", "-3"), "from 0 to 100"),
                          (("--width", "3"), "from 40 to 10000"), (("--object", "nobody"), "no object's name has nobody"),
                          (("--annotate", "other.c"), "no sample fell on other.c; most fell on"),
                          (("--json", "--csv"), "--csv")):
        bench.refused(*options, says=says)


def case_lines(bench):
    """Who accesses an object, from both sides."""
    fills = SOURCE[:SOURCE.index("// fills")].count("\n") + 1
    looks_up = SOURCE[:SOURCE.index("// looks up")].count("\n") + 1
    keys = next(site for site in bench.report()["sites"] if site["label"].startswith("keys "))
    lines = {(line["function"], line["line"]): line for line in keys["lines"]}
    check(set(lines) == {("fill", fills), ("look_up", looks_up)}, f"{keys['lines']}")
    filled, looked_up = lines["fill", fills], lines["look_up", looks_up]
    check((filled["loads"], filled["stores"]) == (False, True), f"{filled}")
    check((looked_up["loads"], looked_up["stores"]) == (True, False), f"{looked_up}")
    check(abs(filled["share"] - 1 / 9) < 1e-6 and abs(looked_up["share"] - 8 / 9) < 1e-6, f"{lines}")

    text = "\n".join(bench.lines("--object", "keys"))
    check(re.search(rf"^look_up \(counted\.c:{looks_up}\) +88\.9 % .* loads$", text, re.M) and
          re.search(rf"^fill \(counted\.c:{fills}\) +11\.1 % .* stores$", text, re.M), text)
    text = "\n".join(bench.lines("--annotate", "counted.c", "--width", "0"))
    check(re.search(rf"^ *{looks_up} .* loads +sum \+= table\[keys\[i\]\]; // looks up +table, keys$", text, re.M) or
          re.search(rf"^ *{looks_up} .* loads +sum \+= table\[keys\[i\]\]; // looks up +keys, table$", text, re.M), text)
    (bench.folder / "counted.c").write_text("int none;\n" + SOURCE)
    check("not as it was compiled" in "".join(bench.lines("--annotate", "counted.c")), "lines of another source")


def case_region(bench):
    """Shares of objects in one region."""
    lines = bench.lines("--region", "MAIN (counted.c", "--width", "0")
    table = [re.split(r" {2,}", line) for line in lines[lines.index("") + 1:]]
    check(table[0][:2] == ["object", "share of accesses there"], f"{table}")
    shares = {row[0].split()[0]: row[1].split()[0] for row in table[1:3]}
    check(shares == {"table": "66.7", "keys": "33.3"}, f"{table}")
    check(not any("outside of regions" in line for line in lines), f"{lines}")
    bench.refused("--region", "nowhere", says="no region's name has nowhere")


def case_phases(bench):
    """The run in time: rounds of two regions, as the program says."""
    program = pathlib.Path(bench.omptier).parent / "alternating"
    bench.run(bench.omptier, "record", "-o", "rounds.profile", "--", program, "--bytes", "4M", "--rounds", "6",
              "--sweeps", "40", "--threads", "2")
    line = json.loads(bench.run(bench.omptier, "phases", "--json", "rounds.profile").stdout)
    rounds = max(line["parts"], key=lambda part: part["rounds"])
    check(rounds["rounds"] in (5, 6) and [step["name"].split()[0] for step in rounds["steps"]] in (
        ["work_on_a", "work_on_b"], ["work_on_b", "work_on_a"]), f"{line}")
    check(all(step["seen"]["mean"] > 0 and 5 <= round(step["entries"]) <= 6 for step in rounds["steps"]), f"{line}")
    check(line["folded"] and line["moves"] == [], f"{line}")
    text = bench.run(bench.omptier, "phases", "rounds.profile").stdout
    check(re.search(r" [56]  ┌ work_on_", text) and "most accessed" in text, text)
    check("no parallel region was seen" not in text, text)
    refused = bench.run(bench.omptier, "phases", "nowhere.profile", status=2).stderr
    check(refused.count("\n") == 1 and "nowhere.profile" in refused, refused)


def case_data(bench):
    """CSV and JSON say the same, and JSON what its schema says."""
    try:
        import jsonschema
    except ImportError:  # another Python than the distribution's comes first in PATH
        check(sys.executable != SYSTEM_PYTHON and os.path.exists(SYSTEM_PYTHON), "python3-jsonschema is not installed")
        os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, *sys.argv])
    schema, report = json.loads(SCHEMA.read_text()), bench.report()
    jsonschema.Draft202012Validator.check_schema(schema)
    validator = jsonschema.Draft202012Validator(schema)
    faults = [f"{error.json_path}: {error.message}" for error in validator.iter_errors(report)]
    check(not faults, f"{faults}")
    for wrong in {**report, "unheard_of": 1}, {**report, "samples": "many"}, {**report, "sites": [{}]}:
        check(not validator.is_valid(wrong), "a schema that anything fits")

    rows = list(csv.DictReader(io.StringIO("\n".join(bench.lines("--csv")))))
    check([row["object"] for row in rows[:-2]] == [site["label"] for site in report["sites"]], f"{rows}")
    check(abs(sum(float(row["share"]) for row in rows) - 1) < 1e-6, f"{rows}")
    for row, site in zip(rows, report["sites"]):
        check(row["bytes"] in ("", str(site["bytes_peak"])) and abs(float(row["share"]) - site["share"]) < 1e-6 and
              row["pattern"] == site["pattern"], f"{row} {site}")
    check([row["object"][:5] for row in csv.DictReader(bench.lines("--csv", "--filter", "keys"))] == ["keys "], "filter")


def on_terminal(bench, **variables):
    """What it prints to a terminal of 70 columns."""
    ours, its = pty.openpty()
    fcntl.ioctl(its, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 70, 0, 0))
    environment = {key: value for key, value in bench.environment.items() if key != "NO_COLOR"}
    process = subprocess.Popen([bench.omptier, "report", "p.profile"], cwd=bench.folder, stdout=its, stderr=subprocess.DEVNULL,
                               stdin=subprocess.DEVNULL, env={**environment, "TERM": "xterm", **variables})
    os.close(its)
    text = b""
    try:
        while piece := os.read(ours, 65536):
            text += piece
    except OSError:  # the other side is closed
        pass
    os.close(ours)
    check(process.wait() == 0, f"{text}")
    return text.decode().replace("\r\n", "\n")


def case_terminal(bench):
    """As wide as the terminal, coloured unless NO_COLOR; without colour the same text."""
    coloured, plain = on_terminal(bench), on_terminal(bench, NO_COLOR="1")
    check("\33[" in coloured and "\33" not in plain, f"{plain}")
    check(re.sub("\33\\[[0-9]*m", "", coloured) == plain, f"{coloured}")
    check("\33" not in on_terminal(bench, TERM="dumb"), "a terminal without colours")
    check(plain.splitlines() == bench.lines("--width", "70"), f"{plain}")


run_case(globals(), recorder=Report)
