// The heat map: each worker in each round, how much it held the round up, and by what cause.
import {bodyOf, clamp, d3, detailLine, focusedId, notice, onKeys, refocus, segments} from "./dom.js";
import {NOT_RECORDED, duration, isNumber, percent} from "./format.js";
import {nameOf} from "./kinds.js";
import {change, state, windowOf} from "./state.js";

const MOST_ROWS = 32, STEPS = 6;
const MEASURES = [
  ["drag_ns", "Drag", "how much sooner the round would have ended, had this worker been as fast as the median one"],
  ["excess_ns", "Excess", "how much longer this worker’s own work took than the median worker’s"],
  ["slack_ns", "Slack", "how much later this worker could have been without the round ending later"],
];
let cursor = {worker: null, round: null};

export function drawWorkers(model) {
  const body = bodyOf("workers");
  const offered = MEASURES.filter(([field]) => model.rounds.some(
      round => [...round.worker.values()].some(worker => isNumber(worker[field]))));
  if (!offered.length) {
    notice(body, "Slack and drag of the workers are " + NOT_RECORDED + ".");
    return;
  }
  const focused = focusedId(body);
  const inGrid = document.activeElement.matches("#workers td");
  body.html("");
  const measure = offered.find(([field]) => field === state.measure) ?? offered[0];
  drawControls(body, offered, measure);
  const {first, size} = windowOf(model, body.node().clientWidth);
  const rounds = model.rounds.slice(first, first + size);
  const workers = rowsOf(model, measure[0]);
  if (workers.length < model.workerIds.length) {
    body.append("p").attr("class", "quiet").text("The " + workers.length + " workers with most " +
        measure[1].toLowerCase() + " of " + model.workerIds.length + ".");
  }
  drawGrid(body, model, rounds, workers, measure);
  if (inGrid) body.select("td[tabindex='0']").node()?.focus({preventScroll: true});
  else refocus(focused);
}

function drawControls(body, offered, measure) {
  const controls = body.append("div").attr("class", "controls");
  segments(controls, "measure", "What the cells show", offered.map(m => [m[0], m[1]]), measure[0],
           field => change({measure: field}));
  segments(controls, "sort", "Order of the rows", [["worker", "By worker"], ["most", "Most first"]],
           state.sort, sort => change({sort}));
  body.append("p").attr("class", "quiet").text(measure[1] + ": " + measure[2] + ".");
}

/// Ids of the workers that have a row.
function rowsOf(model, field) {
  const sums = new Map(model.workerIds.map(id => [id, 0]));
  for (const round of model.rounds) {
    for (const [id, worker] of round.worker) sums.set(id, sums.get(id) + (worker[field] ?? 0));
  }
  const most = [...sums].sort((a, b) => b[1] - a[1]).slice(0, MOST_ROWS).map(([id]) => id);
  return state.sort === "most" ? most : most.sort((a, b) => a - b);
}

function drawGrid(body, model, rounds, workers, [field, name]) {
  const largest = d3.max(model.rounds, round => d3.max([...round.worker.values()], w => w[field])) || 1;
  const cells = (id, i) => rounds.map(round => ({id, round, i, worker: round.worker.get(id)}));
  const table = body.append("table").attr({class: "heat", role: "grid"});
  table.append("caption").attr("class", "unseen")
      .text(name + " of each worker in each round. Arrow keys move from cell to cell; Enter shows the round’s timeline.");
  const head = table.append("thead").append("tr");
  head.append("th").attr({scope: "col", class: "corner"}).text("Worker");
  const labelled = Math.max(1, Math.ceil(rounds.length * 30 / Math.max(1, body.node().clientWidth - 70)));
  head.selectAll("th.round").data(rounds).enter().append("th")
      .attr({scope: "col", class: "round"}).attr("aria-label", round => "round " + round.round)
      .classed("chosen", round => round.round === state.round)
      .text((round, i) => i % labelled === 0 ? round.round : "");
  const rows = table.append("tbody").selectAll("tr").data(workers).enter().append("tr");
  rows.append("th").attr("scope", "row").text(id => id);
  const all = rows.selectAll("td").data(cells).enter().append("td").attr({role: "gridcell", tabindex: -1})
      .attr("class", d => "heat-" + stepOf(d.worker?.[field], largest))
      .attr("aria-label", d => describe(d, field, name))
      .text(d => letterOf(d.worker?.cause));
  drawScale(body, largest, name);
  drawLetters(body, rounds);
  interact(table, all, rounds, workers, detailLine(body, "Point at a cell, or move with the arrow keys."),
           d => describe(d, field, name));
}

function stepOf(value, largest) {
  if (!isNumber(value)) return "none";
  return clamp(Math.ceil(value / largest * STEPS), 0, STEPS);
}

function letterOf(cause) {
  if (!cause?.letter) return "";
  return cause.grade === "observed" ? cause.letter.toUpperCase() : cause.letter.toLowerCase() + "?";
}

function describe(d, field, name) {
  const place = "Worker " + d.id + ", round " + d.round.round;
  if (!d.worker) return place + " · took no part";
  const others = MEASURES.filter(m => m[0] !== field && isNumber(d.worker[m[0]]))
      .map(m => m[1].toLowerCase() + " " + duration(d.worker[m[0]]));
  const cause = d.worker.cause;
  return [place, name.toLowerCase() + " " + duration(d.worker[field]), ...others,
          ...(cause ? [nameOf(cause.kind) + " (" + cause.grade + (isNumber(cause.share) ?
              ", explains " + percent(cause.share, 0) : "") + ")"] : [])].join(" · ");
}

function interact(table, all, rounds, workers, detail, text) {
  const body = table.select("tbody").node();
  const cellAt = (row, column) => body.rows[row].cells[column + 1];
  let row = Math.max(0, workers.indexOf(cursor.worker));
  let column = Math.max(0, rounds.findIndex(round => round.round === cursor.round));
  cellAt(row, column).tabIndex = 0;
  const place = cell => {
    cellAt(row, column).tabIndex = -1;
    row = cell.parentNode.sectionRowIndex;
    column = cell.cellIndex - 1;
    cell.tabIndex = 0;
    cursor = {worker: workers[row], round: rounds[column].round};
  };
  all.on("mouseover", d => detail.text(text(d)))
      .on("focus", function (d) { place(this); detail.text(text(d)); })
      .on("click", function (d) { place(this); change({round: d.round.round}); });
  onKeys(table, (dx, dy) => cellAt(clamp(row + dy, 0, workers.length - 1),
                                   clamp(column + dx, 0, rounds.length - 1)).focus(),
         {Enter: () => change({round: rounds[column].round})});
}

function drawScale(body, largest, name) {
  const scale = body.append("p").attr({class: "scale quiet", "aria-hidden": "true"});
  scale.append("span").text(name + ": 0");
  for (let step = 0; step <= STEPS; ++step) scale.append("span").attr("class", "step heat-" + step);
  scale.append("span").text(duration(largest));
}

/// What the letters that stand in the cells mean.
function drawLetters(body, rounds) {
  const kinds = new Map();
  for (const round of rounds) {
    for (const {cause} of round.worker.values()) {
      if (cause?.letter) kinds.set(cause.letter.toUpperCase(), cause.kind);
    }
  }
  const items = body.append("ul").attr("class", "legend").selectAll("li")
      .data([...kinds].sort((a, b) => a[0] < b[0] ? -1 : 1)).enter().append("li");
  items.append("b").text(([letter]) => letter);
  items.append("span").text(([, kind]) => nameOf(kind));
}
