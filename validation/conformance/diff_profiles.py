#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# diff_profiles.py <case> --omptier PATH --gcc PATH: what omptier diff says of two profiles, of programs whose accesses
# are counted (so every difference is real) and of sampled ones (so most are noise).
import json
import pathlib

from recording import Recorder, check, run_case

# PASSES over the table, COPIES bytes; MOVED: lines and calls elsewhere. A new array comes with EXTRA, an old one goes.
SOURCE = """
#include <stdlib.h>
enum { N = 1 << 15 };
#ifdef MOVED


static double* other(void) { return calloc(N, sizeof(double)); }
#endif
static int* make_keys(void) {
  int* keys = malloc(N * sizeof *keys);
  for (int i = 0; i < N; ++i) keys[i] = (int)((i * 7919u) % N);
  return keys;
}
static double table_sum;
int main(void) {
#ifdef MOVED
  double* volatile kept = other();
  free(kept);
#endif
  int* keys = make_keys();
  double* table = calloc(N, sizeof *table);
#ifdef EXTRA
  volatile double* extra = calloc(N, sizeof *extra);
#else
  volatile double* old = calloc(2 * N, sizeof *old);
  for (int i = 0; i < 2 * N; ++i) old[i] = i;
#endif
  for (int pass = 0; pass < PASSES; ++pass) {
    double sum = 0;
#pragma omp parallel for reduction(+ : sum)
    for (int i = 0; i < N; ++i) sum += table[keys[i]];
    table_sum += sum;
  }
#ifdef EXTRA
  for (int i = 0; i < N; ++i) extra[i] = i;
  free((void*)extra);
#else
  free((void*)old);
#endif
  free(keys), free(table);
  return table_sum < 0;
}
"""


class Bench(Recorder):
    def __init__(self, options):
        super().__init__(options)
        (self.folder / "p.c").write_text(SOURCE)

    def counted(self, profile, *flags):
        wrapper = pathlib.Path(self.omptier).parent / "omptier-cc"
        self.run(wrapper, "-O1", "-g", "-fopenmp", "-L" + self.libraries, *flags, "p.c", "-o", "p")
        self.record("./p", log=profile)

    def sampled(self, profile, *flags):
        self.run(self.options.gcc, "-O1", "-g", "-fopenmp", *flags, "p.c", "-o", "p")
        self.record("./p", log=profile, options=("--rate", "1000"))

    def diff(self, *words):
        return self.run(self.omptier, "diff", "a.profile", "b.profile", *words).stdout

    def compared(self):
        """The JSON, with the objects and regions by the first word of their labels."""
        found = json.loads(self.diff("--json"))
        for object in [*found["objects"], found["small_objects"], found["other"]]:
            for figure in [object["cost"], object["share"], *([object["accesses"]] if object["accesses"] else [])]:
                difference = figure["difference"]
                check(difference["low"] <= difference["value"] <= difference["high"], f"{object}")
                check(abs(figure["b"]["value"] - figure["a"]["value"] - difference["value"]) <= 1e-6 * (1 + abs(figure["a"]["value"])),
                      f"{object}")
                # What is called a change excludes none.
                check(not figure["sure"] or not difference["low"] <= 0 <= difference["high"], f"{object}")
        return found, {object["label"].split()[0]: object for object in found["objects"]}


def case_changed(bench):
    """Twice the passes: twice the accesses, the same size; an array is new, one is gone. All of it is counted."""
    bench.counted("a.profile", "-DPASSES=4")
    bench.counted("b.profile", "-DPASSES=8", "-DEXTRA")
    found, objects = bench.compared()
    check(found["version"] == 1 and found["measure"] == "accesses", f"{found['measure']}")
    table = objects["table"]
    check(table["changed"] and table["cost"]["sure"] and abs(table["cost"]["b"]["value"] / table["cost"]["a"]["value"] - 2) < 0.01 and
          table["bytes"] == {"a": 1 << 18, "b": 1 << 18}, f"{table}")
    keys = objects["keys"]  # filled once, read in each pass
    check(abs(keys["cost"]["b"]["value"] / keys["cost"]["a"]["value"] - 9 / 5) < 0.01, f"{keys}")
    check(objects["extra"]["new"] and objects["extra"]["a"] is None and objects["extra"]["changed"], f"{objects['extra']}")
    check(objects["old"]["gone"] and objects["old"]["b"] is None and objects["old"]["bytes"]["a"] == 1 << 19, f"{objects['old']}")
    report = bench.report("b.profile")
    check(report["sites"][table["b"]]["label"].startswith("table "), "another site in the report")
    region = next(one for one in found["regions"] if one["label"].startswith("main "))
    check(region["entries"] == {"a": 4, "b": 8}, f"{region}")
    text = bench.diff()
    table_row = next(line for line in text.splitlines() if line.startswith("table "))
    check(" 1.00 MiB " in table_row and " 2.00 MiB " in table_row and " + 1.00 MiB " in table_row, text)
    check(any(line.startswith("old ") and " gone " in line for line in text.splitlines()) and
          any(line.startswith("extra ") and " new " in line for line in text.splitlines()), text)
    check("how much they vary is not known" in text, text)


