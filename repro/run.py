#!/usr/bin/env python3
"""Plays scenarios on this machine, with real processes, and says what they cost. `interlude repro` calls it.

docs/scenarios.md describes the scenarios' files; those of the field report stand beside this program.
Exit status: 0 all expectations are met, 1 one is not, or a run failed, 2 a wrong command line or file,
77 the machine allows none of the cases.
"""

import argparse
import json
import pathlib
import signal
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "tools")]

import results_section  # noqa: E402
from runner import figures, lines, quota, results, scenario, text  # noqa: E402


def own_scenarios():
    return sorted(HERE.glob("*.toml"))


def choose(names, quick):
    """The scenarios of these names: a file, the name of one that stands here, a fact such as F2, or all."""
    own = {path: scenario.read(path, figures.FIGURES, quick) for path in own_scenarios()}
    chosen = {}
    for name in names:
        if name == "all":
            found = {path: one for path, one in own.items() if one.facts}
        elif name.endswith(".toml"):
            path = pathlib.Path(name)
            found = {path: scenario.read(path, figures.FIGURES, quick)}
        else:
            found = {path: one for path, one in own.items() if name in one.facts or name == path.stem}
        if not found:
            known = [*sorted({fact for one in own.values() for fact in one.facts}), *(path.stem for path in own)]
            raise scenario.ScenarioError(f"no scenario is named {name}; known are all, {', '.join(known)}, and files "
                                         f"that end in .toml")
        chosen |= found
    return list(chosen.values())


def verdict(all_results):
    judged = [one["met"] for each in all_results for one in each["expectations"]]
    cases = [case for each in all_results for case in each["cases"]]
    if any("failed" in case for case in cases) or False in judged:
        return 1
    return 0 if any("figures" in case for case in cases) else 77


def play(options, one):
    def say(line):
        print(f"[{one.mark}] {line}", file=sys.stderr, flush=True)

    found = results.play(options.binaries, one, options.quick, options.keep, say)
    print(f"\n# {one.title}\n\n{text.of(found)}\n", flush=True)
    if options.results:
        options.results.mkdir(parents=True, exist_ok=True)
        (options.results / f"{one.mark}.json").write_text(json.dumps(found, indent=1))
    return found


def clear_leftovers():
    """Of a run of ours that was killed: namespaces and cgroups that bear the id of a process that is no more."""
    for path in [*pathlib.Path("/run/netns").glob(f"{quota.PREFIX}*"), *quota.CGROUPS.glob(f"{quota.PREFIX}*"),
                 *quota.CGROUPS.glob(f"cpu/{quota.PREFIX}*")]:
        if not pathlib.Path(f"/proc/{path.name.split('-')[2]}").exists():
            try:
                lines.delete(path.name) if path.parent.name == "netns" else path.rmdir()
            except OSError:
                pass  # somebody is in it still


def main():
    parser = argparse.ArgumentParser(prog="interlude repro", description=__doc__.split("\n")[0])
    parser.add_argument("scenarios", nargs="+", metavar="SCENARIO", help="F1 to F9, all, or a file of your own (.toml)")
    parser.add_argument("--quick", action="store_true", help="small and short: whether it works, not what it costs")
    parser.add_argument("--keep", type=pathlib.Path, metavar="DIR", help="leave the runs' run.db in a folder there")
    parser.add_argument("--results", type=pathlib.Path, metavar="DIR", help="also keep the results as JSON")
    parser.add_argument("--write", type=pathlib.Path, metavar="PAGE",
                        help="replace the scenarios' sections of this page, as docs/field-report.md")
    parser.add_argument("--binaries", type=lambda path: pathlib.Path(path).resolve(), default=HERE.parent / "build/release/bin",
                        help=argparse.SUPPRESS)
    options = parser.parse_args()
    try:
        chosen = choose(options.scenarios, options.quick)
    except scenario.ScenarioError as error:
        print(f"interlude repro: {error}", file=sys.stderr)
        return 2
    # So that what holds processes back is taken away then, too.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    clear_leftovers()
    if options.keep:
        options.keep.mkdir(parents=True, exist_ok=True)
    found = []
    for one in chosen:
        found.append(play(options, one))
        if options.write:
            results_section.replace(options.write, one.mark, text.of(found[-1], plots=True))
    return verdict(found)


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
