// Which rounds are shown, and the critical path of each as one stacked bar.
import {bodyOf, chart, clamp, d3, detailLine, focusedId, notice, onFocus, onKeys, refocus,
        secondsAxis} from "./dom.js";
import {drawable} from "./data.js";
import {NOT_RECORDED, count, duration, isNumber, percent, seconds} from "./format.js";
import {drawLegend, familyOf, kindClass, nameOf, pieceName} from "./kinds.js";
import {change, state, windowOf} from "./state.js";

const ROW = 24, BAR = 16, TOP = 28, LEFT = 40, RIGHT = 64;
let cursor = null;  // {round, at: ns} of what the keyboard is on

export function drawRounds(model) {
  const body = bodyOf("rounds");
  if (!model.rounds.length) {
    notice(body, "No round has finished yet.");
    return;
  }
  const focused = focusedId(body);
  body.selectAll(":scope > :not(.navigator)").remove();
  const width = body.node().clientWidth;
  const {first, size} = windowOf(model, width);
  drawNavigator(body, model, first, size, width);
  const rounds = model.rounds.slice(first, first + size);
  const recorded = rounds.some(round => round.pieces.length);
  if (recorded) drawLegend(body);
  else body.append("p").attr("class", "notice").text("The critical path is " + NOT_RECORDED +
                                                      "; each bar is a whole round.");
  drawBars(body, rounds, width);
  refocus(focused);
}

/// The wall time of all rounds, and a slider for the part of them that the charts show. The slider
/// stays when all is drawn again: somebody may be dragging it.
function drawNavigator(body, model, first, size, width) {
  let box = body.select(".navigator");
  if (size >= model.rounds.length) {
    box.remove();
    return;
  }
  if (box.empty()) box = newNavigator(body);
  const last = model.rounds.length - size;
  const text = "Rounds " + model.rounds[first].round + " to " + model.rounds[first + size - 1].round +
      " of " + model.rounds.length.toLocaleString("en");
  box.select("label").text(text);
  box.select("input").attr({max: last, "aria-valuetext": text}).property("value", first);
  drawOverview(box, model, first, size, width);
}

function newNavigator(body) {
  const box = body.append("div").attr("class", "navigator");
  box.append("label").attr("for", "window");
  box.append("div");
  box.append("input").attr({type: "range", id: "window", min: 0})
      .on("input", function () { change({first: Number(this.value)}); });
  return box;
}

function drawOverview(box, model, first, size, width) {
  const height = 40;
  const buckets = bucketsOf(model.rounds, Math.floor(width / 2));
  const x = d3.scale.linear().domain([0, model.rounds.length]).range([0, width]);
  const y = d3.scale.linear().domain([0, d3.max(buckets, b => b.wall) || 1]).range([height, 2]);
  const svg = chart(box.select("div").html(""), width, height, "Wall time of all rounds; the longest is " +
                                            duration(d3.max(buckets, b => b.wall)));
  svg.append("path").attr("class", "overview").attr("d", d3.svg.area().interpolate("step-after")
      .x(b => x(b.first)).y0(height).y1(b => y(b.wall))(
          [...buckets, {...buckets[buckets.length - 1], first: model.rounds.length}]));
  svg.append("rect").attr({x: x(first) + 1, width: Math.max(2, x(size) - 2), y: 1, height: height - 2,
                           class: "window"});
}

/// The longest round of each of at most `most` equal stretches.
function bucketsOf(rounds, most) {
  const size = Math.max(1, Math.ceil(rounds.length / most));
  const buckets = [];
  for (let first = 0; first < rounds.length; first += size) {
    buckets.push({first, wall: d3.max(rounds.slice(first, first + size), round => round.wallNs)});
  }
  return buckets;
}

function drawBars(body, rounds, width) {
  const height = TOP + rounds.length * ROW + 4;
  const svg = chart(body, width, height,
                    "Critical path of each round. Arrow keys move from piece to piece and from " +
                    "round to round; Enter shows the round’s timeline.")
      .attr({id: "path-chart", tabindex: 0, role: "application"});
  const longest = d3.max(rounds, round => round.wallNs) || 1;
  const x = d3.scale.linear().domain([0, longest / 1e9]).range([LEFT, width - RIGHT]);
  secondsAxis(svg, x, TOP - 4, rounds.length * ROW + 4, width < 500 ? 4 : 8);
  const perPixel = longest / (width - LEFT - RIGHT);
  const data = rounds.map(round => ({round, pieces: drawnPieces(round, perPixel)}));
  const rows = svg.selectAll("g.row").data(data).enter().append("g").attr("class", "row")
      .classed("chosen", d => d.round.round === state.round)
      .attr("transform", (d, i) => "translate(0," + (TOP + i * ROW) + ")")
      .on("click", d => change({round: d.round.round}));
  rows.append("rect").attr({class: "row-ground", x: 0, y: 0, width, height: ROW});
  rows.append("text").attr({class: "label", x: LEFT - 8, y: ROW / 2, dy: "0.35em"})
      .text(d => d.round.round);
  rows.append("text").attr({class: "value", x: width, y: ROW / 2, dy: "0.35em"})
      .text(d => seconds(d.round.wallNs) + " s");
  drawPieces(rows, x);
  const detail = detailLine(body, "Point at a piece, or move with the arrow keys.");
  interact(svg, rows, data, x, detail);
}

