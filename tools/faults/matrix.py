"""The matrix: one kind of fault after the other, and what each cost.

Bits are wrong when the final root differs from that of the run without faults (where the fault leaves the merged
deltas the same), when two copies disagree, or when the journal's replay does not come to the recorded hashes.
"""

import random
import shutil
import signal
import statistics
import sys
import time

from faults import kinds
from faults.processes import Run, WrongBits

HEAD = ["fault", "injected", "rounds lost", "wrong bits", "runs that failed", "others go on, s", "victim back, s"]
NOTE = "median (longest) seconds"


class Row:
    def __init__(self, fault):
        self.fault = fault
        self.injected = self.lost = self.wrong = self.failed = 0
        self.others, self.victim = [], []

    @staticmethod
    def seconds(values):
        if not values:
            return "–"
        return "%.1f (%.1f)" % (statistics.median(values), max(values))

    def cells(self):
        return [self.fault, str(self.injected), str(self.lost), str(self.wrong), str(self.failed),
                self.seconds(self.others), self.seconds(self.victim)]

    def line(self):
        return "%s: %d injected, %d rounds lost, %d wrong bits, %d failed" % (
            self.fault, self.injected, self.lost, self.wrong, self.failed)

    def good(self):
        return self.lost + self.wrong + self.failed == 0


class Matrix:
    def __init__(self, options, scratch):
        self.options = options
        self.random = random.Random(options.seed)
        self.scratch = scratch
        self.count = 0
        self.references = {}

    def settings(self, rounds, **more):
        chosen = {"model.synthetic_params": 200000, "round.chunk_params": 16384, "round.local_steps": 5,
                  "model.synthetic_step_ms": 4, "round.rounds": rounds, "round.snapshot_every": 2,
                  "round.patience": 0}
        chosen.update(more)
        return ["%s=%s" % pair for pair in chosen.items()]

    def run(self, workers, settings):
        self.count += 1
        return Run(self.options.binaries, self.scratch / ("run-%d" % self.count), workers, settings)

    def reference(self, workers, settings):
        key = (workers, tuple(settings))
        if key not in self.references:
            run = self.run(workers, settings).start()
            self.references[key] = run.finish()
            shutil.rmtree(run.directory)
        return self.references[key]

    def close(self, row, run, same_bits_as=None):
        try:
            root = run.finish()
            if same_bits_as is not None and root != same_bits_as:
                row.wrong += 1
                print("wrong bits: %s, without faults %s (%s)" % (root, same_bits_as, run.directory), file=sys.stderr)
                return
            verified = run.verify()
            if verified.returncode != 0:
                row.wrong += 1
                print(verified.stdout + verified.stderr, file=sys.stderr)
            else:
                shutil.rmtree(run.directory)
        except WrongBits as error:
            row.wrong += 1
            print("%s: %s (%s)" % (row.fault, error, run.directory), file=sys.stderr)
        except RuntimeError as error:
            row.failed += 1
            print("%s: %s" % (row.fault, error), file=sys.stderr)
        finally:
            run.kill_all()
            row.lost += run.lost_rounds

    @staticmethod
    def restart(row, run):
        """Starts a coordinator that has just died; all wait for it, so it is the others and the victim at once."""
        died = time.monotonic()
        row.injected += 1
        run.restart_coordinator()
        found = run.coordinator.wait_for(r"^round +\d+/|agree on", 60)
        if found:
            row.others.append(found[0] - died)
            row.victim.append(found[0] - died)

    def scripted_coordinator_kills(self, points):
        row = Row("coordinator killed at scripted point 1, 2, ...")
        settings = self.settings(3, **{"model.synthetic_params": 60000})
        reference = self.reference(2, settings)
        for point in points:
            run = self.run(2, settings)
            run.start({"INTERLUDE_CRASH_AT": str(point)})
            status = run.coordinator.end()
            if status != -signal.SIGKILL:
                print("point %d is beyond the run's end" % point, file=sys.stderr)
                run.kill_all()
                shutil.rmtree(run.directory)
                break
            self.restart(row, run)
            self.close(row, run, reference)
        return row

    def random_coordinator_kills(self, kills):
        row = Row("coordinator killed at random")
        settings = self.settings(max(12, kills * 6))
        reference = self.reference(2, settings)
        run = self.run(2, settings).start()
        run.coordinator.wait_for(r"^round +1/")
        for _ in range(kills):
            time.sleep(self.random.uniform(0.02, 0.25))
            if run.coordinator.process.poll() is not None:
                break
            run.coordinator.kill()
            run.coordinator.end()
            self.restart(row, run)
        self.close(row, run, reference)
        return row

    def worker_faults(self, kind, times, workers=3):
        """The others' next round ends the wait for them, and with it the fault; the victim's return that for it."""
        row = Row(kind.name)
        # Without the same deltas there is no run to compare with: it is stopped when the faults are over.
        settings = self.settings(times * 14 + 20 if kind.same_merges else 1_000_000, **kind.settings)
        reference = self.reference(workers, settings) if kind.same_merges else None
        run = self.run(workers, settings)
        lines = run.start_over_lines()
        run.coordinator.wait_for(r"^round +2/")
        for _ in range(times):
            time.sleep(self.random.uniform(0.02, 0.3))
            if run.coordinator.process.poll() is not None:
                break
            worker = self.random.randrange(workers)
            begin = time.monotonic()
            kind.inject(run, worker, lines[worker])
            row.injected += 1
            # A round that was about to end may end at once: the one after it needs the others to go on.
            first = run.coordinator.wait_for(r"^round +\d+/|agree on", 60, begin)
            second = first and run.coordinator.wait_for(r"^round +\d+/|agree on", 60, first[0] + 1e-6)
            if second:
                row.others.append(second[0] - begin)
            mended = time.monotonic()
            kind.mend(run, worker, lines[worker])
            back = run.coordinator.wait_for(r"worker %d (is back|has caught up)|agree on" % worker, 30, begin)
            if back and "agree" not in back[1].group(0):
                row.victim.append(max(0.0, back[0] - mended))
        if not kind.same_merges:
            run.wait_until_all_take_part()
            run.coordinator.kill(signal.SIGTERM)
        self.close(row, run, reference)
        for line in lines.values():
            line.close()
        return row


def rows(options, scratch):
    """(name, function that makes the row) of each."""
    matrix = Matrix(options, scratch)
    quick, times = options.quick, options.times
    yield "scripted", lambda: matrix.scripted_coordinator_kills(range(1, 400, 17) if quick else range(1, 400))
    yield "random", lambda: matrix.random_coordinator_kills(4 if quick else 9 * times)
    yield "killed", lambda: matrix.worker_faults(kinds.KILLED, 2 if quick else times)
    yield "hung", lambda: matrix.worker_faults(kinds.HUNG, 1 if quick else times // 4)
    yield "reset", lambda: matrix.worker_faults(kinds.RESET, 3 if quick else 12 * times)
    yield "cut", lambda: matrix.worker_faults(kinds.CUT, 2 if quick else times)
    yield "partition", lambda: matrix.worker_faults(kinds.SILENT, 1 if quick else times // 4)
    yield "slow", lambda: matrix.worker_faults(kinds.SLOW, 1 if quick else times // 4)