def case_same(bench):
    """The same twice: counted, nothing changed; sampled, what differs is called noise."""
    bench.counted("a.profile", "-DPASSES=4")
    bench.record("./p", log="b.profile")
    found, objects = bench.compared()
    check(not any(objects[name]["changed"] for name in ("table", "keys", "old")), f"{objects}")
    check("No object changed beyond the noise." in bench.diff() or "did not change beyond the noise: " in bench.diff(), bench.diff())
    bench.sampled("a.profile", "-DPASSES=2000")
    bench.record("./p", log="b.profile", options=("--rate", "1000"))
    found, objects = bench.compared()
    check(objects["table"]["cost"]["a"]["value"] > 0 and objects["table"]["cost"]["b"]["low"] < objects["table"]["cost"]["b"]["high"],
          f"{objects['table']}")
    check(not objects["table"]["share"]["sure"] and not objects["keys"]["share"]["sure"], f"{objects}")
    self = json.loads(bench.run(bench.omptier, "diff", "a.profile", "a.profile", "--json").stdout)
    check(not any(object["changed"] for object in self["objects"]), f"{self}")


def case_rebuilt(bench):
    """Another build, with other lines and calls: the same objects, by their names."""
    bench.counted("a.profile", "-DPASSES=4")
    bench.counted("b.profile", "-DPASSES=4", "-DMOVED")
    found, objects = bench.compared()
    for name in "table", "keys", "old":
        found_again = objects[name]["a"] is not None and objects[name]["b"] is not None
        check(found_again and not objects[name]["cost"]["sure"], f"{objects[name]}")
    check(sum(object["new"] for object in found["objects"]) == 1, f"{found['objects']}")
    regions = [one for one in found["regions"] if one["label"].startswith("main ")]
    check(len(regions) == 1 and regions[0]["entries"] == {"a": 4, "b": 4}, f"{regions}")


def case_refused(bench):
    bench.counted("a.profile", "-DPASSES=1")
    bench.sampled("b.profile", "-DPASSES=400")
    bench.run(bench.omptier, "advise", "a.profile", "--machine", "nvdimm", "-o", "p.plan")
    (bench.folder / "q.c").write_text("#include <stdlib.h>\nint main(void) { return malloc(1 << 20) == 0; }")
    bench.run(bench.options.gcc, "-g", "q.c", "-o", "q")
    bench.record("./q", log="q.profile")
    for words, says in ((("a.profile", "p.plan"), "a.profile is a profile, p.plan a plan"),
                        (("p.plan", "a.profile"), "a.profile is a profile, p.plan a plan"),
                        (("a.profile", "none.profile"), "none.profile"), (("none.profile", "none.profile"), "none.profile"),
                        (("a.profile", "a.profile", "a.profile"), "two profiles are compared"),
                        (("a.profile", "b.profile"), "--events"), (("b.profile", "q.profile"), "--force"),
                        (("a.profile", "a.profile", "--capacity", "dram:1M"), "profiles"),
                        (("p.plan", "p.plan", "--force"), "none was given"), (("a.profile",), "two plans or two profiles")):
        done = bench.run(bench.omptier, "diff", *words, status=2)
        check(done.stderr.count("\n") == 1 and says in done.stderr and not done.stdout, f"{words}: {done.stderr}{done.stdout}")


run_case(globals(), "gcc", recorder=Bench)
