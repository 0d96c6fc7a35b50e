"""The soak: long runs of short rounds that meet all kinds of faults, several at once, in an order drawn from a seed.

What must hold, whatever the seed: the run ends; no round that was committed is ever lost or becomes another; the
journal's replay agrees with what the coordinator and its workers say, at the end and many times on the way; as long
as every round merged what the run without faults merged, it has that run's bits; a worker ends with the run's bits or
says why not; no worker is refused, since all are honest; and the coordinator's memory does not grow.
"""

import heapq
import itertools
import random
import re
import shutil
import time
import zlib

from faults import kinds
from faults.processes import ROOT, Run, WrongBits
from faults.story import Failure, Story, check, roots_in_database

WORKERS = 3
SNAPSHOT_EVERY = 16  # the journal keeps two more than twice as many rounds
CHECK_EVERY = 8
RSS_AT = 50
STANDSTILL_S = 60
RECONNECT_S = 20  # one that was cut off as the run ended says so after this time
HASH = re.compile(r"the parameters hash to ([0-9a-f]{32})")

# Faults after which the same deltas are merged, where nobody is hurried.
SAME_MERGES = [kinds.RESET, kinds.HUNG, kinds.SILENT, kinds.SLOW]
ALL = [kinds.KILLED, kinds.LEFT, kinds.CUT, *SAME_MERGES]

HEAD = ["run", "faults (coordinator killed)", "rounds lost", "wrong bits", "rounds that merged all deltas",
        "first rounds with the bits of the run without faults", "journal verified", "rounds made again",
        "workers that agreed / went, told why", "coordinator's VmRSS, round %d / end" % RSS_AT]
NOTE = "each run checked as docs/recovery.md says"


class Row:
    def __init__(self, name, rounds):
        self.name, self.rounds = name, rounds
        self.injected = self.kills = self.lost = self.wrong = self.full = self.like = self.agreed = self.told = 0
        self.story = Story(WORKERS)
        self.rss = {}  # round: KiB
        self.failure = None

    def memory(self):
        if not self.rss or self.kills:
            return "–"
        return "%.1f / %.1f MB" % (self.rss[min(self.rss)] * 1.024e-3, self.rss[max(self.rss)] * 1.024e-3)

    def cells(self):
        return [self.name, "%d (%d)" % (self.injected, self.kills), str(self.lost), str(self.wrong),
                "%d of %d" % (self.full, self.rounds), str(self.like), "%d times" % self.story.looks,
                "%d of %d" % (len(self.story.replayed), self.rounds), "%d / %d" % (self.agreed, self.told),
                self.memory()]

    def line(self):
        if self.failure:
            return "%s: FAILED: %s" % (self.name, self.failure)
        return "%s: %d faults, %d of %d rounds merged all deltas, %d looks" % (
            self.name, self.injected, self.full, self.rounds, self.story.looks)

    def good(self):
        return self.failure is None and self.lost + self.wrong == 0


