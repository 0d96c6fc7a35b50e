"""Reads a scenario's file: what runs, behind which lines and limits, in which ways, and what is expected of it.

docs/scenarios.md describes the format for people. Nothing is run here.
"""

import dataclasses
import pathlib
import tomllib


class ScenarioError(Exception):
    """What is wrong with a file, and what would be right."""


@dataclasses.dataclass(frozen=True)
class Limit:
    """Workers that share a CPU quota, and how many threads their software starts (None: what interlude takes)."""
    workers: tuple
    cores: float | None = None
    threads: int | None = None


@dataclasses.dataclass(frozen=True)
class Line:
    """What lies between these workers and the coordinator; they share it. Rates in Mbit/s, 0: no limit."""
    workers: tuple
    name: str = ""
    delay_ms: float = 0  # one way
    up_mbit: float = 0
    down_mbit: float = 0
    loss: float = 0


@dataclasses.dataclass(frozen=True)
class Way:
    """One way to do it. `limited_threads`: of the workers with a limit, as software that does not know it starts."""
    name: str
    settings: dict
    limited_threads: int | None = None


@dataclasses.dataclass(frozen=True)
class Place:
    """Where the coordinator is: the lines from there to the workers."""
    name: str
    lines: tuple


@dataclasses.dataclass(frozen=True)
class Expectation:
    """A figure of one way (in one place, or in each) that has a bound."""
    what: str
    figure: str
    way: str
    place: str | None = None
    at_least: float | None = None
    at_most: float | None = None

    def met(self, value):
        if value is None:
            return False
        return ((self.at_least is None or value >= self.at_least)
                and (self.at_most is None or value <= self.at_most))

    def bound(self):
        parts = [] if self.at_least is None else [f"at least {self.at_least:g}"]
        return " and ".join(parts + ([] if self.at_most is None else [f"at most {self.at_most:g}"]))


@dataclasses.dataclass(frozen=True)
class Scenario:
    mark: str  # the file's name
    title: str
    facts: tuple
    field: str
    story: str
    workers: int
    threads: int
    settings: dict
    limits: tuple
    places: tuple  # one without a name where the file has none
    ways: tuple
    show: tuple
    field_figures: dict  # figure: what was seen in the field
    expectations: tuple
    plot: str | None
    timeout_s: float

    @property
    def parameters(self):
        return int(self.settings.get("model.synthetic_params", 0))

    def limited(self):
        return tuple(worker for limit in self.limits for worker in limit.workers)


def flatten(table, prefix=""):
    """{"round": {"codec": "q4"}} is {"round.codec": "q4"}, as --set wants it."""
    flat = {}
    for key, value in table.items():
        flat |= flatten(value, f"{prefix}{key}.") if isinstance(value, dict) else {prefix + key: value}
    return flat


def merged(table, over):
    """`over` wins; tables are merged, everything else replaced."""
    result = dict(table)
    for key, value in over.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return result


class _Table:
    """One table of the file: takes keys by type, and refuses what nobody took."""

    def __init__(self, table, where):
        if not isinstance(table, dict):
            raise ScenarioError(f"{where} must be a table")
        self.table, self.where, self.taken = table, where, []

    def take(self, key, kinds, default=None, required=False):
        self.taken.append(key)
        if key not in self.table:
            if required:
                raise ScenarioError(f"{self.where} needs the key {key}")
            return default
        value = self.table[key]
        kinds = kinds if isinstance(kinds, tuple) else (kinds,)
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise ScenarioError(f"{self.where}: {key} must be {' or '.join(kind.__name__ for kind in kinds)}, "
                                f"not {value!r}")
        return value

    def number(self, key, default=None, least=0.0, required=False):
        value = self.take(key, (int, float), default, required)
        if value is not None and not least <= value < 1e15:
            raise ScenarioError(f"{self.where}: {key} = {value} is out of range: at least {least:g}")
        return value

    def count(self, key, default=None, least=1, required=False):
        value = self.take(key, int, default, required)
        if value is not None and not least <= value <= 10**6:
            raise ScenarioError(f"{self.where}: {key} = {value} is out of range: {least} to 1000000")
        return value

    def tables(self, key):
        return [_Table(each, f"{self.where}[[{key}]] number {i}") for i, each in enumerate(self.take(key, list, []), 1)]

    def done(self):
        unknown = [key for key in self.table if key not in self.taken]
        if unknown:
            raise ScenarioError(f"{self.where}: no key is named {unknown[0]}; known are {', '.join(self.taken)}")


