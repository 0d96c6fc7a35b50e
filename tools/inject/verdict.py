"""What a report's JSON says of rounds whose truth is known: who, why, how surely; and the table of it."""

# As in src/analysis/causes.h: less is not worth a cause.
LEAST_NS = 20_000_000
LEAST_SHARE = 0.10

BARS = {"culprit": 0.99, "cause": 0.95}


def culprit_of(entry):
    """The worker with the largest drag of a round of the report, where that is worthwhile; else None."""
    workers = (entry.get("path") or {}).get("workers", [])
    if not workers:
        return None
    largest = max(workers, key=lambda one: one["drag_ns"] or 0)
    least = max(LEAST_NS, LEAST_SHARE * entry["wall_seconds"] * 1e9)
    return largest if (largest["drag_ns"] or 0) >= least else None


class Tally:
    """Of one kind of injection."""

    def __init__(self, name, cause):
        self.name, self.cause = name, cause
        self.injected = self.culprit = self.right = self.observed = 0
        self.clean = self.alarms = 0
        self.found = {}  # how often each cause was named

    def add(self, report, labels, victim):
        for entry in report["rounds"]:
            label = labels.get(entry["round"])
            if label is None:
                continue
            culprit = culprit_of(entry)
            if not label:
                self.clean += 1
                self.alarms += culprit is not None
                continue
            self.injected += 1
            if culprit is None or culprit["worker"] != victim:
                self.found["(nobody)" if culprit is None else "(another)"] = self.found.get(
                    "(nobody)" if culprit is None else "(another)", 0) + 1
                continue
            self.culprit += 1
            cause = culprit["cause"] or {"kind": "unknown", "grade": "hypothesis"}
            self.found[cause["kind"]] = self.found.get(cause["kind"], 0) + 1
            self.right += cause["kind"] == self.cause
            self.observed += cause["kind"] == self.cause and cause["grade"] == "observed"

    def cells(self, causes):
        return [self.name, str(self.injected), str(self.culprit),
                *[str(self.found.get(cause, 0) or "") for cause in causes],
                str(self.observed), str(self.clean), str(self.alarms)]


def table(tallies):
    """The confusion matrix: a row an injection, a column a cause that the report named."""
    causes = sorted({cause for tally in tallies for cause in tally.found})
    head = ["injected", "rounds", "culprit right", *causes, "observed", "clean rounds", "false alarms"]
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(tally.cells(causes)) + " |" for tally in tallies])


def summary(tallies):
    injected = sum(tally.injected for tally in tallies)
    parts = ["%d injected rounds: culprit right in %s, cause right in %s" % (
        injected, share(sum(tally.culprit for tally in tallies), injected),
        share(sum(tally.right for tally in tallies), injected))]
    parts.append("%d false alarms in %d clean rounds" % (sum(tally.alarms for tally in tallies),
                                                        sum(tally.clean for tally in tallies)))
    return "; ".join(parts)


def share(part, whole):
    return "%.1f %%" % (100 * part / whole) if whole else "–"


def meets_the_bars(tallies):
    injected = sum(tally.injected for tally in tallies)
    return (sum(tally.culprit for tally in tallies) >= BARS["culprit"] * injected
            and sum(tally.right for tally in tallies) >= BARS["cause"] * injected
            and sum(tally.alarms for tally in tallies) == 0)


def mostly_right(tallies):
    """For a few rounds on a machine that does other things too."""
    return all(2 * tally.right > tally.injected and 2 * tally.alarms <= tally.clean for tally in tallies)
