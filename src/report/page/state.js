// What the reader has chosen; it outlives new data. change() tells whoever draws.

export const state = {
  round: null,          // of the timeline
  first: null,          // position of the first round of the window; null: the last window
  measure: "drag_ns",   // of the heat map
  clock: "corrected",   // or "raw"
  view: null,           // [begin, end] in ns of the timeline; null: the whole round
  expanded: null,       // processes whose phases have lanes; null: chosen by the page
  process: undefined,   // of the memory chart
  sort: "worker",       // rows of the heat map
};

const listeners = [];

/// listener(keys) is called with the names of what changed.
export function onChange(listener) {
  listeners.push(listener);
}

export function change(changes) {
  Object.assign(state, changes);
  for (const listener of listeners) listener(Object.keys(changes));
}

/// How many rounds are shown side by side, and which: {first, size}.
export function windowOf(model, width) {
  const size = Math.max(8, Math.min(30, Math.floor((width - 80) / 22), model.rounds.length || 1));
  const last = Math.max(0, model.rounds.length - size);
  return {first: Math.min(state.first ?? last, last), size};
}
