# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""What the drivers of this folder share: commands in the timed machine, and tables of comparisons.

A comparison is a published figure beside the one measured here; they are in the same order if both are on
the same side of 1."""
import argparse
import copy
import dataclasses
import json
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def parser(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("build", type=pathlib.Path, help="folder of the build")
    parser.add_argument("--short", action="store_true", help="fewer configurations: minutes")
    parser.add_argument("--results", type=pathlib.Path, help="file that results are kept in "
                        "(default: in the build folder)")
    parser.add_argument("--jobs", type=int, help="machines at a time")
    return parser


def arguments(description):
    return parser(description).parse_args()


def machine_of(name):
    """Options that name a machine: a file of this folder, else one of omptier's own."""
    file = HERE / f"{name}.machine"
    return ["--machine-file", str(file)] if file.exists() else ["--machine", name]


def described(options, name):
    """A machine's description, its CPUs, and the cores that these stand for."""
    known = machine_of(name)
    text = (pathlib.Path(known[1]).read_text() if known[0] == "--machine-file" else
            output_of(options.build / "bin/omptier", "sandbox", "--describe", name))
    return text, *(int(re.search(rf"^{word} (\d+)", text, re.MULTILINE)[1]) for word in ("cpus", "cores"))


def scaled_machine_of(options, name, times):
    """The same for problems that are so many times larger than those that run in the machine: to them, its
    last-level cache of 1 MiB is so many times larger, too."""
    text, cpus, cores = described(options, name)
    file = (options.build / "published" / f"{name}-{times}.machine").resolve()
    file.write_text(re.sub(r"^last-level .*$", f"last-level {times * cores // cpus}M", text, flags=re.MULTILINE))
    return ["--machine-file", str(file)]


def output_of(*command):
    """Of a command on this computer. Its words may be numbers and paths."""
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def advise(options, machine, *further, times=1):
    """What omptier advises for a machine, read from its JSON. times: how many times larger the recorded problem is
    than the one that runs in the machine."""
    return json.loads(output_of(options.build / "bin/omptier", "advise", "--json",
                                *scaled_machine_of(options, machine, times), *further))


def is_too_slow(result):
    """Emulation took longer than the time that it models."""
    return "slower than the machine that it models" in result["errors"]


def run_all(options, machine, dilation, commands, timeout=120, further=()):
    """Runs shell commands in the machine, which has further options. Returns its own record of each; all ended
    with status 0. A machine that fails (QEMU seldom does) is started once more for the rest."""
    results = options.results or options.build / "published" / "results.jsonl"
    results.parent.mkdir(parents=True, exist_ok=True)
    known, rest = [], list(commands)
    for _ in range(2):
        with tempfile.NamedTemporaryFile("w", suffix=".batch") as batch:
            batch.write("\n".join(rest) + "\n")
            batch.flush()
            call = [options.build / "bin/omptier", "sandbox", *machine_of(machine), f"--timed={dilation}",
                    "--timeout", str(int(timeout)), "--batch", batch.name, "--results", results.resolve(), *further]
            if options.jobs:
                call += ["--jobs", str(options.jobs)]
            ran = subprocess.run(call, stdout=subprocess.PIPE, text=True)
        for line in ran.stdout.splitlines():
            result = json.loads(line)
            if result["status"] != 0:
                sys.exit(f"{result['command']}: status {result['status']}: {result['errors'].strip()}")
            known.append(result)
            rest.remove(result["command"])
        if ran.returncode == 0 and not rest:
            return known
    sys.exit(f"the machine {machine} ended with status {ran.returncode}, twice")


def is_stale(profile, program):
    """Missing, or of another build of the program."""
    return not profile.exists() or profile.stat().st_mtime < program.stat().st_mtime


def anew(options, results):
    """Options with a new file of results, for commands whose words do not say what profiles and plans hold."""
    options = copy.copy(options)
    options.results = results
    results.unlink(missing_ok=True)
    return options


def record_all(options, results, machine, dilation, commands, timeout):
    """Runs shell commands in the machine with its memory-event unit."""
    return run_all(anew(options, results), machine, dilation, commands, timeout, ["--memory-events"])


