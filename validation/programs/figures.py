# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# What a report prints of an object against the truth: a verdict for each figure. "right" and "wrong" are the report's
# words held against the truth; "unsaid" is a figure that the report leaves open ("-", or no row of its own).
import dataclasses
import re

from programs import SMALL

POINTS, WRITES, CACHE, HOT, RATE, BYTES = 0.05, 0.05, 0.15, 0.10, 0.15, 0.01
MINOR = 0.01  # of time and accesses: an object below has too few samples for more than its name
UNITS = {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
VARIABLES = {"Entry": "head", "Order": "orders", "values[row]": "values", "columns[row]": "columns"}  # of small blocks
WORDS = {"scattered": "random", "indirect": "random", "chase": "pointer chase"}  # the report's words, where others


@dataclasses.dataclass
class Line:
    object: str
    figure: str
    printed: str
    truth: str
    verdict: str  # right, wrong, unsaid


def percent(value):
    return f"{100 * value:.1f} %"


def number(text):
    """19.1 MiB, 53.3 %, 2,368, > 1.24 G."""
    match = re.fullmatch(r"(?:> )?([\d.,]+)(?: (\S+))?", text)
    if not match:
        return None
    value = float(match[1].replace(",", ""))
    return value / 100 if match[2] == "%" else value * UNITS.get(match[2], 1)


def names(label):
    """All names in a row's label: tiles and density0 of "tiles%density0 (heat.f90:31) #2"; all of several as one."""
    name = re.sub(r"( #\d+)?( \([^()]*\))?( #\d+)?$", "", label).removeprefix("static ")
    return [name] if " " in name or "|" in name else re.split(r"->|[.%/]|::", name)


def text_rows(text):
    """Label -> column -> cell, of the table of objects."""
    rows, columns = {}, None
    for line in text.splitlines():
        cells = [cell for cell in re.split(r" {2,}", line.strip()) if cell]
        if cells and cells[0] == "object" and not columns:
            columns = cells[1:]
        elif columns and not cells:
            break
        elif columns:
            rows[cells[0]] = dict(zip(columns, cells[1:], strict=True))
    return rows


def fits(one, site):
    size = one["bytes"] * one["blocks"]
    return abs(site["bytes_peak"] - size) <= BYTES * size


def joined(sites):
    """One row for those of a loop that the compiler unrolled. What cannot be added up is left out."""
    def add(target, sources, *keys):
        target.update({key: sum(source[key] for source in sources) for key in keys})

    site = {"label": sites[0]["label"], "rows": len(sites), "pattern": sites[0].get("pattern", "unknown")}
    add(site, sites, "share", "low", "high", "bytes_peak", "objects")
    if "access_share" in sites[0]:
        accessed = site["access_share"] = {}
        add(accessed, [one["access_share"] for one in sites], "share", "low", "high")
        if all("write_share" in one for one in sites):
            written = sum(one["write_share"] * one["access_share"]["share"] for one in sites)
            site["write_share"] = written / max(accessed["share"], 1e-9)
        site["stride"] = sites[0]["stride"]
    return site


def row_of(site, rows):
    """A row's cells; of several that are joined those that add up."""
    if site.get("rows", 1) == 1:
        return rows.get(site["label"])
    return {"most bytes": f"{site['bytes_peak']} B", "blocks": str(site["objects"])}


def may_be(one, site):
    """Whether a reader could take the row for the object's: by its size, or a name in its label."""
    return fits(one, site) or re.search(rf"(?<!\w){re.escape(one['name'])}(?!\w)", site["label"]) is not None


def match_rows(objects, sites):
    """Name -> the sites of that name; else the only one left that may be its, where it may be no other object's."""
    matched = {}
    for one in objects:
        found = [site for site in sites if one["name"] in names(site["label"])]
        whole = [site for site in found if fits(one, site)]
        if not whole and len(found) > 1 and fits(one, joined(found)):
            whole = [joined(found)]
        matched[one["name"]] = whole or found[:1]
    taken = [names(site["label"]) for found in matched.values() for site in found]
    left = [site for site in sites if names(site["label"]) not in taken]
    nameless = [one for one in objects if not matched[one["name"]]]
    for one in nameless:
        found = [site for site in left if may_be(one, site)]
        alike = [other for other in nameless if any(may_be(other, site) for site in found)]
        if len(found) == len(alike) == 1:
            matched[one["name"]] = found
    return matched


def judge_name(one, found, sites, minor):
    """Of several rows which is which cannot be told: then nothing but the name is judged."""
    if len(found) == 1:
        return Line(one["name"], "name", found[0]["label"], one["name"],
                    "right" if one["name"] in names(found[0]["label"]) else "wrong")
    rows = found or [site for site in sites if may_be(one, site)]
    if not rows:
        return Line(one["name"], "name", "no row", one["name"], "unsaid" if minor else "wrong")
    more = f" and {len(rows) - 1} more rows" if len(rows) > 1 else ""
    return Line(one["name"], "name", rows[0]["label"] + more, one["name"], "wrong")


def near(printed, truth, points):
    return "right" if abs(printed - truth) <= points else "wrong"


def judge_share(name, figure, printed, low, high, truth):
    verdict = "right" if low <= truth <= high else near(printed, truth, POINTS)
    return Line(name, figure, f"{percent(printed)} ({100 * low:.1f}-{100 * high:.1f})", percent(truth), verdict)


def judge_rate(one, site, cell, seconds):
    """In bytes a second, since a vector's access counts as one. ">" is wrong where it says more than there is."""
    truth = one["accessed_bytes"] / seconds
    said = f"{truth / 1e6:,.0f} MB/s"
    if cell == "-" or "access_rate" not in site:
        return Line(one["name"], "rate", "-", said, "unsaid")
    printed = site["access_rate"]["bytes_per_second"]
    bound = cell.startswith(">")
    right = printed <= (1 + RATE) * truth and (bound or printed >= (1 - RATE) * truth)
    return Line(one["name"], "rate", f"{'> ' if bound else ''}{printed / 1e6:,.0f} MB/s", said,
                "right" if right else "wrong")


def judge_pattern(one, site):
    name, printed, truth = one["name"], site.get("pattern", "unknown"), WORDS.get(one["pattern"], one["pattern"])
    yield Line(name, "pattern", printed, truth,
               "unsaid" if printed == "unknown" else "right" if printed == truth else "wrong")
    if "stride" in one or printed == "strided":
        stride = site.get("stride", 0) if printed == "strided" else 0
        truth = one.get("stride", 0)
        verdict = "right" if stride == truth else "unsaid" if printed == "unknown" else "wrong"
        yield Line(name, "stride", f"{stride} B", f"{truth} B", verdict)
    if "through" in one or site.get("through"):
        through, truth = site.get("through"), VARIABLES.get(one.get("through"), one.get("through"))
        verdict = "unsaid" if through is None else "right" if truth and truth in names(through) else "wrong"
        yield Line(name, "through", through or "-", truth or "-", verdict)


def judge_cells(one, row):
    """Figures of the text alone: printed as a number, or "-"."""
    name, size = one["name"], one["bytes"] * one["blocks"]
    printed = number(row.get("most bytes", "-"))
    if printed is not None:
        yield Line(name, "bytes", row["most bytes"], f"{size / 2**20:.1f} MiB", near(printed / size, 1, BYTES))
    count = number(row.get("blocks", "-"))
    if count is not None:
        missed = BYTES if one["bytes"] < SMALL else 0  # the first ones, before the site was found to have most
        yield Line(name, "objects", row["blocks"], f"{one['blocks']:,}", near(count / one["blocks"], 1, missed))
    for figure, truth, points in ("from cache", one["from_cache"], CACHE), ("hot part", one["hot_part"], HOT):
        if truth is None:
            continue
        printed = number(row.get(figure, "-"))
        yield Line(name, figure, row.get(figure, "-"), percent(truth),
                   "unsaid" if printed is None else near(printed, truth, points))
    loads = row.get("load/store", "-")
    stores = None if loads == "-" else int(loads.split("/")[1]) / 100
    yield Line(name, "load/store", loads, f"{100 - 100 * one['write_share']:.0f}/{100 * one['write_share']:.0f}",
               "unsaid" if stores is None else near(stores, one["write_share"], WRITES + 0.005))


def judge_object(one, site, row, seconds):
    name = one["name"]
    if one["time_share"] is not None:
        yield judge_share(name, "share", site["share"], site["low"], site["high"], one["time_share"])
    if "access_share" in site:
        accessed = site["access_share"]
        yield judge_share(name, "accessed", accessed["share"], accessed["low"], accessed["high"], one["access_share"])
        yield from judge_pattern(one, site)
        if site.get("pattern") != "unknown":
            printed = site.get("write_share")
            yield Line(name, "write share", "-" if printed is None else f"{printed:.2f}", f"{one['write_share']:.2f}",
                       "unsaid" if printed is None else near(printed, one["write_share"], WRITES))
    yield from judge_cells(one, row)
    yield judge_rate(one, site, row.get("accesses/s", "-"), seconds)


def judge_small(objects, report, rows, seconds):
    """The sites that allocate most have rows, whose name is the variable's that an address goes to; the others' blocks
    are one row."""
    rest = []
    for one in objects:
        found = next((site for site in report["sites"] if fits(one, site)), None)
        if found is None:
            yield Line(one["name"], "name", "small objects", one["name"], "unsaid")
            rest.append(one)
            continue
        name = VARIABLES.get(one["name"], one["name"])
        yield Line(one["name"], "name", found["label"], name, "right" if name in names(found["label"]) else "wrong")
        yield from judge_object(one, found, rows[found["label"]], seconds)
    shares = [one["time_share"] for one in rest]
    if rest and None not in shares:
        row = report["small_objects"]
        yield judge_share("small objects", "share", row["share"], row["low"], row["high"], sum(shares))


def judge(truth, recorded, report, text):
    """A line for each object and figure. recorded: the truth that the recorded run wrote; its times are that run's."""
    times = {one["name"]: one["time_share"] for one in truth["objects"]}
    objects = [{**one, "time_share": times[one["name"]]} for one in recorded["objects"]]
    small = [one for one in objects if one["bytes"] < SMALL]
    large = [one for one in objects if one["bytes"] >= SMALL]
    rows, matched = text_rows(text), match_rows(large, report["sites"])
    for one in large:
        found = matched[one["name"]]
        minor = (one["time_share"] or 0) < MINOR and one["access_share"] < MINOR
        yield judge_name(one, found, report["sites"], minor)
        row = row_of(found[0], rows) if len(found) == 1 else None  # none: too small for one
        if row is not None and not minor:
            yield from judge_object(one, found[0], row, recorded["seconds"])
    yield from judge_small(small, report, rows, recorded["seconds"])
    known = sum(site["share"] for site in report["sites"] if any(may_be(one, site) for one in objects))
    known += report["small_objects"]["share"] if small else 0
    # What is no object's: the time outside of the loops, and in malloc.
    loops = recorded["loop_seconds"] - recorded["allocating_seconds"]
    outside = 1 - loops / recorded["processor_seconds"]
    yield Line("(all other rows)", "share", percent(1 - known), f"<= {percent(outside)}",
               "right" if 1 - known <= outside + POINTS else "wrong")