class Soak:
    """One run of it."""

    def __init__(self, run, row, choices, kills, seed):
        self.run, self.row, self.choices, self.kills = run, row, choices, kills
        # Not hash(): the same seed must give the same faults in every process.
        self.random = random.Random(zlib.crc32(("%s %d" % (row.name, seed)).encode()))
        self.lines = {}
        self.due = []  # heap of (when, number, what): what is to be mended
        self.numbers = itertools.count()
        self.broken = set()  # places; "coordinator" is one
        self.told = []
        self.log = []
        self.begin = self.moved = time.monotonic()
        self.round = self.checked = 0

    def say(self, text):
        self.log.append("%8.3f round %d: %s" % (time.monotonic() - self.begin, self.round, text))

    # ---- faults ----

    def later(self, seconds, what):
        heapq.heappush(self.due, (time.monotonic() + seconds, next(self.numbers), what))

    def mend_what_is_due(self):
        while self.due and self.due[0][0] <= time.monotonic():
            heapq.heappop(self.due)[2]()

    def seconds(self):
        """How long a fault lasts: mostly shorter than anybody's patience, sometimes longer."""
        return self.random.uniform(2.5, 5) if self.kills_merges() and self.random.random() < 0.15 else (
            self.random.uniform(0.02, 0.8))

    def kills_merges(self):
        return kinds.KILLED in self.choices

    def break_something(self):
        for _ in range(self.random.choice([1, 1, 1, 2, 2, 3])):
            whole = [place for place in range(WORKERS) if place not in self.broken]
            if self.kills and "coordinator" not in self.broken and self.random.random() < 0.2:
                self.kill_coordinator()
            elif whole:
                self.break_worker(self.random.choice(whole), self.random.choice(self.choices))

    def break_worker(self, place, kind):
        seconds = self.seconds()
        self.say("place %d for %.2f s: %s" % (place, seconds, kind.name))
        self.row.injected += 1
        self.broken.add(place)
        kind.inject(self.run, place, self.lines[place])
        self.later(seconds, lambda: self.mend_worker(place, kind))

    def mend_worker(self, place, kind):
        self.say("place %d mended" % place)
        self.broken.discard(place)
        if kind.ends_worker and self.over():
            del self.run.workers[place]
        else:
            kind.mend(self.run, place, self.lines[place])

    def kill_coordinator(self):
        self.say("coordinator killed")
        self.row.injected += 1
        self.row.kills += 1
        self.broken.add("coordinator")
        self.run.coordinator.kill()
        self.run.coordinator.end()
        self.look(self.run.directory)
        if ROOT.search(self.run.coordinator.text()):
            self.broken.discard("coordinator")  # it had finished, and there is nothing to go on with
        else:
            self.later(self.random.uniform(0, 1), self.restart_coordinator)

    def restart_coordinator(self):
        self.run.restart_coordinator()
        self.say("coordinator started again")
        self.broken.discard("coordinator")

    # ---- looking ----

    def look(self, directory):
        self.row.story.look(self.run, directory)
        self.checked = self.round

    def look_at_a_copy(self):
        """Of the directory as it is at one moment."""
        copy = self.run.directory.with_suffix(".copy")
        with self.run.coordinator.halted():
            self.row.rss[self.round] = self.run.coordinator.rss_kib()
            for part in ("journal", "snapshots"):
                shutil.copytree(self.run.directory / part, copy / part)
        self.look(copy)
        shutil.rmtree(copy)

    def over(self):
        return "coordinator" not in self.broken and self.run.coordinator.process.poll() is not None

    def see_workers(self):
        """One that ended by itself must have said why; another takes its place."""
        for place, program in list(self.run.workers.items()):
            if place in self.broken or not program.process.poll():  # 0: it knows that the run is over
                continue
            self.say("the worker in place %d ended: %s" % (place, program.text().rpartition("\n")[2]))
            self.told.append(program)
            kinds.LEFT.mend(self.run, place, self.lines[place])

    def see_round(self):
        newest = self.run.last_round()
        if newest > self.round:
            self.round, self.moved = newest, time.monotonic()
        check(time.monotonic() - self.moved < STANDSTILL_S, "no round has ended for %d s" % STANDSTILL_S)

    # ---- the run ----

    def play(self):
        self.lines = self.run.start_over_lines()
        at_round, at_time = 2, time.monotonic() + 60
        while not self.over():
            self.mend_what_is_due()
            if "coordinator" not in self.broken and not self.over():
                self.see_round()
                self.see_workers()
                if self.round >= self.checked + CHECK_EVERY:
                    self.look_at_a_copy()
            if self.round >= at_round or time.monotonic() >= at_time:
                self.break_something()
                at_round = self.round + self.random.randint(1, 8)
                at_time = time.monotonic() + self.random.uniform(2, 5)
            time.sleep(0.005)
        while self.due:
            heapq.heappop(self.due)[2]()

    def close(self, reference):
        for place, program in list(self.run.workers.items()):
            if "joined run" not in program.text():  # started as the run ended: it was never in it
                program.kill()
                del self.run.workers[place]
        root = self.run.finish(killed_after_the_end=True)
        self.say("ended with %s" % root)
        newest, replayed = self.row.story.look(self.run, self.run.directory)
        check(newest == self.row.rounds, "the run ended after %d of %d rounds" % (newest, self.row.rounds))
        check(root == replayed, "the run ended with %s, its replay with %s" % (root, replayed))
        self.compare(reference)
        self.hear_workers(root)
        check(self.row.rounds <= RSS_AT or self.run.logs or self.memory_is_steady(),
              "the coordinator's memory grew: %s" % self.row.rss)

    def compare(self, reference):
        """With what run.db says, and with the run without faults for as long as the merges are the same."""
        story = self.row.story
        for number, root in roots_in_database(self.run.directory).items():
            check(number not in story.rounds or root == story.rounds[number].root,
                  "round %d has root %s in run.db, in the journal %s" % (number, root, story.rounds[number]))
        self.row.full = sum(map(story.full, range(1, self.row.rounds + 1)))
        for number in itertools.takewhile(story.full, range(1, self.row.rounds + 1)):
            check(story.rounds[number].root == reference[number],
                  "up to round %d all deltas were merged; it has root %s, without faults %s" % (
                      number, story.rounds[number].root, reference[number]))
            self.row.like = number
        if not self.kills_merges():
            check(self.row.like == self.row.rounds, "round %d did not merge all deltas: %s" % (
                self.row.like + 1, story.rounds.get(self.row.like + 1)))

    def hear_workers(self, root):
        for program in [*self.told, *self.run.workers.values()]:
            said = HASH.search(program.text())
            if program.process.returncode == 0 and said:
                check(said[1] == root, "a worker ended with %s, the run with %s" % (said[1], root))
                self.row.agreed += 1
            else:
                check("error: " in program.text(), "a worker ended with status %s and no reason:\n%s" % (
                    program.process.returncode, program.text()))
                self.row.told += 1

    def memory_is_steady(self):
        first = next(number for number in sorted(self.row.rss) if number >= RSS_AT)
        self.row.rss = {number: kib for number, kib in self.row.rss.items() if number >= first}
        return self.row.rss[max(self.row.rss)] <= 1.25 * self.row.rss[first] + 4096

    def keep(self):
        """What the run's programs said and what was done to them, beside its journal."""
        folder = self.run.directory / "soak"
        folder.mkdir(exist_ok=True)
        (folder / "faults.log").write_text("\n".join(self.log) + "\n")
        (folder / "coordinator.log").write_text("\n---- started again\n".join(
            [*self.run.logs, self.run.coordinator.text()]))
        for place, program in self.run.workers.items():
            (folder / ("place-%d.log" % place)).write_text(program.text())
        for number, program in enumerate(self.told):
            (folder / ("ended-%d.log" % number)).write_text(program.text())