function drawnPieces(round, perPixel) {
  const pieces = round.pieces.length ? round.pieces :
      [{what: "whole", worker: null, chunk: null, begin_ns: 0, end_ns: round.wallNs, error_ns: null}];
  return drawable(pieces, perPixel);
}

function drawPieces(rows, x) {
  const at = ns => x(ns / 1e9);
  const marks = rows.selectAll("g.piece")
      .data(d => d.pieces.map(piece => ({piece, round: d.round}))).enter()
      .append("g").attr("class", "piece");
  marks.append("rect").attr({y: (ROW - BAR) / 2, height: BAR})
      .attr("class", d => kindClass(d.piece.what))
      .attr("x", d => at(d.piece.begin_ns))
      .attr("width", d => Math.max(0.75, at(d.piece.end_ns) - at(d.piece.begin_ns) - 0.75));
  const names = rows.selectAll("text.name").data(d => runsOf(d.pieces)).enter().append("text")
      .attr("class", run => "name on-" + familyOf(run.what))
      .attr({y: ROW / 2, dy: "0.35em"}).attr("x", run => at(run.begin_ns) + 6);
  names.text(run => longestFit(run, at(run.end_ns) - at(run.begin_ns) - 12));
}

/// Neighbours of one kind on one worker, such as chunk after chunk: they share a name.
function runsOf(pieces) {
  const runs = [];
  for (const piece of pieces) {
    const last = runs[runs.length - 1];
    if (last && last.what === piece.what && last.worker === piece.worker) last.end_ns = piece.end_ns;
    else runs.push({...piece});
  }
  return runs;
}

/// The longest name of a piece that is about this wide, or none.
function longestFit(run, width) {
  const name = nameOf(run.what);
  const names = isNumber(run.worker) ? [name + " · worker " + run.worker, name] : [name];
  return names.find(text => 7.5 * text.length <= width) ?? "";
}

function interact(svg, rows, data, x, detail) {
  const ring = svg.append("rect").attr({class: "ring", rx: 2}).style("display", "none");
  const show = (row, at) => {
    const {round, pieces} = data[row];
    const piece = pieces[at];
    const begin = x(piece.begin_ns / 1e9);
    ring.style("display", null).attr({
      x: begin - 1.5, y: TOP + row * ROW + (ROW - BAR) / 2 - 1.5, height: BAR + 3,
      width: Math.max(4, x(piece.end_ns / 1e9) - begin + 2.25),
    });
    detail.text(describe(round, piece));
  };
  rows.selectAll("g.piece").on("mouseover", (d, at, row) => show(row, at));
  const place = () => {
    const row = data.findIndex(d => d.round.round === cursor?.round);
    const at = row < 0 ? 0 : data[row].pieces.findIndex(p => cursor.at < p.end_ns);
    return [Math.max(0, row), Math.max(0, at)];
  };
  const go = (row, at) => {
    cursor = {round: data[row].round.round, at: data[row].pieces[at].begin_ns};
    show(row, at);
  };
  onFocus(svg, () => go(...place()), () => ring.style("display", "none"));
  onKeys(svg, (dx, dy) => {
    const [row, at] = place();
    if (dx) go(row, clamp(at + dx, 0, data[row].pieces.length - 1));
    else {
      const next = clamp(row + dy, 0, data.length - 1);
      const found = data[next].pieces.findIndex(p => cursor.at < p.end_ns);
      go(next, found < 0 ? data[next].pieces.length - 1 : found);
    }
  }, {Enter: () => change({round: data[place()[0]].round.round})});
}

function describe(round, piece) {
  const length = piece.end_ns - piece.begin_ns;
  return ["Round " + round.round, pieceName(piece) +
              (isNumber(piece.worker) ? " on worker " + piece.worker : "") +
              (isNumber(piece.chunk) ? ", chunk " + piece.chunk : "") +
              (piece.parts > 1 ? " and " + count(piece.parts - 1, "shorter piece") : ""),
          duration(length) + " (" + percent(length / round.wallNs) + " of the round)",
          "from " + seconds(piece.begin_ns, 3) + " s to " + seconds(piece.end_ns, 3) + " s",
          ...(piece.error_ns ? ["clock error ±" + duration(piece.error_ns)] : [])].join(" · ");
}
