// The kinds of critical-path pieces and spans: which family (and colour) each belongs to, and its
// name for people.

// Families in the order in which a round passes through them.
export const FAMILIES = [
  {id: "train", name: "Training"},
  {id: "codec", name: "Encode, apply, verify"},
  {id: "up", name: "Upload"},
  {id: "coordinator", name: "Coordinator"},
  {id: "down", name: "Download"},
  {id: "wait", name: "Waiting, handing over"},
  {id: "unexplained", name: "Unexplained"},
];

const FAMILY_OF = {
  train: "train", load: "train", evaluate: "train", prepare: "train",
  encode: "codec", apply: "codec", verify: "codec",
  upload: "up", link_up: "up", share_base: "up", call: "up",
  start: "coordinator", ledger: "coordinator", decide: "coordinator", receive: "coordinator", journal: "coordinator", aggregate: "coordinator",
  outer_step: "coordinator", encode_sync: "coordinator", hash: "coordinator", merge: "coordinator",
  report: "coordinator", save: "coordinator",
  ask: "down", send: "down", link_down: "down", download: "down",
  hand_over: "wait", wait: "wait", wait_deadline: "wait", await_round: "wait", whole: "wait",
  unexplained: "unexplained",
};

const NAMES = {
  link_up: "on the way up", link_down: "on the way down", wait_deadline: "waiting for the deadline",
  await_round: "waiting for the round", whole: "whole round, not split", outer_step: "outer step",
  encode_sync: "encode sync", share_base: "share base", hand_over: "handing over",
};

/// The family of a piece or phase; what is new to this page counts as the coordinator's.
export function familyOf(what) {
  return FAMILY_OF[what] ?? "coordinator";
}

export function nameOf(what) {
  return NAMES[what] ?? String(what).replaceAll("_", " ");
}

/// Of a piece of the critical path; of one in which nothing was done, with what came next.
export function pieceName(piece) {
  if (!piece.next) return nameOf(piece.what);
  return nameOf(piece.what) + " before " + (piece.next === "end" ? "the round's end" : nameOf(piece.next));
}

/// CSS class that colours a mark of this kind; its text is coloured by "on-" + family.
export function kindClass(what) {
  return "kind kind-" + familyOf(what);
}

/// A list of the families with their colours.
export function drawLegend(parent) {
  const items = parent.append("ul").attr("class", "legend").selectAll("li").data(FAMILIES).enter()
      .append("li");
  items.append("span").attr("class", family => "swatch swatch-" + family.id);
  items.append("span").text(family => family.name);
}

/// Phases in the order of their lanes.
const LANE_ORDER = [
  "round", "ledger", "start", "ask", "receive", "journal", "decide", "aggregate", "outer_step", "encode_sync", "hash", "merge",
  "send", "report", "save", "await_round", "prepare", "share_base", "train", "load", "encode", "upload",
  "wait", "download", "apply", "call", "verify", "evaluate",
];

export function laneRank(phase) {
  const rank = LANE_ORDER.indexOf(phase);
  return rank < 0 ? LANE_ORDER.length : rank;
}