def settings(rounds, **more):
    chosen = {"model.synthetic_params": 100000, "round.chunk_params": 16384, "round.local_steps": 4,
              "model.synthetic_step_ms": 4, "round.rounds": rounds, "round.snapshot_every": SNAPSHOT_EVERY,
              "round.evaluate_every": 10, **more}
    return ["%s=%s" % pair for pair in chosen.items()]


def rows(options, scratch):
    rounds = options.rounds or (20 if options.quick else 500)
    patient = settings(rounds, **{"round.patience": 0, "round.reconnect_s": 30})
    hurried = settings(rounds, **{"round.patience": 2})
    reference = {}

    def play(name, config, choices, kills):
        row = Row(name, rounds)
        if not reference:
            run = Run(options.binaries, scratch / "without", WORKERS, patient).start()
            run.finish()
            reference.update(roots_in_database(run.directory))
        run = Run(options.binaries, scratch / name.replace(" ", "-"), WORKERS, config)
        run.reconnect_s = RECONNECT_S
        if options.quick:
            # Nobody looks at a channel's sockets but a worker that waits for it: without this gRPC does every 5 s,
            # which hides a worker that does not.
            run.worker_environment = {"GRPC_CLIENT_CHANNEL_BACKUP_POLL_INTERVAL_MS": "0"}
        soak = Soak(run, row, choices, kills, options.seed)
        try:
            soak.play()
            soak.close(reference)
        except (Failure, WrongBits, RuntimeError) as failure:
            row.failure = failure
            row.wrong += isinstance(failure, WrongBits)
        finally:
            soak.run.kill_all()
            soak.keep()
            for line in soak.lines.values():
                line.close()
            row.lost = soak.run.lost_rounds
        return row

    yield "same", lambda: play("same merges", patient, SAME_MERGES, True)
    yield "all", lambda: play("all faults", hurried, ALL, True)
    yield "lives", lambda: play("coordinator lives", hurried, ALL, False)
