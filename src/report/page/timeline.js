// The timeline of one round: a row for the critical path, one for each process, and lanes for the
// phases of those that are opened.
import {bodyOf, chart, clamp, d3, detailLine, focusedId, notice, onFocus, onKeys, refocus,
        secondsAxis, segments} from "./dom.js";
import {NOT_RECORDED, duration, isNumber} from "./format.js";
import {drawLegend, kindClass} from "./kinds.js";
import {change, state} from "./state.js";
import {describe, expandedAtFirst, rowsOf} from "./timeline_rows.js";

const TOP = 26;
let cursor = {row: 0, at: 0};  // at: ns

export function drawTimeline(model) {
  const body = bodyOf("timeline");
  const round = model.rounds.find(one => one.round === state.round) ??
      model.rounds[model.rounds.length - 1];
  if (!round) {
    notice(body, "No round has finished yet.");
    return;
  }
  const focused = focusedId(body);
  body.html("");
  const expanded = state.expanded ?? expandedAtFirst(round);
  const rows = rowsOf(model, round, state.clock, expanded);
  drawControls(body, model, round, expanded);
  if (!rows) {
    body.append("p").attr("class", "notice").text("The spans of round " + round.round + " are not in " +
        "this report" + (model.timeline.size ? "." : ": they are " + NOT_RECORDED + "."));
  } else {
    drawLegend(body);
    drawLanes(body, round, rows, expanded);
  }
  refocus(focused);
}

function drawControls(body, model, round, expanded) {
  const controls = body.append("div").attr("class", "controls");
  const at = model.rounds.indexOf(round);
  const go = step => change({round: model.rounds[at + step].round, view: null});
  const steps = controls.append("div").attr("class", "stepper");
  steps.append("button").attr({type: "button", id: "round-before", "aria-label": "Round before"})
      .property("disabled", at === 0).text("‹").on("click", () => go(-1));
  const pick = steps.append("label");
  pick.append("span").text("Round ");
  pick.append("input")
      .attr({type: "number", id: "round-picked", min: model.rounds[0].round,
             max: model.rounds[model.rounds.length - 1].round, value: round.round})
      .on("change", function () {
        if (model.rounds.some(one => one.round === Number(this.value)))
          change({round: Number(this.value), view: null});
        else this.value = round.round;
      });
  steps.append("button").attr({type: "button", id: "round-after", "aria-label": "Round after"})
      .property("disabled", at === model.rounds.length - 1).text("›").on("click", () => go(1));
  segments(controls, "clock", "Whose clock", [["corrected", "Corrected clocks"], ["raw", "Raw clocks"]],
           state.clock, clock => change({clock}));
  const zoom = controls.append("div").attr("class", "stepper");
  for (const [id, text, label, by] of [["zoom-in", "+", "Zoom in", 0.5], ["zoom-out", "−", "Zoom out", 2]]) {
    zoom.append("button").attr({type: "button", id, "aria-label": label}).text(text)
        .on("click", () => zoomBy(round, by));
  }
  zoom.append("button").attr({type: "button", id: "zoom-all"}).text("Whole round")
      .property("disabled", !state.view).on("click", () => change({view: null}));
  const ids = [null, ...model.workerIds];
  const all = expanded.size < ids.length;
  controls.append("button").attr({type: "button", id: "expand"}).text(all ? "Open all" : "Close all")
      .on("click", () => change({expanded: new Set(all ? ids : [])}));
}

function viewOf(round) {
  return state.view ?? [-0.01 * round.wallNs, 1.01 * round.wallNs];
}

function zoomBy(round, by, around = null) {
  const [begin, end] = viewOf(round);
  const middle = around ?? (begin + end) / 2;
  const size = Math.max(1e3, (end - begin) * by);
  const [first, last] = [-0.01 * round.wallNs, 1.01 * round.wallNs];
  if (size >= last - first) {
    change({view: null});
  } else {
    const from = clamp(middle - size / 2, first, last - size);
    change({view: [from, from + size]});
  }
}

