"""What a worker may meet. `inject` breaks it, `mend` makes it good a while later; the matrix and the soak share them.

Both are called with the run, the worker's place in it and the line between that worker and the coordinator.
"""

import dataclasses
import signal
from typing import Callable

PATIENT = {"round.patience": 0}
IMPATIENT = {"round.patience": 2}


def _nothing(run, place, line):
    pass


def _kill(run, place, line):
    run.workers[place].kill()
    run.workers[place].end()


def _start(run, place, line):
    run.start_worker(place, line.address)


def _leave(run, place, line):
    run.workers[place].kill(signal.SIGTERM)
    run.workers[place].end()


def _join(run, place, line):
    run.start_worker(place, line.address, named=False)


def _stop(run, place, line):
    run.workers[place].kill(signal.SIGSTOP)


def _continue(run, place, line):
    run.workers[place].kill(signal.SIGCONT)


def _cut(run, place, line):
    line.break_now()


def _heal(run, place, line):
    line.heal()


def _reset(run, place, line):
    line.break_now()
    line.heal()


def _silence(run, place, line):
    line.silent = True


def _slow(run, place, line):
    line.rate = 125_000


@dataclasses.dataclass(frozen=True)
class Kind:
    name: str
    inject: Callable
    mend: Callable
    settings: dict = dataclasses.field(default_factory=lambda: PATIENT)
    same_merges: bool = False  # as settings are here the same deltas are merged as without the fault
    ends_worker: bool = False


KILLED = Kind("worker killed, started again", _kill, _start, ends_worker=True)
LEFT = Kind("worker left, another joined", _leave, _join, ends_worker=True)
HUNG = Kind("worker hung (SIGSTOP)", _stop, _continue, IMPATIENT)
RESET = Kind("connection reset, back at once", _reset, _nothing, same_merges=True)
CUT = Kind("connection reset, refused, back", _cut, _heal)
SILENT = Kind("partition (nothing passes), healed", _silence, _heal, IMPATIENT)
SLOW = Kind("line at 1 Mbit/s for a while", _slow, _heal, IMPATIENT)
