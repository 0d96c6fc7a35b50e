#!/usr/bin/env python3
"""Reports for the tests and the pictures of the HTML page: made up, but as a real run's would be.

run_of() plays rounds of a pipelined exchange event by event, so the pieces of each critical path add
up to the round and fit the spans; drag is what a second play without that worker's slowness gives.
Usage: page_fixtures.py NAME prints one of FIXTURES as JSON.
"""

import hashlib
import json
import random
import statistics
import sys

MS, SECOND = 10**6, 10**9
HOUR = 3600 * SECOND
OWNERS = ("parameters", "outer_state", "residual", "payloads", "caches", "allocator", "rest")


class Event:
    """One activity: who did what when, and which activity it waited for last."""

    def __init__(self, what, worker, chunk, before, length, lag=(0, None)):
        self.what, self.worker, self.chunk = what, worker, chunk
        ready = [event for event in before if event]
        self.before = max(ready, key=lambda event: event.end) if ready else None
        self.lag, self.lag_what = lag
        self.begin = (self.before.end if self.before else 0) + self.lag
        self.end = self.begin + length


def worker_times(rng, slow, chunks):
    """How long one worker takes for each activity in one round."""
    return {"start": rng.randint(300, 900) * 1000, "train": int(rng.gauss(8.1, 0.08) * SECOND),
            "encode": [int(rng.gauss(85, 5) * slow * MS) for _ in range(chunks)],
            "upload": [int(rng.gauss(60, 6) * MS) for _ in range(chunks)],
            "download": [int(rng.gauss(45, 4) * MS) for _ in range(chunks)],
            "apply": [int(rng.gauss(22, 2) * MS) for _ in range(chunks)],
            "verify": int(rng.gauss(30, 3) * MS), "pause": 0}


def play(times, merge_ns, link_ns):
    """All events of a round, by worker (None is the coordinator), and the last of them."""
    chunks = len(merge_ns)
    events = {worker: [] for worker in [None, *times]}
    received = {}
    for worker, t in times.items():
        own = events[worker]
        start = Event("start", None, None, [], t["start"])
        events[None].append((start, worker))
        last = Event("train", worker, None, [start], t["train"], (link_ns, "link_down"))
        own.append(last)
        sent = came = None
        for chunk in range(chunks):
            last = Event("encode", worker, chunk, [last], t["encode"][chunk])
            sent = Event("upload", worker, chunk, [last, sent], t["upload"][chunk])
            came = Event("receive", None, chunk, [sent], 4 * MS, (link_ns, "link_up"))
            received[worker, chunk] = came
            own += [last, sent]
            events[None].append((came, worker))
    merged = None
    gates = []
    for chunk in range(chunks):
        merged = Event("merge", None, chunk, [merged, *(received[w, chunk] for w in times)], merge_ns[chunk],
                       (2 * MS, "hand_over"))
        events[None].append((merged, None))
        gates.append(merged)
    reports = [finish(worker, t, gates, events, link_ns) for worker, t in times.items()]
    return events, max(reports, key=lambda event: event.end)


def finish(worker, t, gates, events, link_ns):
    sent = down = applied = None
    for chunk, gate in enumerate(gates):
        sent = Event("send", None, chunk, [gate, sent], 6 * MS)
        events[None].append((sent, worker))
        down = Event("download", worker, chunk, [sent, down], t["download"][chunk], (link_ns, "link_down"))
        applied = Event("apply", worker, chunk, [down, applied], t["apply"][chunk])
        events[worker] += [down, applied]
    verify = Event("verify", worker, None, [applied], t["verify"], (t["pause"], "unexplained"))
    events[worker].append(verify)
    report = Event("report", None, None, [verify], 1 * MS, (link_ns, "link_up"))
    events[None].append((report, worker))
    return report


