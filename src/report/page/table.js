// The rounds of the window as a table, and what happened in the run.
import {bodyOf, focusedId, notice, refocus} from "./dom.js";
import {DASH, bytes, isNumber, number, percent, seconds} from "./format.js";
import {FAMILIES} from "./kinds.js";
import {state, windowOf} from "./state.js";

const MOST_EVENTS = 50;

const share = family => round => round.pieces.length ? seconds(round.families[family] ?? 0) : DASH;

const COLUMNS = [
  ["Wall", round => seconds(round.wallNs)],
  ...FAMILIES.map(family => [family.name, share(family.id)]),
  ["Slowest training", round => seconds(round.trainNs)],
  ["Exchange", round => seconds(round.exchangeNs)],
  ["Loss", round => number(round.mean_loss, 4)],
  ["Accuracy", round => isNumber(round.accuracy) ? percent(round.accuracy, 2) : DASH],
  ["Up a worker", round => bytes(round.upload_bytes?.median)],
  ["Repaired chunks", round => number(round.repaired_chunks, 0)],
  ["Hash", round => round.disagreeing_workers?.length ? "DIFFERS"
                  : round.root_hash ? String(round.root_hash).slice(-8) : DASH],
];

export function drawTable(model) {
  const body = bodyOf("table");
  const focused = focusedId(body);
  const open = !body.select("details[open]").empty();
  const scrolled = body.select(".scroll").node()?.scrollLeft ?? 0;
  if (!model.rounds.length) {
    notice(body, "No round has finished yet.");
  } else {
    drawRounds(body.html(""), model);
  }
  if (model.events.length) drawEvents(body, model.events, open);
  body.select(".scroll").property("scrollLeft", scrolled);
  refocus(focused);
}

function drawRounds(body, model) {
  const {first, size} = windowOf(model, body.node().clientWidth);
  const rounds = model.rounds.slice(first, first + size);
  const used = COLUMNS.filter(([, text]) => rounds.some(round => text(round) !== DASH));
  const scroll = body.append("div")
      .attr({class: "scroll", id: "table-scroll", tabindex: 0, role: "region", "aria-label": "Table of rounds"});
  const table = scroll.append("table").attr("class", "figures rounds");
  table.append("caption").attr("class", "unseen").text("Rounds, in seconds where no unit is named");
  const head = table.append("thead").append("tr");
  head.append("th").attr("scope", "col").text("Round");
  head.selectAll("th.number").data(used).enter().append("th").attr({scope: "col", class: "number"})
      .text(column => column[0]);
  const rows = table.append("tbody").selectAll("tr").data(rounds).enter().append("tr")
      .classed("chosen", round => round.round === state.round);
  rows.append("th").attr("scope", "row").text(round => round.round);
  rows.selectAll("td").data(round => used.map(column => column[1](round))).enter().append("td")
      .attr("class", "number").text(text => text);
}

function drawEvents(body, events, open) {
  const details = body.append("details").property("open", open);
  const shown = events.slice(-MOST_EVENTS);
  details.append("summary").attr("id", "events").text("Events" + (shown.length < events.length ?
      ", the last " + shown.length + " of " + events.length : " (" + events.length + ")"));
  const lines = details.append("ul").selectAll("li").data(shown).enter().append("li");
  lines.text(event => (isNumber(event.round) ? "Round " + event.round + ": " : "") + event.text);
}