function drawLanes(body, round, rows, expanded) {
  const width = body.node().clientWidth;
  const left = width < 500 ? 86 : 132;
  const last = rows[rows.length - 1];
  const height = TOP + last.y + last.height + 4;
  const svg = chart(body, width, height,
                    "Timeline of round " + round.round + ". Arrow keys move between spans and rows, " +
                    "Enter opens and closes a process, plus and minus zoom, 0 shows the whole round.")
      .attr({id: "timeline-chart", tabindex: 0, role: "application"});
  const x = d3.scale.linear().domain(viewOf(round).map(ns => ns / 1e9)).range([left, width - 8]);
  svg.append("clipPath").attr("id", "timeline-clip").append("rect")
      .attr({x: left, y: 0, width: width - left, height});
  secondsAxis(svg, x, TOP - 4, height - TOP,
              width < 500 ? 3 : 8);
  const groups = svg.selectAll("g.lane").data(rows).enter().append("g")
      .attr("class", row => "lane lane-" + row.kind)
      .attr("transform", row => "translate(0," + (TOP + row.y) + ")");
  groups.append("rect").attr({class: "lane-ground", x: 0, y: 0, width})
      .attr("height", row => row.height);
  drawLabels(groups, expanded);
  groups.each(function (row) { drawRow(d3.select(this), row, x, left, width); });
  addBrush(groups.filter(row => row.kind === "path"), x);
  interact(svg, groups, rows, round, x, expanded,
           detailLine(body, "Point at a span, or move with the arrow keys. Drag along the critical path to zoom."));
}

function drawLabels(groups, expanded) {
  groups.append("text").attr({class: "label-left", dy: "0.35em"})
      .attr("x", row => row.kind === "lane" ? 18 : 2)
      .attr("y", row => row.kind === "lane" ? Math.min(9, row.height / 2) : row.height / 2)
      .text(row => row.kind === "process" ? (row.open ? "▾ " : "▸ ") + row.label : row.label);
  const processes = groups.filter(row => row.kind === "process").classed("clickable", true);
  processes.select(".lane-ground").on("click", row => toggle(row.id, expanded));
  processes.select("text").on("click", row => toggle(row.id, expanded));
}

function toggle(id, expanded) {
  const next = new Set(expanded);
  if (!next.delete(id)) next.add(id);
  change({expanded: next});
}

function drawRow(group, row, x, left, width) {
  const at = ns => x(ns / 1e9);
  const inner = group.append("g").attr("clip-path", "url(#timeline-clip)");
  const [begin, end] = x.domain().map(s => s * 1e9);
  const seen = row.items.filter(item => item.end >= begin && item.begin <= end);
  group.append("text").attr({class: "lane-note", x: left + 8, y: row.height / 2, dy: "0.35em"})
      .text(noteOf(row, seen, width < 500));
  const {top, size} = slotsOf(row);
  inner.selectAll("rect.span").data(seen).enter().append("rect")
      .attr("class", item => "span " + kindClass(item.what) + (item.chunks ? " has-chunks" : "") +
                             (item.ofChunk && item.chunk % 2 ? " odd" : ""))
      .attr("x", item => at(item.begin)).attr("y", item => top(item))
      .attr("height", size)
      .attr("width", item => Math.max(1, at(item.end) - at(item.begin) - (item.piece ? 0.75 : 0)));
  drawErrors(inner, seen.filter(item => !item.ofChunk && !item.piece), row, at);
  inner.selectAll("rect.critical").data(row.critical ?? []).enter().append("rect")
      .attr("class", "critical").attr("x", part => at(part.begin) - 0.5)
      .attr("y", part => top({slot: row.kind === "lane" ? null : part.slot}) - 0.5)
      .attr("height", (row.kind === "lane" ? row.height - 6 : size) + 1)
      .attr("width", part => Math.max(1.5, at(part.end) - at(part.begin) + 1));
}

/// Where the spans of a row stand: side by side when they have slots.
function slotsOf(row) {
  const margin = row.kind === "path" ? 5 : 3;
  const slots = Math.max(1, row.kind === "path" ? 1 : row.slots);
  const size = (row.height - 2 * margin) / slots;
  return {size: Math.max(1, size - (slots > 1 ? 0.5 : 0)), top: item => margin + (item.slot ?? 0) * size};
}

