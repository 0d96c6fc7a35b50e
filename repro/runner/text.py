"""A scenario's results as Markdown: for the terminal as they are, for the page with its plots."""

from runner.figures import FIGURES


def number(value):
    if value is None:
        return "–"
    if value == int(value) and abs(value) < 1e6:
        return f"{int(value)}"
    return f"{value:.3g}" if abs(value) < 100 else f"{value:.0f}"


def name_of(case):
    return ", ".join(part for part in (case["way"], case["place"]) if part) or "as it is"


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def figures_table(results):
    played = [case for case in results["cases"] if "figures" in case]
    field = bool(results["field_figures"])
    head = ["figure", "unit"] + (["in the field"] if field else []) + [name_of(case) for case in played]
    rows = []
    for name in results["show"]:
        what, unit, _ = FIGURES[name]
        rows.append([what, unit] + ([results["field_figures"].get(name, "")] if field else [])
                    + [number(case["figures"][name]) for case in played])
    return table(head, rows)


def phases_table(results):
    """Every phase, process by process the median of the rounds: least to most."""
    played = [case for case in results["cases"] if "figures" in case]
    order = {}
    for case in played:
        for phase, side, least, most in case["phases"]:
            order.setdefault((phase, side), {})[name_of(case)] = (least, most)
    rows = []
    for (phase, side), by_case in order.items():
        cells = [by_case.get(name_of(case)) for case in played]
        if max((most for cell in cells if cell for most in cell[1:]), default=0) < 0.01:
            continue
        rows.append([phase, side] + ["–" if cell is None else number(cell[0]) if number(cell[0]) == number(cell[1])
                                     else f"{number(cell[0])} to {number(cell[1])}" for cell in cells])
    return table(["phase, s", "whose", *(name_of(case) for case in played)], rows)


def expectations_table(results):
    if not results["expectations"]:
        return ""
    rows = []
    for one in results["expectations"]:
        met = {True: "met", False: "**not met**", None: "not measured"}[one["met"]]
        rows.append([one["what"], ", ".join(part for part in (one["way"], one["place"]) if part), number(one["value"]),
                     one["bound"], met])
    return table(["expected", "way", "value", "bound", ""], rows)


def findings(results):
    lines = []
    for case in results["cases"]:
        if "figures" not in case:
            lines.append(f"*{name_of(case)}*: " + (f"left out: {case['left_out']}." if "left_out" in case else
                                                   f"**failed**: {case['failed']}."))
        elif case["findings"]:
            lines.append(f"What the report of *{name_of(case)}* finds:\n")
            lines += [f"- {finding['text']}" for finding in case["findings"]]
        else:
            lines.append(f"The report of *{name_of(case)}* finds nothing worth a sentence.")
        lines.append("")
    return "\n".join(lines).rstrip()


def machine(results):
    one = results["machine"]
    rates = [f"memcpy {one['memcpy_bytes_per_s'] / 1e9:.1f} GB/s (read and written)"] if one["memcpy_bytes_per_s"] else []
    rates += [f"the disk takes {one['disk_bytes_per_s'] / 1e9:.2f} GB/s"] if one["disk_bytes_per_s"] else []
    return (f"{number(one['cores'])} cores ({one['cpu']}), {one['memory_bytes'] / 1e9:.0f} GB of memory free, "
            f"{one['kernel']}; {', '.join(rates)}; {results['made']}")


def of(results, plots=False):
    """The whole scenario."""
    size = f"{results['workers']} workers, {results['parameters']:,} parameters" + (
        ", the quick form: too small for its figures to say much" if results["quick"] else "")
    parts = [results["field"] and f"In the field: {results['field']}", results["story"], f"Here: {size}. {machine(results)}.",
             figures_table(results), plots and plot(results), phases_table(results) and
             "Phase by phase: of each process the median of its rounds, from its first beginning to its last end; least "
             "to most of the processes. Phases run side by side and must not be added up.\n\n" + phases_table(results),
             expectations_table(results), findings(results)]
    return "\n\n".join(part for part in parts if part)


def plot(results):
    """Charts that a viewer of Markdown draws (Mermaid); in others the figures stand there as text."""
    charts = []
    for case in results["cases"]:
        if case.get("encode"):
            labels = ", ".join(f'"{worker}{"*" if limited else ""}"' for worker, limited, _ in case["encode"])
            bars = ", ".join(f"{s:.3f}" for _, _, s in case["encode"])
            charts.append(_chart(f"Encoding by worker, {name_of(case)} (* with a limit)", f"[{labels}]", "seconds",
                                 f"bar [{bars}]"))
        if case.get("memory"):
            points = thinned([point for point in case["memory"] if point[0] >= 0], 60)
            line = ", ".join(f"{share:.2f}" for _, share in points)
            charts.append(_chart(f"Coordinator's anonymous memory, {name_of(case)}",
                                 f'"seconds" {points[0][0]:.0f} --> {max(points[-1][0], 1):.0f}',
                                 "x fp32 model", f"line [{line}]"))
            owners = ", ".join(f"{owner} {share:.2f}" for owner, share in case["owners"] if share >= 0.01)
            charts.append(f"Its owners at the peak, x fp32 model: {owners}.")
    return "\n\n".join(charts)


def thinned(points, most):
    """At most so many, at even distances in time; each the latest one by then."""
    if len(points) <= 2:
        return points
    begin, end = points[0][0], points[-1][0]
    found, i = [], 0
    for step in range(most):
        moment = begin + (end - begin) * step / (most - 1)
        while i + 1 < len(points) and points[i + 1][0] <= moment:
            i += 1
        found.append((moment, points[i][1]))
    return found


def _chart(title, x, y, series):
    return "\n".join(["```mermaid", "xychart-beta", f'  title "{title}"', f"  x-axis {x}", f'  y-axis "{y}"',
                      f"  {series}", "```"])