def _workers(table, count):
    value = table.take("workers", (list, str), required=True)
    chosen = tuple(range(count)) if value == "all" else tuple(value)
    if not chosen or any(not isinstance(one, int) or not 0 <= one < count for one in chosen):
        raise ScenarioError(f'{table.where}: workers must be "all" or a list of numbers from 0 to {count - 1}, '
                            f"not {value!r}")
    return chosen


def _limit(table, count):
    limit = Limit(_workers(table, count), table.number("cores", least=0.01), table.count("threads"))
    table.done()
    return limit


def _line(table, count):
    workers = _workers(table, count)
    both = table.number("mbit", 0)
    line = Line(workers, table.take("name", str, ""), table.number("delay_ms", 0), table.number("up_mbit", both),
                table.number("down_mbit", both), table.number("loss", 0))
    if line.loss >= 1:
        raise ScenarioError(f"{table.where}: loss is a probability, below 1")
    table.done()
    return line


def _once(items, where):
    seen = [worker for item in items for worker in item.workers]
    twice = {worker for worker in seen if seen.count(worker) > 1}
    if twice:
        raise ScenarioError(f"{where}: worker {min(twice)} stands in two of them")
    return tuple(items)


def _way(table):
    way = Way(table.take("name", str, required=True), flatten(table.take("settings", dict, {})),
              table.count("limited_threads"))
    table.done()
    return way


def _places(table, count):
    own = _once([_line(each, count) for each in table.tables("line")], "[[line]]")
    places = []
    for each in table.tables("place"):
        lines = _once([_line(line, count) for line in each.tables("line")], each.where)
        places.append(Place(each.take("name", str, required=True), lines))
        each.done()
    if places and own:
        raise ScenarioError("give the lines to the places ([[place.line]]), or have no [[place]]")
    return tuple(places) or (Place("", own),)


def _expectation(table, ways, places, figures):
    found = Expectation(table.take("what", str, required=True), table.take("figure", str, required=True),
                        table.take("way", str, required=True), table.take("place", str),
                        table.number("at_least", least=-1e15), table.number("at_most", least=-1e15))
    if found.figure not in figures:
        raise ScenarioError(f"{table.where}: no figure is named {found.figure}; known are {', '.join(figures)}")
    if found.way not in [way.name for way in ways]:
        raise ScenarioError(f"{table.where}: no [[way]] is named {found.way}")
    if found.place is not None and found.place not in [place.name for place in places]:
        raise ScenarioError(f"{table.where}: no [[place]] is named {found.place}")
    if found.at_least is None and found.at_most is None:
        raise ScenarioError(f"{table.where} needs at_least or at_most")
    table.done()
    return found


def read(path, figures, quick=False):
    """The scenario of a file. `figures`: the names that figures may have."""
    path = pathlib.Path(path)
    try:
        whole = tomllib.loads(path.read_text())
    except OSError as error:
        raise ScenarioError(f"{path} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ScenarioError(f"{path} is no TOML: {error}") from error
    try:
        return _scenario(path, whole, figures, quick)
    except ScenarioError as error:
        raise ScenarioError(f"{path}: {error}") from error


def _scenario(path, whole, figures, quick):
    over = whole.pop("quick", {})
    table = _Table(merged(whole, over) if quick else whole, "the file")
    count = table.count("workers", required=True)
    ways = tuple(_way(each) for each in table.tables("way")) or (Way("", {}),)
    places = _places(table, count)
    show = tuple(table.take("show", list, ["round_s", "exchange_s"]))
    unknown = [name for name in show if name not in figures]
    if unknown:
        raise ScenarioError(f"show: no figure is named {unknown[0]}; known are {', '.join(figures)}")
    expected = tuple(_expectation(each, ways, places, figures) for each in table.tables("expect"))
    plot = table.take("plot", str)
    if plot not in (None, "encode", "memory"):
        raise ScenarioError(f'plot must be "encode" or "memory", not {plot!r}')
    scenario = Scenario(
        mark=path.stem, title=table.take("title", str, required=True), facts=tuple(table.take("facts", list, [])),
        field=table.take("field", str, ""), story=table.take("story", str, ""), workers=count,
        threads=table.count("threads", 1), settings=flatten(table.take("settings", dict, {})),
        limits=_once([_limit(each, count) for each in table.tables("limit")], "[[limit]]"), places=places, ways=ways,
        show=show, field_figures=table.take("field_figures", dict, {}), expectations=expected, plot=plot,
        timeout_s=table.number("timeout_s", 1800, least=1))
    table.done()
    return scenario
