"""What a case came to: figures from its run.db and from `interlude report --json`, each with its name and unit.

All processes of a case are on one machine, whose monotonic clock they share: times of different processes may be
compared here as they are. The first round, which touches memory for the first time, is in no figure.
"""

import json
import sqlite3
import statistics
import subprocess

MODEL_BYTES_A_PARAM = 4
FIELD_PARAMS_BYTES = 2.53e9      # ViT-H/14 in fp32
FIELD_SAVE_S = 14.5              # what the field's save of it took in every round
FIELD_TRAIN_S = 48.0


class Figures:
    def __init__(self, binaries, case, directory):
        self.case = case
        self.path = directory / "run.db"
        report = subprocess.run([binaries / "interlude", "report", directory, "--json"], capture_output=True, text=True,
                                check=True)
        self.report = json.loads(report.stdout)
        self.model_bytes = MODEL_BYTES_A_PARAM * int(self.report["meta"]["parameters"])

    def rows(self, query, *parameters):
        with sqlite3.connect(f"file:{self.path}?mode=ro", uri=True) as database:
            return database.execute(query, parameters).fetchall()

    def all(self):
        return {name: make(self) for name, (_, _, make) in FIGURES.items()}

    def rounds(self):
        return self.report["rounds"][1:]

    def phase_seconds(self, phase, workers=None):
        """{worker: the median over the rounds of what the phase took it}; of the coordinator -1."""
        taken = {}
        for worker, ns in self.rows("SELECT recorded_by, sum(busy_ns) FROM spans JOIN rounds USING (round) WHERE "
                                    "phase = ? AND round > 1 GROUP BY recorded_by, round", phase):
            taken.setdefault(worker, []).append(ns / 1e9)
        return {worker: statistics.median(each) for worker, each in sorted(taken.items())
                if workers is None or worker in workers}

    def phases(self):
        """[(phase, side, least, most)] of the processes' medians, in a round's order; seconds of wall time."""
        found = []
        for phase, side in self.rows("SELECT phase, side FROM phases ORDER BY sort_order"):
            by = {}
            for worker, ns in self.rows(
                    "SELECT recorded_by, max(end_ns) - min(begin_ns) FROM spans JOIN rounds USING (round) WHERE phase = ? "
                    "AND spans.round > 1 GROUP BY recorded_by, spans.round".replace("end_ns) - min(begin_ns",
                                                                                   "spans.end_ns) - min(spans.begin_ns"),
                    phase):
                by.setdefault(worker, []).append(ns / 1e9)
            if by and phase != "round":
                medians = [statistics.median(each) for each in by.values()]
                found.append((phase, side, min(medians), max(medians)))
        return found

    def memory(self):
        """[(seconds from the first round's begin, RssAnon as a share of the model)] of the coordinator."""
        return [(at / 1e9, anonymous / self.model_bytes) for at, anonymous in self.rows(
            "SELECT at_ns - (SELECT min(begin_ns) FROM rounds), anonymous_bytes FROM process_samples "
            "WHERE recorded_by = -1 AND anonymous_bytes IS NOT NULL ORDER BY at_ns")]

    def owners_at_peak(self):
        """[(owner, share of the model)] of the coordinator's memory at its largest recorded sum, largest first."""
        held, best, most = {}, {}, -1
        for at, owner, size in self.rows("SELECT at_ns, owner, bytes FROM memory WHERE recorded_by = -1 ORDER BY id"):
            held[owner] = size
            if sum(held.values()) > most:
                most, best = sum(held.values()), dict(held)
        return sorted(((owner, size / self.model_bytes) for owner, size in best.items() if size), key=lambda p: -p[1])

    def causes(self, worker):
        """[(kind, grade) or None] of each counted round."""
        found = []
        for entry in self.rounds():
            cause = next((one["cause"] for one in (entry.get("path") or {}).get("workers", [])
                          if one["worker"] == worker), None)
            found.append((cause["kind"], cause["grade"]) if cause else None)
        return found


