#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""Writes docs/evidence.md: every published figure that the drivers of this folder repeat, beside
the one measured here."""
import contextlib
import io

import applications
import devices
import groups
import published
import synthetic

PAGE = published.HERE.parents[1] / "docs" / "evidence.md"
# Differences that are understood, by a part of what is compared.
REASONS = {
    "B by columns, C in": "By the same factor as where B is read in rows: the published run may have written past the "
                          "caches.",
    "B by columns": "Reading columns waits on real cores for page walks, second-level caches and chains of additions, "
                    "which the time model does not have: it finds such code more memory-bound than it is.",
    "reading, Optane over DRAM": "Probably DRAM and Optane share their channels in the published measurement; here "
                                 "each has its own.",
    "neutron lookups, nuclides": "128 nuclides instead of 355 make the search of the energy a larger part of a lookup.",
    "all in MCDRAM": "Writes' bandwidth of MCDRAM is estimated.",
    "DGEMM, B in DRAM": "Probably threads read B together here, so that each line is read once for several rows.",
    "Integer Sort": "Probably random accesses wait for page walks on real cores, which the time model does not have.",
    "element-wise product, C": "The published run may have written past the caches.",
}


def reason(one):
    return next((text for part, text in REASONS.items() if part in one.what), "not known")


def page(chapters):
    out = io.StringIO()
    every = [one for _, found in chapters for one in found]
    with contextlib.redirect_stdout(out):
        print("# Measured here, and published\n")
        print("Made by `benchmarks/published/evidence.py BUILD` on the timed virtual machine (`omptier sandbox --timed`); "
              "[what the drivers do](../benchmarks/published/README.md). Figures are ratios of times.\n")
        print(f"{published.summary(every)}.")
        for title, found in chapters:
            print(f"\n## {title}")
            published.print_table(found)
        print("\n## Where they differ by more than a third, or in their order\n")
        for one in every:
            if one.factor > 4 / 3 or not one.same_order:
                print(f"- {one.what}: {one.measured:.2f} for {one.published:.2f}. {reason(one)}")
    return out.getvalue()


def main():
    options = published.arguments(__doc__)
    chapters = [("Memory devices", devices.comparisons(options)),
                ("One object in the faster memory", applications.comparisons(options)),
                ("Exhaustive groups", groups.comparisons(options)),
                ("Writes to blocks", synthetic.comparisons(options))]
    PAGE.write_text(page(chapters))
    print(f"wrote {PAGE}: {published.summary([one for _, found in chapters for one in found])}")


if __name__ == "__main__":
    main()
