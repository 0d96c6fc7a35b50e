// The rows of the timeline of one round: who recorded which spans, placed on one time axis whose 0
// is the round's begin on the coordinator's clock.
import {duration, isNumber, percent, processName, seconds} from "./format.js";
import {laneRank, nameOf, pieceName} from "./kinds.js";

const PATH_HEIGHT = 28, PROCESS_HEIGHT = 26, LANE_HEIGHT = 18, SLOT_HEIGHT = 5;

/// Workers whose phases have lanes until the reader chooses: those that held the round up most.
export function expandedAtFirst(round) {
  const most = [...round.worker.values()].filter(worker => worker.drag_ns > 0)
      .sort((a, b) => b.drag_ns - a.drag_ns);
  return new Set(most.length ? [most[0].worker] : []);
}

/// Rows from top to bottom, or null when nothing of the round was recorded.
export function rowsOf(model, round, mode, expanded) {
  const spans = model.timeline.get(round.round);
  if (!spans?.length) return null;
  const begin = isNumber(round.begin_ns) ? round.begin_ns : roundBegin(spans);
  const rows = [];
  if (round.pieces.length) {
    rows.push({kind: "path", label: "critical path", height: PATH_HEIGHT,
               items: round.pieces.map(piece => pieceItem(piece, round))});
  }
  for (const process of processesOf(spans)) {
    addProcess(rows, model, round, process, {begin, mode, open: expanded.has(process.id)});
  }
  let y = 0;
  for (const row of rows) {
    row.y = y;
    y += row.height;
  }
  return rows;
}

/// On the coordinator's clock.
function roundBegin(spans) {
  const own = spans.filter(span => !isNumber(span.process));
  const whole = own.find(span => span.phase === "round");
  if (whole) return whole.begin_ns;
  return Math.min(...(own.length ? own : spans).map(span => span.begin_ns));
}

/// [{id, phases: Map of spans}], the coordinator (null) first.
function processesOf(spans) {
  const processes = new Map();
  for (const span of spans) {
    const id = isNumber(span.process) ? span.process : null;
    if (!processes.has(id)) processes.set(id, {id, phases: new Map()});
    const phases = processes.get(id).phases;
    if (!phases.has(span.phase)) phases.set(span.phase, []);
    phases.get(span.phase).push(span);
  }
  for (const process of processes.values()) {
    process.phases.delete("round");
    process.phases = new Map([...process.phases].sort((a, b) => laneRank(a[0]) - laneRank(b[0])));
  }
  return [...processes.values()].sort((a, b) => (a.id ?? -1) - (b.id ?? -1));
}

function addProcess(rows, model, round, process, {begin, mode, open}) {
  const clock = process.id === null ? null : model.clocks(process.id, round.round);
  const placed = process.id === null || mode === "raw" || clock !== null;
  const place = process.id !== null && mode === "corrected" && clock ?
      time => time + clock.offset_ns - begin : time => time - begin;
  const error = process.id === null ? 0 : clock?.error_ns ?? null;
  const lanes = [];
  let slot = 0;
  for (const [phase, spans] of process.phases) {
    const abouts = [...new Set(spans.map(span => span.about ?? null))].sort((a, b) => a - b);
    lanes.push({
      kind: "lane", id: process.id, phase, label: nameOf(phase), slot: slot++,
      height: Math.max(LANE_HEIGHT, abouts.length > 1 ? abouts.length * SLOT_HEIGHT + 4 : 0),
      slots: abouts.length,
      items: spans.flatMap(span => spanItems(span, abouts.indexOf(span.about ?? null), place, error)),
    });
  }
  const row = {kind: "process", id: process.id, label: processName(process.id), clock, error, open,
               height: PROCESS_HEIGHT, lanes, slots: lanes.length,
               note: placed ? null : "clock not calibrated: not placed on the coordinator’s clock"};
  row.items = placed ? lanes.flatMap(lane => lane.items.filter(item => !item.ofChunk)
                                .map(item => ({...item, slot: lane.slot})))
                           .sort((a, b) => a.begin - b.begin) : [];
  rows.push(row);
  if (placed) {
    markCritical(row, round, clock, place, begin);
    if (open) rows.push(...lanes);
  }
}

/// A span, and each of its chunks.
function spanItems(span, slot, place, error) {
  const item = {what: span.phase, slot, begin: place(span.begin_ns), end: place(span.end_ns), error,
                about: span.about ?? null, process: isNumber(span.process) ? span.process : null};
  const chunks = (span.chunks ?? []).map(([chunk, begin, end]) => ({
    ...item, ofChunk: true, chunk, begin: place(begin), end: place(end)}));
  item.chunks = chunks.length;
  return [item, ...chunks];
}

function pieceItem(piece, round) {
  return {what: piece.what, next: piece.next, begin: piece.begin_ns, end: piece.end_ns, error: piece.error_ns,
          process: isNumber(piece.worker) ? piece.worker : null, chunk: piece.chunk, about: null,
          piece: true, wall: round.wallNs};
}

/// Where the critical path runs through this process: row.critical, and that of each lane.
function markCritical(row, round, clock, place, begin) {
  // A piece is on the coordinator's clock, from the round's begin; place() takes the process's own.
  const shift = clock ? time => place(time + begin - clock.offset_ns) : time => time;
  const own = round.pieces.filter(piece => (piece.worker ?? null) === row.id);
  row.critical = [];
  if (row.id !== null && !clock) return;
  for (const lane of row.lanes) {
    lane.critical = own.filter(piece => piece.what === lane.phase)
        .map(piece => ({begin: shift(piece.begin_ns), end: shift(piece.end_ns)}));
    row.critical.push(...lane.critical.map(part => ({...part, slot: lane.slot})));
  }
}

export function describe(item) {
  const who = processName(item.process);
  const what = (item.piece ? "critical path: " : "") + pieceName(item) + " on " + who +
      (isNumber(item.about) ? " for worker " + item.about : "") +
      (isNumber(item.chunk) ? ", chunk " + item.chunk : "") +
      (item.chunks ? ", " + item.chunks + " chunks" : "");
  const length = item.end - item.begin;
  return [what, duration(length) + (item.wall ? " (" + percent(length / item.wall) + " of the round)" : ""),
          "from " + seconds(item.begin, 3) + " s to " + seconds(item.end, 3) + " s",
          ...(item.error ? ["clock error ±" + duration(item.error)] : [])].join(" · ");
}
