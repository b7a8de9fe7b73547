# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What the tests of omptier record share: a folder of their own, recording, and the report, whose shares must add up.
import json
import pathlib
import tempfile

from trial import check, clean_environment, parser, run


def read_report(omptier, *logs, **more):
    report = json.loads(run(omptier, "report", "--json", *logs, timeout=400, **more).stdout)
    total = report["other"]["share"] + report["small_objects"]["share"] + sum(s["share"] for s in report["sites"])
    check(not report["samples"] or abs(total - 1) < 1e-6, f"shares add up to {total}")
    return report


def site(report, name):
    """The only site whose label begins with that word."""
    found = [site for site in report["sites"] if site["label"].split()[0] == name]
    check(len(found) == 1, f"{name}: {len(found)} sites of {[site['label'] for site in report['sites']]}")
    return found[0]


class Recorder:
    """Options of the command line, a scratch folder that goes away with it, and two threads that wait passively."""

    def __init__(self, options, **variables):
        self.options, self.omptier = options, options.omptier
        self.libraries = str(pathlib.Path(options.omptier).parent.parent / "lib")
        self.scratch = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.scratch.name)
        self.environment = clean_environment(**{"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive",
                                                "LC_ALL": "C.UTF-8", **variables})

    def run(self, *command, status=0, timeout=400, **variables):
        """A command in the folder, with more variables; it must end with that status, None: any."""
        return run(*command, status=status, timeout=timeout, cwd=self.folder, env=dict(self.environment, **variables))

    def record(self, *command, options=(), log="p.profile", **more):
        return self.run(self.omptier, "record", "-o", log, *options, "--", *command, **more)

    def report(self, *logs):
        return read_report(self.omptier, *(logs or ["p.profile"]), cwd=self.folder, env=self.environment)

    def text(self, *logs, verbose=False):
        return self.run(self.omptier, "report", "--width", "0", *(["--verbose"] if verbose else []),
                        *(logs or ["p.profile"])).stdout


def run_case(cases, *required, recorder=Recorder, optional=()):
    """<case> --omptier PATH and the options named: calls case_<case> of a test's functions with a recorder."""
    arguments = parser("omptier", *required)
    arguments.add_argument("case")
    for name in optional:
        arguments.add_argument("--" + name)
    options = arguments.parse_args()
    cases["case_" + options.case](recorder(options))
