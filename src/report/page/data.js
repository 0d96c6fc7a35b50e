// Where the report comes from, and what the views need of it in the shape they need it. Every field
// may be missing or null: older runs lack the newer ones.
import {isNumber} from "./format.js";
import {familyOf} from "./kinds.js";

/// Calls show(report) with the report that stands in the page; or, where the page names a source,
/// with what that gives now and every `every_ms` again, and failed(text) when it gives nothing.
export function loadReport(show, failed) {
  let embedded;
  try {
    embedded = JSON.parse(document.getElementById("report").textContent);
  } catch (error) {
    failed("The report in this page cannot be read: " + error.message);
    return;
  }
  if (typeof embedded.source !== "string") {
    show(embedded);
    return;
  }
  let last = null, tag = null;  // what is shown
  const ask = async () => {
    try {
      const headers = tag ? {"If-None-Match": tag} : {};
      const answer = await fetch(embedded.source, {cache: "no-store", headers});
      if (answer.status !== 304) {
        if (!answer.ok) throw new Error("status " + answer.status);
        const text = await answer.text();
        if (text !== last) show(JSON.parse(text));
        last = text;
        tag = answer.headers.get("ETag");
      }
    } catch (error) {
      last = tag = null;  // so that the next answer, even the same, takes the notice away
      failed("No news from the coordinator (" + error.message + "); asking again.");
    }
    setTimeout(ask, embedded.every_ms ?? 2000);
  };
  ask();
}

const list = value => Array.isArray(value) ? value : [];
const ns = seconds => isNumber(seconds) ? seconds * 1e9 : null;

/// The report with lists instead of nulls, nanoseconds instead of seconds, and look-up tables.
export function modelOf(report) {
  const rounds = list(report.rounds).map(roundOf);
  const timeline = new Map();
  for (const span of list(report.timeline)) {
    if (!timeline.has(span.round)) timeline.set(span.round, []);
    timeline.get(span.round).push(span);
  }
  const model = {
    meta: report.meta ?? {},
    total: report.total ?? {},
    typical: report.typical_round ?? {},
    rounds,
    workers: list(report.workers),
    timeline,
    clocks: clocksOf(list(report.clocks)),
    memory: list(report.memory).filter(part => list(part.times_s).length > 0),
    findings: Array.isArray(report.findings) ? report.findings : null,
    evaluations: list(report.evaluations),
    events: list(report.events),
    notes: list(report.notes),
  };
  model.workerIds = workerIds(model);
  model.median = medianRound(rounds);
  return model;
}

function roundOf(round) {
  const pieces = list(round.path?.pieces);
  const last = pieces[pieces.length - 1];
  const workers = new Map();
  for (const worker of list(round.path?.workers)) workers.set(worker.worker, worker);
  return {
    ...round,
    pieces,
    worker: workers,
    wallNs: last ? last.end_ns : ns(round.wall_seconds) ?? 0,
    trainNs: ns(round.slowest_train_seconds),
    exchangeNs: ns(round.exchange_seconds),
    families: familyTimes(pieces),
  };
}

/// Nanoseconds by family of the pieces of one round; they add up to the round.
function familyTimes(pieces) {
  const times = {};
  for (const piece of pieces) {
    const family = familyOf(piece.what);
    times[family] = (times[family] ?? 0) + piece.end_ns - piece.begin_ns;
  }
  return times;
}

function workerIds(model) {
  const ids = new Set(model.workers.map(worker => worker.worker));
  for (const round of model.rounds) for (const id of round.worker.keys()) ids.add(id);
  return [...ids].filter(isNumber).sort((a, b) => a - b);
}

/// The round whose wall time is the median one, so that its pieces are real and add up; without the
/// first round when there are more, since that one warms connections and caches.
function medianRound(rounds) {
  const those = (rounds.length > 1 ? rounds.slice(1) : rounds).slice();
  those.sort((a, b) => a.wallNs - b.wallNs || a.round - b.round);
  return those[Math.floor((those.length - 1) / 2)] ?? null;
}

/// clocks(worker, round): how the critical path placed the worker in that round, by one shift for the
/// whole of it; null where it could not.
function clocksOf(clocks) {
  const usable = clocks.filter(clock => clock.method !== "none" && isNumber(clock.offset_ns));
  const known = new Map(usable.map(clock => [clock.worker + " " + clock.round, clock]));
  return (worker, round) => known.get(worker + " " + round) ?? null;
}

/// The pieces of a round as they can be drawn: those narrower than `least` nanoseconds are joined
/// with their neighbours into one that has the kind of its longest part.
export function drawable(pieces, least) {
  const drawn = [];
  for (const piece of pieces) {
    const last = drawn[drawn.length - 1];
    const length = piece.end_ns - piece.begin_ns;
    const small = last && (length < least || last.end_ns - last.begin_ns < least);
    if (!small || last.what === "unexplained" || piece.what === "unexplained") {
      drawn.push({...piece, parts: 1, longest: length});
      continue;
    }
    last.end_ns = piece.end_ns;
    last.parts += 1;
    if (length <= last.longest) continue;
    Object.assign(last, {what: piece.what, next: piece.next, worker: piece.worker, chunk: piece.chunk,
                         error_ns: piece.error_ns, longest: length});
  }
  return drawn;
}
