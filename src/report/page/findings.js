// The findings: what was found, how sure that is, what it costs, and how to see it for oneself.
import {bodyOf, d3, focusedId, notice, refocus} from "./dom.js";
import {NOT_RECORDED, duration, isNumber, percent} from "./format.js";

export function drawFindings(model) {
  const body = bodyOf("findings");
  if (!model.findings) {
    notice(body, "Findings are " + NOT_RECORDED + ".");
    return;
  }
  if (!model.findings.length) {
    notice(body, "Nothing found: no worker, host or link stood out.");
    return;
  }
  const focused = focusedId(body);
  const open = new Set();
  body.selectAll("details[open]").each(function () { open.add(this.dataset.id); });
  const list = body.html("").append("ol").attr("class", "findings");
  for (const finding of model.findings) drawFinding(list, finding, open.has(keyOf(finding)));
  refocus(focused);
}

/// Findings of one id are about different workers.
function keyOf(finding) {
  return [finding.id, ...(finding.workers ?? [])].join("-");
}

function drawFinding(list, finding, open) {
  const item = list.append("li");
  const top = item.append("div").attr("class", "finding");
  const observed = finding.grade === "observed";
  top.append("span").attr("class", "grade " + (observed ? "observed" : "hypothesis"))
      .text(observed ? "Observed" : "Hypothesis");
  top.append("p").attr("class", "text").text(finding.text ?? "");
  if (isNumber(finding.saves_ns_per_round)) {
    const saves = top.append("p").attr("class", "saves");
    saves.append("span").text("saves ");
    saves.append("strong").text(duration(finding.saves_ns_per_round));
    saves.append("span").text(" per round" + (isNumber(finding.round_share) ?
        " (" + percent(finding.round_share) + ")" : ""));
  }
  if (finding.try) {
    const advice = item.append("p").attr("class", "try");
    advice.append("strong").text("Try: ");
    addText(advice, finding.try);
  }
  if (finding.evidence?.length || finding.records) drawEvidence(item, finding, open);
}

function drawEvidence(item, finding, open) {
  const details = item.append("details").attr("data-id", keyOf(finding)).property("open", open);
  details.append("summary").attr("id", "finding-" + keyOf(finding)).text("Evidence");
  details.append("ul").selectAll("li").data(finding.evidence ?? []).enter().append("li")
      .each(function (text) { addText(d3.select(this), text); });
  if (!finding.records) return;
  const head = details.append("div").attr("class", "code-head");
  head.append("span").text("The records, in run.db");
  const pre = details.append("pre").attr("tabindex", 0);
  pre.append("code").text(finding.records);
  const copy = head.append("button").attr("type", "button").text("Copy SQL");
  copy.on("click", () => copyText(finding.records, pre.node(), copy));
}

/// Text in which `words` between backticks are commands or names.
function addText(parent, text) {
  String(text).split("`").forEach((part, i) => {
    if (part) parent.append(i % 2 ? "code" : "span").text(part);
  });
}

/// Without leave to use the clipboard the text is selected instead.
async function copyText(text, element, button) {
  try {
    await navigator.clipboard.writeText(text);
    button.text("Copied");
  } catch {
    const range = document.createRange();
    range.selectNodeContents(element);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    button.text("Selected: press Ctrl+C");
  }
  setTimeout(() => button.text("Copy SQL"), 2500);
}
