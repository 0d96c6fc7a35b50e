// The few helpers around D3 that every view uses.

export const d3 = globalThis.d3;

/// The part of a section that its view fills.
export function bodyOf(id) {
  return d3.select("#" + id + " .body");
}

/// Says in place of a view why there is none.
export function notice(body, text) {
  body.html("").append("p").attr("class", "notice").text(text);
}

/// A group of radio buttons that look like one control. options: [[value, text]].
export function segments(parent, name, label, options, chosen, pick) {
  const set = parent.append("fieldset").attr("class", "segments");
  set.append("legend").attr("class", "unseen").text(label);
  const items = set.selectAll("label").data(options).enter().append("label");
  items.append("input")
      .attr({type: "radio", name})
      .attr("value", option => option[0]).attr("id", option => name + "-" + option[0])
      .property("checked", option => option[0] === chosen)
      .on("change", option => pick(option[0]));
  items.append("span").text(option => option[1]);
  return set;
}

/// What has the focus in `body` if that has an id; refocus() gives it back after a new drawing.
export function focusedId(body) {
  const focused = document.activeElement;
  return body.node().contains(focused) ? focused.id : "";
}

export function refocus(id) {
  if (id) document.getElementById(id)?.focus({preventScroll: true});
}

/// One line under a chart that says what the cursor is on; read out when it changes.
export function detailLine(parent, text) {
  return parent.append("p").attr({class: "detail", role: "status"}).text(text);
}

const ARROWS = {
  ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1],
  Home: [-Infinity, 0], End: [Infinity, 0],
};

/// Arrow keys on a focused element: move(dx, dy), other keys by name in `others`.
export function onKeys(selection, move, others = {}) {
  selection.on("keydown", () => {
    const event = d3.event;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const arrow = ARROWS[event.key];
    const other = others[event.key];
    if (!arrow && !other) return;
    event.preventDefault();
    if (arrow) move(...arrow);
    else other();
  });
}

/// show() and hide() what the keyboard is on; a click focuses too, but the mouse has shown its own.
export function onFocus(selection, show, hide) {
  selection.on("focus", () => { if (selection.node().matches(":focus-visible")) show(); })
      .on("blur", hide);
}

export function clamp(value, low, high) {
  return Math.max(low, Math.min(high, value));
}

/// An <svg> of this size in `parent`, with a name for screen readers.
export function chart(parent, width, height, label) {
  return parent.append("svg")
      .attr({width, height, role: "img", "aria-label": label, class: "chart"});
}

/// An axis of seconds above (or below) a chart, with lines through it.
export function secondsAxis(svg, x, top, height, ticks, unit = "s") {
  const axis = svg.append("g").attr("class", "axis");
  const values = x.ticks(ticks);
  const format = x.tickFormat(ticks);
  const marks = axis.selectAll("g").data(values).enter().append("g")
      .attr("transform", value => "translate(" + Math.round(x(value)) + ",0)");
  marks.append("line").attr({x1: 0.5, x2: 0.5, y1: top, y2: top + height});
  marks.append("text").attr({y: top - 6, "text-anchor": "middle"})
      .text((value, i) => format(value) + (i === values.length - 1 ? " " + unit : ""));
  return axis;
}