def _median(values):
    values = [value for value in values if value is not None]
    return statistics.median(values) if values else None


def _of_limited(phase, others=False):
    def make(figures):
        limited = figures.case.scenario.limited()
        chosen = [s for worker, s in figures.phase_seconds(phase).items()
                  if worker >= 0 and (worker in limited) != others]
        return _median(chosen) if limited else None
    return make


def _ratio(over, under):
    def make(figures):
        a, b = over(figures), under(figures)
        return a / b if a is not None and b else None
    return make


def _exchange_over_quota(figures):
    """How long the exchange of workers with a quota lasts as a multiple of (their CPU time in it) / (the quota)."""
    shares = []
    for limit in figures.case.scenario.limits:
        if limit.cores is None:
            continue
        workers = ", ".join(map(str, limit.workers))
        windows = figures.rows("SELECT min(s.end_ns) FILTER (WHERE phase = 'train'), max(s.end_ns) FROM spans s JOIN rounds "
                               f"USING (round) WHERE round > 1 AND recorded_by IN ({workers}) GROUP BY round")
        for begin, end in windows:
            # Of each sample the part that lies within.
            cpu = figures.rows("SELECT sum(1.0 * cpu_ns / interval_ns * max(0, min(at_ns, ?) - max(at_ns - interval_ns, ?))) "
                               f"FROM process_samples WHERE interval_ns > 0 AND recorded_by IN ({workers})",
                               end, begin)[0][0]
            if cpu:
                shares.append((end - begin) / (cpu / limit.cores))
    return _median(shares)


def _between(begin, end):
    """Median over the rounds of the time between two moments, each an SQL expression over `rounds`; 0 at least."""
    def make(figures):
        rows = figures.rows(f"SELECT ({end}) - ({begin}) FROM rounds WHERE round > 1")
        return _median([max(0, ns) / 1e9 for ns, in rows if ns is not None])
    return make


def _span(phase, edge):
    function = "min" if edge == "begin_ns" else "max"
    return f"SELECT {function}(s.{edge}) FROM spans s WHERE s.round = rounds.round AND s.phase = '{phase}'"


def _save(figures):
    return figures.phase_seconds("save").get(-1, 0.0)


def _save_field_s(figures):
    """The same bytes at the rate of the field's save."""
    written = [bytes_ for bytes_, in figures.rows("SELECT sum(bytes) FROM spans WHERE phase = 'save' AND round > 1 "
                                                  "GROUP BY round")]
    return FIELD_SAVE_S * (_median(written) or 0) / FIELD_PARAMS_BYTES


def _save_rate(figures):
    rates = [bytes_ / ns for bytes_, ns in figures.rows(
        "SELECT sum(bytes), sum(busy_ns) FROM spans WHERE phase = 'save' AND round > 1 GROUP BY round") if ns]
    return _median(rates)


def _cause_rounds(figures):
    """Rounds in which each limited worker's cause is its quota, as observed."""
    limited = [w for limit in figures.case.scenario.limits if limit.cores for w in limit.workers]
    by_worker = [figures.causes(worker) for worker in limited]
    return float(sum(all(cause == ("quota", "observed") for cause in each) for each in zip(*by_worker)))


def _named(grades):
    """1 where one finding of such a grade names exactly the limited workers and their quota."""
    def make(figures):
        limited = list(figures.case.scenario.limited())
        return float(any(sorted(f["workers"]) == limited and f["grade"] in grades
                         and f["id"].startswith("straggler_quota") for f in figures.report["findings"]))
    return make


def _bytes(figures):
    sums = figures.rows("SELECT avg(upload_bytes + download_bytes) FROM worker_rounds WHERE round > 1")
    return sums[0][0] / figures.model_bytes if sums[0][0] else None


def _exchange(figures):
    return _median([entry["exchange_seconds"] for entry in figures.rounds()])


