// The page: reads the report, draws the views, and draws them again when the report, the width or
// what the reader chose changes.
import {loadReport, modelOf} from "./data.js";
import {d3} from "./dom.js";
import {drawFindings} from "./findings.js";
import {count, isNumber} from "./format.js";
import {drawLearning} from "./learning.js";
import {drawMemory} from "./memory.js";
import {drawRounds} from "./rounds.js";
import {onChange, state} from "./state.js";
import {drawSummary} from "./summary.js";
import {drawTable} from "./table.js";
import {drawTimeline} from "./timeline.js";
import {drawWorkers} from "./workers.js";

const VIEWS = [drawSummary, drawFindings, drawRounds, drawWorkers, drawTimeline, drawMemory,
               drawLearning, drawTable];

// Which views show what the reader can choose.
const SHOWN_IN = {
  round: [drawRounds, drawWorkers, drawTimeline, drawTable],
  first: [drawRounds, drawWorkers, drawTable],
  measure: [drawWorkers],
  sort: [drawWorkers],
  clock: [drawTimeline],
  view: [drawTimeline],
  expanded: [drawTimeline],
  process: [drawMemory],
};

let model = null;

/// A page that nobody has laid out yet, such as a tab in the background, is drawn when it has a width.
function draw(views) {
  if (!model || document.querySelector("main").clientWidth === 0) return;
  for (const view of views) view(model);
  document.documentElement.dataset.ready = "true";
}

function show(report) {
  model = modelOf(report);
  if (!model.rounds.some(round => round.round === state.round))
    state.round = model.median?.round ?? null;
  d3.select("#notice").remove();
  drawHeader();
  draw(VIEWS);
}

function drawHeader() {
  const meta = model.meta;
  const title = meta.title || "Run report";
  document.title = title + " – interlude report";
  d3.select("#title").text(title);
  d3.select("#about").text([
    isNumber(Number(meta.parameters)) && meta.parameters ?
        Number(meta.parameters).toLocaleString("en") + " parameters" : null,
    count(model.workerIds.length, "worker"), count(model.rounds.length, "round"),
    meta.codec && "codec " + meta.codec, meta.exchange && meta.exchange + " exchange",
    meta.outcome, meta.started_at && "started " + meta.started_at, meta.software,
  ].filter(Boolean).join(" · "));
  const notes = d3.select("#notes").html("");
  notes.selectAll("p").data(model.notes).enter().append("p").text(note => note);
}

function fail(text) {
  if (d3.select("#notice").empty())
    d3.select("main").insert("p", ":first-child").attr({id: "notice", class: "notice", role: "alert"});
  d3.select("#notice").text(text);
  document.documentElement.dataset.ready = "true";
}

/// The choice is remembered where the browser lets a page from a file remember something.
function followTheme() {
  const root = document.documentElement;
  const set = theme => {
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
  };
  let kept = "auto";
  try {
    kept = localStorage.getItem("interlude-theme") ?? "auto";
  } catch { /* stays as the system says */ }
  set(kept);
  for (const input of document.querySelectorAll("#theme input")) {
    input.checked = input.value === kept;
    input.addEventListener("change", () => {
      set(input.value);
      try {
        localStorage.setItem("interlude-theme", input.value);
      } catch { /* holds for this page alone */ }
    });
  }
}

/// Charts are as wide as the page, so they are drawn again when that changes.
function followWidth() {
  const main = document.querySelector("main");
  let width = main.clientWidth;
  new ResizeObserver(() => {
    if (main.clientWidth === width) return;
    width = main.clientWidth;
    draw(VIEWS);
  }).observe(main);
}

followTheme();
onChange(keys => draw(new Set(keys.flatMap(key => SHOWN_IN[key] ?? []))));
loadReport(show, fail);
followWidth();
