"""Plays the cases of a scenario and keeps what they came to, as JSON: all that the page needs."""

import datetime
import pathlib
import shutil
import subprocess
import tempfile

from runner import figures, machine, stage
from runner.quota import Missing

MOST_FINDINGS = 4


def play(binaries, scenario, quick, keep, say):
    """The results; a case that the machine does not allow, or whose run fails, says so, and the others go on."""
    needed, there = machine.memory_needed(scenario), machine.memory_available()
    scratch = pathlib.Path(tempfile.mkdtemp(prefix=f"interlude-repro-{scenario.mark}-", dir=keep))
    results = {"mark": scenario.mark, "title": scenario.title, "facts": scenario.facts, "field": scenario.field,
               "story": scenario.story, "field_figures": scenario.field_figures, "show": scenario.show,
               "plot": scenario.plot, "quick": quick, "workers": scenario.workers, "parameters": scenario.parameters,
               "made": datetime.date.today().isoformat(), "machine": machine.measure(binaries, scratch), "cases": []}
    try:
        for place in scenario.places:
            for way in scenario.ways:
                case = stage.Case(scenario, place, way)
                if needed > there:
                    why = f"it needs about {needed / 1e9:.0f} GB of memory, and {there / 1e9:.0f} GB are free"
                    results["cases"].append({"way": way.name, "place": place.name, "left_out": why})
                    say(f"{case.name}: left out: {why}")
                    continue
                results["cases"].append(_play(binaries, case, scratch / str(len(results["cases"])), say)
                                        | {"way": way.name, "place": place.name})
    finally:
        if keep is None:
            shutil.rmtree(scratch, ignore_errors=True)
        else:
            say(f"the run directories are in {scratch}")
    results["expectations"] = judge(scenario, results["cases"])
    return results


def _play(binaries, case, directory, say):
    try:
        stage.Stage(binaries, case, directory, lambda line: say(f"{case.name}: {line}")).play()
        found = figures.Figures(binaries, case, directory)
    except Missing as missing:
        say(f"{case.name}: left out: {missing}")
        return {"left_out": str(missing)}
    except stage.CaseFailed as failed:
        say(f"{case.name}: failed: {failed}")
        return {"failed": str(failed).split(":")[0]}
    except subprocess.CalledProcessError as failed:
        say(f"{case.name}: failed: {failed}: {failed.stderr}")
        return {"failed": "its report cannot be made"}
    limited = case.scenario.limited()
    result = {"figures": found.all(), "phases": found.phases(), "findings": [
        {key: finding[key] for key in ("id", "workers", "text", "grade", "round_share", "evidence")}
        for finding in found.report["findings"][:MOST_FINDINGS]]}
    if case.scenario.plot == "encode":
        result["encode"] = [[worker, worker in limited, s] for worker, s in found.phase_seconds("encode").items()]
    if case.scenario.plot == "memory":
        result["memory"], result["owners"] = found.memory(), found.owners_at_peak()
    shutil.copy(directory / "run.db", directory.with_suffix(".db"))
    shutil.rmtree(directory)  # snapshots and journals are as large as the model
    directory.mkdir()
    directory.with_suffix(".db").rename(directory / "run.db")
    return result


def judge(scenario, cases):
    """Each expectation in each place: its value, and whether it is met (None: not measured)."""
    judged = []
    for expected in scenario.expectations:
        for case in cases:
            if case["way"] != expected.way or expected.place not in (None, case["place"]):
                continue
            value = case["figures"][expected.figure] if "figures" in case else None
            judged.append({"what": expected.what, "figure": expected.figure, "way": case["way"], "place": case["place"],
                           "bound": expected.bound(), "value": value,
                           "met": expected.met(value) if "figures" in case else None})
    return judged