def error_of(gain, measured):
    """Of a "gain" in advice."""
    return abs(gain["value"] / measured - 1)


def print_gains(predicted, measured):
    """Of each advice: its "gain" over all in slow memory, and the measured one."""
    errors = [error_of(gain, real) for gain, real in zip(predicted, measured)]
    inside = sum(gain["low"] <= real <= gain["high"] for gain, real in zip(predicted, measured))
    print(f"\ngain of omptier over all in slow memory, predicted against measured: median error "
          f"{100 * statistics.median(errors):.0f} %, worst {100 * max(errors):.0f} %; "
          f"{inside} of {len(errors)} in their interval", flush=True)


MOST_DILATION = 6400


def run_stretched(options, machine, dilation, commands, timeout=300):
    """Runs shell commands in the machine; what emulation is too slow for runs again with its time
    stretched further. Returns what each command printed and the dilation that it ran with."""
    known = run_all(options, machine, dilation, commands, timeout)
    slow = [result["command"] for result in known if is_too_slow(result)]
    printed = {result["command"]: (result["output"], dilation) for result in known}
    if slow and 2 * dilation <= MOST_DILATION:
        printed.update(run_stretched(options, machine, 2 * dilation, slow, 2 * timeout))
    elif slow:
        sys.exit(f"emulation is too slow even with dilation {dilation}: {'; '.join(slow)}")
    return printed


def seconds_of(options, machine, dilation, commands):
    """The number that each command printed, of guest time, over the dilation that it ran with."""
    return {command: float(output) / time
            for command, (output, time) in run_stretched(options, machine, dilation, commands).items()}


def factor(one, other):
    """Between them: at least 1."""
    return max(one / other, other / one)


# What is published as equal (within 5 %) is in order within this.
NEARLY_EQUAL = 0.15


@dataclasses.dataclass
class Comparison:
    what: str
    source: str
    published: float
    measured: float

    @property
    def is_equal(self):
        return abs(self.published - 1) < 0.05

    @property
    def same_order(self):
        if self.is_equal:
            return abs(self.measured - 1) < NEARLY_EQUAL
        return (self.published - 1) * (self.measured - 1) > 0

    @property
    def factor(self):
        return factor(self.measured, self.published)


def ranks(values):
    """Places in rising order, from 0; equal values share the mean of theirs."""
    ordered = sorted(values)
    return [ordered.index(value) + (ordered.count(value) - 1) / 2 for value in values]


def rank_correlation(comparisons):
    """Spearman's, of measured with published figures."""
    wanted, got = (ranks([getattr(one, name) for one in comparisons]) for name in ("published", "measured"))
    return statistics.correlation(wanted, got)


def summary(comparisons):
    factors = [one.factor for one in comparisons]
    worst = max(comparisons, key=lambda one: one.factor)
    equal = [one for one in comparisons if one.is_equal]
    different = [one for one in comparisons if not one.is_equal]
    return (f"{len(comparisons)} comparisons: {sum(one.same_order for one in different)} of {len(different)} that "
            f"differ in the published order, {sum(one.same_order for one in equal)} of {len(equal)} published as "
            f"equal within {100 * NEARLY_EQUAL:.0f} %; "
            f"rank correlation {rank_correlation(comparisons):.2f}; median factor between measured and published "
            f"{statistics.median(factors):.2f}, worst {worst.factor:.2f} ({worst.what})")


def main(description, comparisons):
    """A driver whose results are comparisons: comparisons(options)."""
    found = comparisons(arguments(description))
    print_table(found)
    print(f"\n{summary(found)}")
    return 0 if all(one.same_order for one in found) else 1


def print_table(comparisons):
    print("\n| | published | measured here | same order | source |\n|---|---|---|---|---|")
    for one in comparisons:
        print(f"| {one.what} | {one.published:.2f} | {one.measured:.2f} | "
              f"{'yes' if one.same_order else 'NO'} | {one.source} |")


def write_picture(options, name, spec):
    """spec: Vega-Lite, data inside."""
    path = options.build / "published" / f"{name}.vl.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    spec = {"$schema": "https://vega.github.io/schema/vega-lite/v5.json", **spec}
    path.write_text(json.dumps(spec, indent=1))
    print(f"\npicture: {path}")
