"""Which rounds a run's journal holds, and what went into them: a reader of its own of docs/formats/journal.md.

For a directory in which no coordinator works at the moment, or whose coordinator is stopped. The records' checks are
left to `interlude journal verify`.
"""

import dataclasses
import struct

VERSION = 2
NO_ROUND = 0xFFFFFFFF


@dataclasses.dataclass(frozen=True)
class Round:
    root: str  # empty: not committed
    merges: tuple  # for each chunk the ids whose deltas were merged; None: no merge was ordered


def _counts(data, at, mark, number):
    """Whether the record whose tail is here is of this round."""
    return struct.unpack_from("<I4s", data, at) == (number, mark)


def _round(data):
    slots, chunks, _, _, number = struct.unpack_from("<5I", data, 12)
    if number == NO_ROUND:
        return None
    merges_at, commit_at = struct.unpack_from("<2Q", data, 88)
    mask_bytes = (slots + 63) // 64 * 8
    merges = []
    for chunk in range(chunks):
        at = merges_at + chunk * (mask_bytes + 16 + 32)
        mask = int.from_bytes(data[at:at + mask_bytes], "little")
        ordered = _counts(data, at + mask_bytes, b"MERG", number)
        merges.append(frozenset(slot for slot in range(slots) if mask >> slot & 1) if ordered else None)
    root = ""
    if _counts(data, commit_at + 24, b"DONE", number):
        root = "%016x%016x" % struct.unpack_from("<2Q", data, commit_at)
    return number, Round(root, tuple(merges))


def rounds(directory):
    """{round: Round} of those that the journal in DIR/journal has."""
    found = {}
    for path in directory.glob("journal/ring-*.journal"):
        with path.open("rb") as file:
            header = file.read(112)
            if len(header) < 112 or header[:8] != b"ILJOURNL":
                continue
            if struct.unpack_from("<I", header, 8) != (VERSION,):
                raise ValueError("%s is of another version than this reader" % path)
            read = _round(header + file.read(struct.unpack_from("<Q", header, 32)[0] - 112))
        if read is not None:
            found[read[0]] = read[1]
    return found
