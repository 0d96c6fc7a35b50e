// The headline: one sentence that adds up, what the run achieved, and the median round as one bar
// with its table.
import {bodyOf, d3} from "./dom.js";
import {DASH, addends, count, duration, isNumber, number, percent, seconds} from "./format.js";
import {FAMILIES, familyOf, pieceName} from "./kinds.js";

export function drawSummary(model) {
  const body = bodyOf("summary").html("");
  body.append("p").attr("class", "headline").text(headline(model));
  drawTiles(body, model);
  if (model.median?.pieces.length) drawMedianRound(body, model.median);
}

/// One sentence; its parts add up to the round.
function headline(model) {
  const round = model.median;
  if (!round) return "No round has finished yet.";
  if (!round.pieces.length) {
    const train = model.typical.slowest_train_seconds, exchange = model.typical.exchange_seconds;
    const wall = model.typical.wall_seconds;
    return "A median round took " + duration(isNumber(wall) ? wall * 1e9 : round.wallNs) +
        (isNumber(train) ? ", of which " + duration(train * 1e9) +
         " was training on the slowest worker" : "") +
        (isNumber(exchange) ? "; the exchange took " + duration(exchange * 1e9) : "") + ".";
  }
  const times = round.families;
  const train = times.train ?? 0, unexplained = times.unexplained ?? 0;
  const exchange = round.wallNs - train - unexplained;
  const [wall, ...parts] = addends(round.wallNs, [train, exchange, unexplained]);
  return "A median round took " + wall + ": " + parts[0] + " training, " + parts[1] + " exchange and " +
      parts[2] + " unexplained (" + percent(unexplained / round.wallNs) + ").";
}

function drawTiles(body, model) {
  const tiles = body.append("dl").attr("class", "tiles");
  for (const [name, value, more, loud] of tilesOf(model)) {
    const tile = tiles.append("div").classed("loud", loud === true);
    tile.append("dt").text(name);
    tile.append("dd").text(value).append("span").text(more);
  }
}

/// The report lists no more than the first 10,000.
function unrecordedOf(total) {
  const rounds = total.unrecorded_rounds?.length ?? 0;
  return rounds ? (rounds >= 10000 ? "at least " : "") + rounds + " more without a record" : null;
}

function tilesOf(model) {
  const total = model.total;
  const agree = model.rounds.length ? total.hashes_agree : null;
  const hash = total.final_root_hash;
  return [
    ["Rounds", number(model.rounds.length, 0),
     [isNumber(total.wall_seconds) ? "in " + duration(total.wall_seconds * 1e9) : null,
      unrecordedOf(total)]
         .filter(Boolean).join("; ")],
    ["Workers", number(model.workerIds.length, 0),
     !isNumber(total.workers_left) ? "" :
         total.workers_left ? count(total.workers_left, "worker") + " left" : "all stayed"],
    ["Parameters", agree === true ? "agree" : agree === false ? "differ" : DASH,
     agree === false ? whoDiffers(model) : hash ? "hash " + String(hash).slice(0, 12) : "no hash",
     agree === false],
    ["Accuracy", isNumber(total.final_accuracy) ? percent(total.final_accuracy, 2) : DASH,
     isNumber(total.final_accuracy) ? "on the test set" : "not evaluated"],
    ["Loss", number(total.final_loss, 3), "training, last round"],
    ["Samples", isNumber(total.samples_per_second) ? number(total.samples_per_second, 0) : DASH,
     "a second"],
  ];
}

function whoDiffers(model) {
  const round = model.rounds.find(one => one.disagreeing_workers?.length);
  return round ? "first: worker " + round.disagreeing_workers.join(", ") + ", round " + round.round
               : "see the table";
}

function drawMedianRound(body, round) {
  const box = body.append("figure").attr("class", "median");
  box.append("figcaption").text("Round " + round.round + ", the median one, piece by piece");
  const rows = FAMILIES.map(family => ({...family, ns: round.families[family.id] ?? 0}))
      .filter(row => row.ns > 0 || row.id === "unexplained");
  drawBar(box, rows, round.wallNs);
  const table = box.append("table").attr("class", "figures");
  const head = table.append("thead").append("tr");
  head.append("th").attr("scope", "col").text("Pieces");
  head.append("th").attr({scope: "col", class: "number"}).text("Seconds");
  head.append("th").attr({scope: "col", class: "number"}).text("Share");
  head.append("th").attr({scope: "col", class: "wide"}).text("Longest piece");
  const lines = table.append("tbody").selectAll("tr").data(rows).enter().append("tr");
  const name = lines.append("th").attr("scope", "row");
  name.append("span").attr("class", row => "swatch swatch-" + row.id);
  name.append("span").text(row => row.name);
  lines.append("td").attr("class", "number").text(row => seconds(row.ns, 3));
  lines.append("td").attr("class", "number").text(row => percent(row.ns / round.wallNs));
  lines.append("td").attr("class", "wide").text(row => longestPiece(round, row.id));
  const foot = table.append("tfoot").append("tr");
  foot.append("th").attr("scope", "row").text("Round");
  foot.append("td").attr("class", "number").text(seconds(round.wallNs, 3));
  foot.append("td").attr("class", "number").text("100.0 %");
  foot.append("td").attr("class", "wide");
}

function drawBar(box, rows, wall) {
  const width = box.node().clientWidth, height = 28;
  const svg = box.append("svg").attr({width, height, class: "chart", "aria-hidden": "true"});
  let at = 0;
  for (const row of rows) {
    const begin = at / wall * width;
    const end = (at += row.ns) / wall * width;
    if (end <= begin) continue;
    const part = svg.append("g");
    part.append("rect").attr({x: begin, width: Math.max(0.5, end - begin - 1), y: 0, height,
                              class: "kind kind-" + row.id});
    if (end - begin > 8 * row.name.length) {
      part.append("text").attr({x: begin + 8, y: height / 2, dy: "0.35em", class: "on-" + row.id})
          .text(row.name);
    }
  }
}

function longestPiece(round, family) {
  let longest = null;
  for (const piece of round.pieces) {
    if (familyOf(piece.what) !== family) continue;
    if (!longest || piece.end_ns - piece.begin_ns > longest.end_ns - longest.begin_ns) longest = piece;
  }
  if (!longest) return DASH;
  const where = isNumber(longest.worker) ? " on worker " + longest.worker : "";
  return pieceName(longest) + where + ", " + duration(longest.end_ns - longest.begin_ns);
}