def path_of(last):
    pieces = []
    event = last
    while event:
        pieces.append((event.what, None, event.worker, event.chunk, event.begin, event.end))
        if event.lag:
            following = event.what if event.lag_what in ("hand_over", "unexplained") else None
            pieces.append((event.lag_what, following, event.worker, event.chunk, event.begin - event.lag, event.begin))
        event = event.before
    pieces.reverse()
    assert pieces[0][4] == 0 and all(a[5] == b[4] for a, b in zip(pieces, pieces[1:]))
    return [{"what": what, "next": following, "worker": worker, "chunk": chunk, "begin_ns": begin, "end_ns": end,
             "error_ns": 0 if worker is None else 52_000}
            for what, following, worker, chunk, begin, end in pieces if end > begin]


def own_work(t):
    return t["train"] + sum(t["encode"]) + sum(t["upload"]) + sum(t["apply"]) + t["verify"] + t["pause"]


def typical(times):
    """The median worker's times."""
    def middle(name):
        values = [t[name] for t in times.values()]
        if isinstance(values[0], list):
            return [int(statistics.median(column)) for column in zip(*values)]
        return int(statistics.median(values))
    return {name: middle(name) for name in next(iter(times.values()))}


def causes_of(worker, excess, slow_by_quota, rng):
    if worker in slow_by_quota:
        return {"letter": "Q", "kind": "CPU quota", "grade": "observed", "share": rng.uniform(0.88, 0.97)}
    if excess > 400 * MS:
        return {"letter": "N", "kind": "neighbours on the same machine", "grade": "hypothesis", "share": 0.55}
    return None


def clock_of(worker, number):
    """What is to be added to a worker's clock in a round; the last one's is another day's boot."""
    at_first = worker * 3_217_000 - 9_000_000 + (8 * HOUR if worker == 11 else 0)
    return at_first + number * 33_000 * (worker % 5 - 2)


def span_of(number, process, phase, about, events, begin, with_chunks):
    offset = clock_of(process, number) if process is not None else 0
    def raw(ns):
        return begin + ns - offset
    chunks = [[e.chunk, raw(e.begin), raw(e.end)] for e in events if e.chunk is not None]
    return {"round": number, "process": process, "phase": phase, "about": about,
            "chunks": chunks if chunks and with_chunks else None,
            "begin_ns": raw(min(e.begin for e in events)), "end_ns": raw(max(e.end for e in events))}


def spans_of(number, begin, wall, events, with_chunks):
    groups = {}
    for event, about in events[None]:
        groups.setdefault((None, event.what, about), []).append(event)
    for worker, own in events.items():
        if worker is not None:
            for event in own:
                groups.setdefault((worker, event.what, None), []).append(event)
    spans = [{"round": number, "process": None, "phase": "round", "about": None, "chunks": None,
              "begin_ns": begin, "end_ns": begin + wall}]
    spans += [span_of(number, process, phase, about, some, begin, with_chunks)
              for (process, phase, about), some in groups.items()]
    return spans


def round_of(number, workers, slow_by_quota, rng, chunks, exact):
    times = {}
    for worker in range(workers):
        slow = (11 if worker == slow_by_quota[0] else 8.5) if worker in slow_by_quota else 1
        times[worker] = worker_times(rng, slow * rng.uniform(0.97, 1.05), chunks)
    if number % 7 == 3:
        times[(number * 5) % workers]["train"] += int(rng.uniform(0.5, 1.4) * SECOND)
    merge = [int(rng.gauss(70, 4) * MS) for _ in range(chunks)]
    events, last = play(times, merge, 14 * MS)
    if number % 6 == 5:
        times[last.before.worker]["pause"] = 310 * MS
        events, last = play(times, merge, 14 * MS)
    path = {"pieces": path_of(last),
            "workers": workers_of(times, merge, last, events, slow_by_quota, rng, exact)}
    return last.end, path, events, times


def workers_of(times, merge, last, events, slow_by_quota, rng, exact):
    usual = typical(times)
    rows = []
    for worker, t in times.items():
        excess = max(0, own_work(t) - own_work(usual))
        if exact and excess:
            drag = last.end - play({**times, worker: usual}, merge, 14 * MS)[1].end
        else:
            drag = excess // 3
        end = max(event.end for event in events[worker])
        rows.append({"worker": worker, "slack_ns": max(0, last.end - end - 15 * MS), "drag_ns": max(0, drag),
                      "excess_ns": excess, "cause": causes_of(worker, excess, slow_by_quota, rng)})
    return rows