def _train(figures):
    return _median([entry["slowest_train_seconds"] for entry in figures.rounds()])


def _outside_training(figures):
    return _median([entry["wall_seconds"] - entry["slowest_train_seconds"] for entry in figures.rounds()
                    if entry["slowest_train_seconds"] is not None])


def _memory_peak(figures):
    return max((share for _, share in figures.memory()), default=None)


def _memory_after(figures):
    memory = figures.memory()
    return memory[-1][1] if memory else None


# name: (what it is, unit, how it is made)
FIGURES = {
    "round_s": ("a round", "s", lambda f: _median([entry["wall_seconds"] for entry in f.rounds()])),
    "train_s": ("the slowest worker's local steps", "s", _train),
    "outside_training_s": ("a round without the slowest worker's local steps", "s", _outside_training),
    "exchange_s": ("the exchange, of the worker that needs least: from the end of its local steps to that of its last "
                   "phase", "s", _exchange),
    "exchange_of_48_s": ("the exchange as a share of 48 s of training", "", lambda f: _exchange(f) / FIELD_TRAIN_S),
    "slow_encode_s": ("encoding, the workers with a limit", "s", _of_limited("encode")),
    "fast_encode_s": ("encoding, the others", "s", _of_limited("encode", others=True)),
    "encode_ratio": ("encoding, the workers with a limit / the others", "x",
                     _ratio(_of_limited("encode"), _of_limited("encode", others=True))),
    "slow_upload_s": ("uploading, the workers with a limit", "s", _of_limited("upload")),
    "fast_upload_s": ("uploading, the others", "s", _of_limited("upload", others=True)),
    "exchange_over_quota": ("limited workers: exchange / (their CPU time in it / quota)", "x", _exchange_over_quota),
    "cause_rounds": ("rounds in which the cause of every limited worker is its quota, observed", "rounds",
                     _cause_rounds),
    "counted_rounds": ("rounds counted", "rounds", lambda f: float(len(f.rounds()))),
    "cause_share": ("share of the rounds in which the cause of every limited worker is its quota, observed", "",
                    lambda f: _cause_rounds(f) / len(f.rounds()) if f.rounds() else None),
    "finding_names_them": ("a finding, observed, names exactly the limited workers and their quota (1: yes)", "",
                           _named(("observed",))),
    "finding_suspects_them": ("a finding, observed or not, names exactly the limited workers and their quota (1: yes)", "",
                              _named(("observed", "hypothesis"))),
    "sync_s": ("last delta in -> last worker synced", "s", _between("last_delta_ns", "end_ns")),
    "sync_start_s": ("sync start -> last worker synced", "s", _between("first_sync_ns", "end_ns")),
    "aggregate_to_sync_s": ("first merge -> sync start", "s", _between(_span("merge", "begin_ns"), "first_sync_ns")),
    "merge_s": ("merging (aggregate, outer step, encode)", "s", lambda f: f.phase_seconds("merge").get(-1)),
    "save_s": ("saving a full model within the round", "s", _save),
    "save_gb_s": ("the save's rate", "GB/s", _save_rate),
    "save_field_s": ("what the saved bytes would take at the field's rate", "s", _save_field_s),
    "memory_peak": ("coordinator's most anonymous memory / fp32 model", "x", _memory_peak),
    "memory_after": ("coordinator's anonymous memory after the run / fp32 model", "x", _memory_after),
    "bytes": ("bytes of a worker and round, both directions / fp32 model", "x", _bytes),
    "saved_models": ("full models saved", "", lambda f: float(f.rows(
        "SELECT count(*) FROM spans WHERE phase = 'save' AND round > 1")[0][0])),
    "hashes_agree": ("all copies agree after every round (1: yes)", "",
                     lambda f: float(f.report["total"]["hashes_agree"])),
    "repaired_chunks": ("chunks sent again", "", lambda f: float(f.report["total"]["repaired_chunks"])),
}