/// Why a process has no spans to be seen: its clock is not known, or raw clocks are far apart.
function noteOf(row, seen, short) {
  if (row.note) return short ? "clock not calibrated" : row.note;
  if (seen.length || row.kind !== "process" || state.clock !== "raw" || !row.items.length) return "";
  const first = row.items[0].begin;
  if (Math.abs(first) < 60e9) return "";
  return duration(Math.abs(first)) + (first > 0 ? " later" : " earlier") + " on its own clock";
}

/// The edges of a bar are known to within the clock's error.
function drawErrors(inner, items, row, at) {
  const pixels = at(row.error ?? 0) - at(0);
  if (!(pixels >= 0.5) || state.clock === "raw") return;
  const {top, size} = slotsOf(row);
  for (const edge of ["begin", "end"]) {
    inner.selectAll("rect.error-" + edge).data(items).enter().append("rect")
        .attr({class: "clock-error error-" + edge, width: 2 * pixels, height: size})
        .attr("x", item => at(item[edge]) - pixels).attr("y", item => top(item));
  }
}

/// Dragging along the critical path zooms into what was dragged over.
function addBrush(path, x) {
  if (path.empty()) return;
  const brush = d3.svg.brush().x(x);
  brush.on("brushend", () => {
    const [begin, end] = brush.extent();
    const pixels = x(end) - x(begin);
    if (pixels > 4) change({view: [begin * 1e9, end * 1e9]});
  });
  const height = path.datum().height;
  const layer = path.append("g").attr("class", "brush").call(brush);
  layer.selectAll("rect").attr({y: 1, height: height - 2});
}

function interact(svg, groups, rows, round, x, expanded, detail) {
  const ring = svg.append("rect").attr({class: "ring", rx: 2}).style("display", "none");
  const show = (row, item) => {
    const {top, size} = slotsOf(row);
    const [low, high] = x.range();
    const begin = clamp(x(item.begin / 1e9), low, high), end = clamp(x(item.end / 1e9), low, high);
    ring.style("display", null).attr({x: begin - 1.5, y: TOP + row.y + top(item) - 1.5,
                                      width: Math.max(4, end - begin + 3), height: size + 3});
    detail.text(describe(item));
  };
  groups.each(function (row) {
    d3.select(this).selectAll("rect.span").on("mouseover", item => show(row, item));
  });
  // The brush lies above the pieces, so what is pointed at is found by its time.
  groups.select(".brush").on("mousemove.detail", function (row) {
    const at = x.invert(d3.mouse(this)[0]) * 1e9;
    const item = row.items.find(piece => piece.begin <= at && at < piece.end);
    if (item) show(row, item);
  });
  const go = (index, item) => {
    cursor = {row: index, at: item ? item.begin : cursor.at};
    if (item) show(rows[index], item);
    else {
      ring.style("display", "none");
      detail.text(rows[index].label + (rows[index].note ? " · " + rows[index].note : " · nothing recorded"));
    }
  };
  const near = index => {
    const items = rows[index].items;
    return items.find(item => item.end > cursor.at) ?? items[items.length - 1];
  };
  onFocus(svg, () => {
    const index = clamp(cursor.row, 0, rows.length - 1);
    go(index, near(index));
  }, () => ring.style("display", "none"));
  let current = null;
  onKeys(svg, (dx, dy) => {
    const index = clamp(cursor.row + (isFinite(dy) ? dy : 0), 0, rows.length - 1);
    const items = rows[index].items;
    if (dy) current = near(index);
    else current = items[clamp(items.indexOf(current ?? near(index)) + dx, 0, items.length - 1)];
    go(index, current);
  }, {
    Enter: () => rows[cursor.row]?.kind === "process" && toggle(rows[cursor.row].id, expanded),
    "+": () => zoomBy(round, 0.5, cursor.at),
    "-": () => zoomBy(round, 2, cursor.at),
    0: () => change({view: null}),
  });
}