def memory_of(process, seconds, parameters):
    steps = list(range(0, max(3, int(seconds)), 2))
    model = 4 * parameters
    owners = {name: [] for name in OWNERS}
    rss = []
    for step in steps:
        phase = (step % 15) / 15
        now = {"parameters": model, "outer_state": model if process is None else 0, "residual": model // 2,
               "payloads": int(model * (0.27 if phase > 0.6 else 0.02)),
               "caches": int(model * 0.1), "allocator": int(model * 0.08 * (1 + phase)), "rest": 160_000_000}
        for name in OWNERS:
            owners[name].append(now[name])
        rss.append(int(sum(now.values()) * 1.012))
    return {"process": process, "times_s": [float(step) for step in steps], "rss": rss, "owners": owners}


def clocks_of(workers, rounds):
    clocks = []
    for number in range(1, rounds + 1):
        for worker in range(workers):
            # The last of many workers has no usable probe.
            known = workers <= 4 or worker < workers - 1
            clocks.append({"worker": worker, "round": number, "method": "probes" if known else "none", "at_ns": 0,
                           "offset_ns": clock_of(worker, number) if known else None, "drift": 0,
                           "error_ns": 60_000_000 if worker == 9 else 52_000})
    return clocks


FINDINGS = [
    {"id": "slow-cpu-quota-3-7", "grade": "observed", "saves_ns_per_round": 6_310_000_000, "round_share": 0.384,
     "text": "Workers 3 and 7 encode 11.0 and 8.5 times slower than the median worker, because a cgroup quota "
             "of 1.0 CPU stops their 8 threads.",
     "evidence": ["encode took 7.48 s on worker 3 and 5.78 s on worker 7; the median worker's took 0.68 s",
                  "throttled for 6.9 s of the 7.5 s, in 74 of 75 quota periods",
                  "the quota explains 94 % of the excess"],
     "records": "SELECT round, recorded_by, (end_ns - begin_ns) / 1e9 AS seconds, run_delay_ns / 1e9 AS delay\n"
                "FROM spans WHERE phase = 'encode' AND recorded_by IN (3, 7) ORDER BY round;",
     "try": "Give these two workers 8 CPUs (cpu.max \"800000 100000\"), or start them with --threads 1."},
    {"id": "neighbours", "grade": "hypothesis", "saves_ns_per_round": 402_000_000, "round_share": 0.024,
     "text": "In 3 of 24 rounds one worker trained 0.5 s to 1.4 s longer than the median; other programs on its "
             "machine may have had its CPUs.",
     "evidence": ["run-queue delay was 0.6 s of 1.1 s excess in round 10: 55 %, below the 80 % that observed asks for",
                  "what would settle it: the machine's own CPU pressure, which this kernel does not give"],
     "records": "SELECT * FROM process_samples WHERE recorded_by = 2 ORDER BY at_ns;",
     "try": "Run `interlude doctor` on that machine while the run goes on."},
    {"id": "unexplained", "grade": "observed", "saves_ns_per_round": 51_000_000, "round_share": 0.003,
     "text": "0.31 s between apply and verify has no recorded cause in 4 rounds.",
     "evidence": ["unexplained is 1.9 % of these rounds, and 0 in the others"], "records": None, "try": None},
]


def spread(value):
    return {"min": value, "median": value, "max": value}


