// Loss of each round and accuracy of each evaluation, as two small curves.
import {bodyOf, chart, clamp, d3, notice} from "./dom.js";
import {NOT_RECORDED, isNumber, number, percent} from "./format.js";

const HEIGHT = 200, LEFT = 52, RIGHT = 16, TOP = 16, BOTTOM = 28;

export function drawLearning(model) {
  const body = bodyOf("learning");
  const loss = model.rounds.map(round => [round.round, round.mean_loss]).filter(d => isNumber(d[1]));
  const accuracy = model.evaluations.filter(one => one.samples > 0)
      .map(one => [one.after_rounds, one.correct / one.samples]);
  if (!loss.length && !accuracy.length) {
    notice(body, "Loss and accuracy are " + NOT_RECORDED + ".");
    return;
  }
  const grid = body.html("").append("div").attr("class", "halves");
  const last = Math.max(1, model.rounds[model.rounds.length - 1]?.round ?? 1);
  drawCurve(grid, "Training loss", loss, last, value => number(value, 3), null);
  drawCurve(grid, "Accuracy on the test set", accuracy, last, value => percent(value), [0, 1]);
}

function drawCurve(grid, name, points, last, format, range) {
  const box = grid.append("figure");
  const caption = box.append("figcaption").text(name);
  if (!points.length) {
    box.append("p").attr("class", "notice").text("Not recorded in this run.");
    return;
  }
  const final = points[points.length - 1];
  caption.append("span").attr("class", "quiet").text(", " + format(final[1]) + " after round " + final[0]);
  const width = box.node().clientWidth;
  const x = d3.scale.linear().domain([Math.min(points[0][0], last - 1), last]).range([LEFT, width - RIGHT]);
  const y = d3.scale.linear().domain(range ?? [0, d3.max(points, d => d[1]) || 1])
      .range([HEIGHT - BOTTOM, TOP]);
  const svg = chart(box, width, HEIGHT, name + " by round, from " + format(points[0][1]) + " to " +
                                            format(final[1]));
  const lines = svg.append("g").attr("class", "axis").selectAll("g").data(y.ticks(4)).enter().append("g")
      .attr("transform", value => "translate(0," + Math.round(y(value)) + ")");
  lines.append("line").attr({x1: LEFT, x2: width - RIGHT, y1: 0.5, y2: 0.5});
  lines.append("text").attr({x: LEFT - 8, dy: "0.35em", "text-anchor": "end"})
      .text(value => range ? percent(value, 0) : value);
  const ticks = x.ticks(Math.min(5, last)).filter(Number.isInteger);
  svg.append("g").attr("class", "axis").selectAll("text").data(ticks).enter().append("text")
      .attr({y: HEIGHT - 8, "text-anchor": "middle"}).attr("x", value => clamp(x(value), LEFT, width - 30))
      .text((value, i) => i === ticks.length - 1 ? "round " + value : value);
  svg.append("path").attr({class: "line curve",
                           d: d3.svg.line().x(d => x(d[0])).y(d => y(d[1]))(points)});
  if (points.length > 60) return;
  svg.selectAll("circle").data(points).enter().append("circle")
      .attr({class: "dot", r: 3}).attr("cx", d => x(d[0])).attr("cy", d => y(d[1]))
      .append("title").text(d => "Round " + d[0] + ": " + format(d[1]));
}
