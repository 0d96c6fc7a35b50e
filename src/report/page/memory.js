// Memory of one process over time: its owners stacked, and the resident memory above them.
import {bodyOf, chart, clamp, d3, focusedId, notice, onFocus, onKeys, refocus} from "./dom.js";
import {NOT_RECORDED, bytes, isNumber, percent, processName, seconds} from "./format.js";
import {change, state} from "./state.js";

const HEIGHT = 260, LEFT = 60, RIGHT = 12, TOP = 12, BOTTOM = 28;
const COLOURS = 8;
let cursor = null;  // index of the sample

export function drawMemory(model) {
  const body = bodyOf("memory");
  if (!model.memory.length) {
    notice(body, "Memory is " + NOT_RECORDED + ".");
    return;
  }
  const focused = focusedId(body);
  body.html("");
  const part = model.memory.find(one => one.process === state.process) ?? model.memory[0];
  drawPicker(body, model, part);
  const layers = layersOf(part);
  const grid = body.append("div").attr("class", "beside");
  const {svg, x} = drawChart(grid, part, layers);
  const update = drawFigures(grid, part, layers);
  interact(svg, x, part, update);
  refocus(focused);
}

function drawPicker(body, model, part) {
  const controls = body.append("div").attr("class", "controls");
  const label = controls.append("label");
  label.append("span").text("Process ");
  label.append("select").attr("id", "memory-process")
      .on("change", function () { change({process: model.memory[this.selectedIndex].process}); })
      .selectAll("option").data(model.memory).enter().append("option")
      .property("selected", one => one === part)
      .text(one => processName(one.process));
}

/// The owners, the largest at the bottom: [{name, values: [{x, y, y0}]}].
function layersOf(part) {
  const layers = Object.entries(part.owners ?? {}).map(([name, values]) => ({
    name, peak: d3.max(values) ?? 0,
    values: part.times_s.map((time, i) => ({x: time, y: values[i] ?? 0})),
  }));
  layers.sort((a, b) => b.peak - a.peak);
  return d3.layout.stack().values(layer => layer.values)(layers);
}

function topOf(part, layers) {
  const stacked = layers.length ? d3.max(layers[layers.length - 1].values, d => d.y0 + d.y) : 0;
  return Math.max(stacked, d3.max(part.rss ?? []) ?? 0, 1);
}

function scalesOf(part, width, top) {
  const times = part.times_s;
  return {
    x: d3.scale.linear().domain([times[0], Math.max(times[times.length - 1], times[0] + 1e-3)])
        .range([LEFT, width - RIGHT]),
    y: d3.scale.linear().domain([0, top * 1.05]).range([HEIGHT - BOTTOM, TOP]),
  };
}

function drawChart(grid, part, layers) {
  const box = grid.append("div");
  const width = box.node().clientWidth;
  const {x, y} = scalesOf(part, width, topOf(part, layers));
  const svg = chart(box, width, HEIGHT, "Memory of the " + processName(part.process) +
                                            " over time by owner. Arrow keys move in time.")
      .attr({id: "memory-chart", tabindex: 0, role: "application"});
  drawAxes(svg, x, y, width);
  const area = d3.svg.area().interpolate("step-after").x(d => x(d.x)).y0(d => y(d.y0))
      .y1(d => y(d.y0 + d.y));
  svg.selectAll("path.owner").data(layers).enter().append("path")
      .attr("class", (layer, i) => "owner owner-" + i % COLOURS).attr("d", layer => area(layer.values));
  const rss = part.times_s.map((time, i) => ({x: time, y: part.rss?.[i]})).filter(d => isNumber(d.y));
  svg.append("path").attr({class: "line rss", d: rss.length ?
      d3.svg.line().interpolate("step-after").x(d => x(d.x)).y(d => y(d.y))(rss) : "M0,0"});
  svg.append("line").attr({class: "now", y1: TOP, y2: HEIGHT - BOTTOM}).style("display", "none");
  svg.append("rect").attr({class: "catch", x: LEFT, y: TOP, width: Math.max(0, width - LEFT - RIGHT),
                           height: HEIGHT - TOP - BOTTOM});
  return {svg, x};
}

function drawAxes(svg, x, y, width) {
  const rows = svg.append("g").attr("class", "axis").selectAll("g").data(y.ticks(5)).enter()
      .append("g").attr("transform", value => "translate(0," + Math.round(y(value)) + ")");
  rows.append("line").attr({x1: LEFT, x2: width - RIGHT, y1: 0.5, y2: 0.5});
  rows.append("text").attr({x: LEFT - 8, dy: "0.35em", "text-anchor": "end"}).text(bytes);
  const ticks = x.ticks(width < 500 ? 3 : 6);
  svg.append("g").attr("class", "axis").selectAll("text").data(ticks).enter().append("text")
      .attr({y: HEIGHT - 8, "text-anchor": "middle"}).attr("x", value => clamp(x(value), LEFT, width - 24))
      .text((value, i) => value + (i === ticks.length - 1 ? " s" : ""));
}

/// A table of the figures at the cursor; returns the function that fills it.
function drawFigures(grid, part, layers) {
  const table = grid.append("table").attr("class", "figures compact");
  const caption = table.append("caption").attr({role: "status"});
  const head = table.append("thead").append("tr");
  for (const [text, kind] of [["Owner", ""], ["Now", "number"], ["Peak", "number"]])
    head.append("th").attr({scope: "col", class: kind}).text(text);
  const rows = table.append("tbody").selectAll("tr").data(layers.slice().reverse()).enter().append("tr");
  const name = rows.append("th").attr("scope", "row");
  name.append("span").attr("class", layer => "swatch owner-" + layers.indexOf(layer) % COLOURS);
  name.append("span").text(layer => layer.name.replaceAll("_", " "));
  const now = rows.append("td").attr("class", "number");
  rows.append("td").attr("class", "number").text(layer => bytes(layer.peak));
  const foot = table.append("tfoot").append("tr");
  const total = foot.append("th").attr("scope", "row");
  total.append("span").attr("class", "swatch swatch-line");
  total.append("span").text("RSS");
  const rss = foot.append("td").attr("class", "number");
  foot.append("td").attr("class", "number").text(bytes(d3.max(part.rss ?? []) ?? null));
  return at => {
    const sum = d3.sum(layers, layer => layer.values[at].y);
    const held = part.rss?.[at];
    caption.text("At " + seconds(part.times_s[at] * 1e9, 1) + " s" +
                 (isNumber(held) && held > 0 ? ": owners explain " + percent(sum / held) + " of RSS" : ""));
    now.text(layer => bytes(layer.values[at].y));
    rss.text(bytes(held ?? null));
  };
}

function interact(svg, x, part, update) {
  const last = part.times_s.length - 1;
  const line = svg.select(".now");
  const show = at => {
    line.style("display", null).attr({x1: x(part.times_s[at]), x2: x(part.times_s[at])});
    update(at);
  };
  update(clamp(cursor ?? last, 0, last));
  svg.select(".catch").on("mousemove", function () {
    show(clamp(d3.bisectRight(part.times_s, x.invert(d3.mouse(this)[0])) - 1, 0, last));
  });
  onFocus(svg, () => show(clamp(cursor ?? last, 0, last)), () => line.style("display", "none"));
  onKeys(svg, dx => {
    cursor = clamp((cursor ?? last) + dx, 0, last);
    show(cursor);
  });
}