def row_of(number, wall, path, times, rounds):
    train = max(t["train"] for t in times.values())
    return {"round": number, "wall_seconds": wall / SECOND, "slowest_train_seconds": train / SECOND,
            "slowest_worker": max(times, key=lambda w: times[w]["train"]),
            "exchange_seconds": (wall - train) / SECOND, "exchange_of_workers": spread((wall - train) / SECOND),
            "train_share": spread(train / wall), "upload_bytes": spread(45_700_000.0),
            "download_bytes": spread(45_700_000.0), "workers": len(times), "samples": 640 * len(times),
            "mean_loss": 0.38 + 1.9 / (1 + 0.35 * number),
            "accuracy": 0.88 - 0.5 / (1 + 0.4 * number) if number % max(1, rounds // 8) == 0 else None,
            "root_hash": hashlib.md5(str(number).encode()).hexdigest(), "disagreeing_workers": [],
            "unverified_workers": [], "repaired_chunks": 0, "stages": None,
            "first_sync_after_last_delta_seconds": -0.2, "phases": [], "path": path}


def run_of(workers, rounds, slow_by_quota=(3, 7), chunks=8, with_chunks=True, exact=True, seed=1,
           findings=tuple(FINDINGS), timeline_rounds=None):
    rng = random.Random(seed)
    slow_by_quota = tuple(w for w in slow_by_quota if w < workers)
    begin = 5000 * SECOND
    rows, timeline = [], []
    for number in range(1, rounds + 1):
        wall, path, events, times = round_of(number, workers, slow_by_quota or (-1,), rng, chunks, exact)
        rows.append(row_of(number, wall, path, times, rounds))
        if timeline_rounds is None or number > rounds - timeline_rounds:
            timeline += spans_of(number, begin, wall, events, with_chunks)
        begin += wall
    wall = (begin - 5000 * SECOND) / SECOND
    parameters = 86_000_000
    return {
        "format": "interlude-run-report", "version": 2,
        "meta": {"codec": "q4", "exchange": "pipelined", "outcome": "finished", "parameters": str(parameters),
                 "software": "interlude 0.1.0", "started_at": "2025-01-31T12:00:00Z",
                 "title": "vit 86M on fashion_mnist"},
        "total": {"rounds": rounds, "wall_seconds": wall, "samples": 640 * workers * rounds,
                  "samples_per_second": 640 * workers * rounds / wall, "workers_left": 0,
                  "final_accuracy": rows[-1]["accuracy"], "final_loss": rows[-1]["mean_loss"],
                  "final_root_hash": rows[-1]["root_hash"], "hashes_agree": True},
        "typical_round": {"rounds": rounds - 1, "wall_seconds": wall / rounds},
        "rounds": rows,
        "workers": [{"worker": w, "host": f"gpu-{w:02d}", "left": False} for w in range(workers)],
        "evaluations": [{"after_rounds": row["round"], "samples": 10000,
                         "correct": int(10000 * row["accuracy"]), "mean_loss": 0.5}
                        for row in rows if row["accuracy"] is not None],
        "events": [{"at_ns": 5000 * SECOND, "round": None, "worker": w, "kind": "worker_joined",
                    "text": f"worker {w} joined from gpu-{w:02d}"} for w in range(workers)],
        "timeline": timeline, "clocks": clocks_of(workers, rounds),
        "memory": [memory_of(p, wall if rounds < 100 else 600, parameters) for p in [None, *range(workers)]],
        "findings": list(findings),
        "notes": ["The pieces of a round's critical path add up to its wall time; phases of different workers "
                  "overlap and must not be added up."],
    }


def nulls(value, top=True):
    """The same report with every field null that may be: all but what a round cannot do without."""
    kept = {"format", "version", "rounds", "round", "wall_seconds", "workers", "worker"}
    if isinstance(value, dict):
        return {k: nulls(v, False) if k in kept else None for k, v in value.items()}
    return [nulls(v, False) for v in value] if isinstance(value, list) else value


FIXTURES = {
    "large": lambda: run_of(16, 24),
    "small": lambda: run_of(2, 3, slow_by_quota=(), findings=()),
    "empty": lambda: {**run_of(2, 1, findings=()), "rounds": [], "timeline": [], "memory": [], "clocks": [],
                      "evaluations": [], "total": {}, "typical_round": {}},
    "nulls": lambda: nulls(run_of(3, 4)),
    "long": lambda: run_of(16, 1000, with_chunks=False, exact=False, timeline_rounds=20),
}

if __name__ == "__main__":
    json.dump(FIXTURES[sys.argv[1]](), sys.stdout)
