#include "runtime/bench/page.h"

namespace rules_dnn::bench {

const char* const kPageBeforeTitle = R"page(<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'">
)page"
                                     "<title>";

const char* const kPageBeforeHeading = R"page(</title>
<style>
:root { color-scheme: light dark; --ink: #1c2530; --soft: #66717f; --line: #d5dbe2; --paper: #fff; --one: #1f6fb2; --two: #c05a1c; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e8ed; --soft: #98a3b0; --line: #3a444f; --paper: #171c22; --one: #62aee8; --two: #f0944d; }
}
body { font: 14px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper); margin: 24px auto; max-width: 1320px; padding: 0 16px; }
h1 { font-size: 22px; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 16px; margin: 28px 0 8px; }
p { margin: 4px 0; color: var(--soft); overflow-wrap: anywhere; }
dl { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 2px 16px; margin: 12px 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font-size: 12px; }
.grid { stroke: var(--line); }
.roof { stroke: var(--ink); stroke-width: 2; fill: none; }
.fma { fill: var(--one); }
.memory { fill: var(--two); }
.dot { fill-opacity: .75; stroke: var(--paper); }
.dot:hover, .bar:hover { fill-opacity: 1; stroke: var(--ink); }
.asked { stroke: var(--two); stroke-width: 2; }
.hit { fill: transparent; }
.hit:hover { stroke: var(--ink); }
.line { display: inline-block; width: 14px; height: 0; border-top: 2px solid var(--two); margin: 0 4px 4px 12px; }
input { font: inherit; width: 90px; }
.bars { max-height: 520px; overflow: auto; border: 1px solid var(--line); }
.table { overflow: auto; max-height: 640px; border: 1px solid var(--line); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { position: sticky; top: 0; background: var(--paper); cursor: pointer; white-space: nowrap; }
th, td { padding: 3px 7px; text-align: right; border-bottom: 1px solid var(--line); }
th.text, td.text, th.name, td.name { text-align: left; }
td { white-space: nowrap; }
td.name { overflow-wrap: anywhere; white-space: normal; min-width: 260px; }
.roofline text { paint-order: stroke; stroke: var(--paper); stroke-width: 4px; }
.key { display: inline-block; width: 10px; height: 10px; border-radius: 5px; margin: 0 4px 0 12px; }
#error { color: #b00020; font-weight: bold; }
@media (max-width: 600px) {
  body { margin: 12px auto; padding: 0 10px; }
  dl { display: block; }
  dd { margin: 0 0 6px; }
  td.name { min-width: 160px; }
}
</style>
)page"
                                       "<h1 id=\"title\">";

const char* const kPageBefore = R"page(</h1>
<p id="about"></p>
<p id="error"></p>
<dl id="facts"></dl>
<h2>Roofline</h2>
<p>Each dot is a block; its area grows with the block's share of the time. The block is limited by the machine's
  <span class="key" style="background: var(--two)"></span>memory
  <span class="key" style="background: var(--one)"></span>arithmetic. A block above the roof reads from caches, computes fewer operations than the network has, or multiplies integers, whose peak is a multiple of the floats'.</p>
<p id="absent"></p>
<div id="roofline" class="roofline"></div>
<h2>Share of the peak</h2>
<p>Share of the rate of products and sums in registers, for the block's kind of products at the clock of the same run. Blocks are in the program's order:
  <span class="key" style="background: var(--one)"></span>computed by micro-kernels
  <span class="line"></span>operations of the network, which are more if Winograd computes fewer.</p>
<p><label>Show here and in the table below only blocks of at least <input id="least" type="number" min="0" step="any"> MFLOP.</label> <span id="together"></span></p>
<div id="share"></div>
<h2>Time of each block</h2>
<div id="bars" class="bars"></div>
<h2>Blocks</h2>
<p>Click a column's head to sort by it. FLOP counts the network's operations, MB its operands and results, each once. FMA is the rate of
  multiply-adds in micro-kernels, as a share of the machine's peak. More than 100 % of the memory bandwidth is possible with caches.</p>
<div class="table"><table id="blocks"></table></div>
<script type="application/json" id="figures">
)page";

const char* const kPageAfter = R"page(</script>
<script>
"use strict";
window.onerror = (message) => { document.getElementById("error").textContent = message; };

const report = JSON.parse(document.getElementById("figures").textContent);
const blocks = report.blocks.map((b, i) => ({...b, number: i, time: b.ms.median}));
const byId = (id) => document.getElementById(id);
const shown = (x, digits) => x === null ? "–" : x.toLocaleString("en", {maximumFractionDigits: digits, minimumFractionDigits: digits});
const brief = (x) => x === null ? "–" : Number(x.toPrecision(4)).toLocaleString("en", {maximumFractionDigits: 6});
const percent = (x) => x === null ? "–" : shown(x * 100, 1) + " %";
const scaled = (x, by) => x === null ? null : x / by;

// element creates an HTML or SVG element; names of the network become text, never markup.
function element(parent, name, attributes, text) {
  const svg = parent.namespaceURI === "http://www.w3.org/2000/svg" || name === "svg";
  const e = document.createElementNS(svg ? "http://www.w3.org/2000/svg" : "http://www.w3.org/1999/xhtml", name);
  for (const [key, value] of Object.entries(attributes || {})) e.setAttribute(key, value);
  if (text !== undefined) e.textContent = text;
  parent.appendChild(e);
  return e;
}

// room returns the width of a picture in a box; a unit is a pixel, so text has its normal size.
function room(id) {
  return Math.max(byId(id).clientWidth, 300);
}

function tip(b) {
  return b.number + ": " + b.name + " (" + b.kernel + ")\n" + brief(b.time) + " ms, " + percent(b.share) + " of the time\n" +
    brief(b.gflops) + " GFLOP/s, " + percent(b.of_peak) + " of the peak" + (b.of_fma_peak === null ? "" : ", micro-kernels " + percent(b.of_fma_peak)) + (b.product === "f32" ? "" : ", products by " + b.product) + "\n" +
    brief(b.gbs) + " GB/s, " + percent(b.of_bandwidth) + " of the memory bandwidth\n" + brief(b.intensity) + " FLOP/byte, " + percent(b.of_limit) + " of the roof";
}

function summary() {
  const m = report.machine, t = report.ms, w = report.whole;
  const symbols = Object.entries(report.symbols).map(([k, v]) => ", " + k + "=" + v).join("");
  byId("about").textContent = "made by " + report.generator + " for " + report.chip + (report.variants.length > 1 ? " (of the variants " + report.variants.join(", ") + ")" : "") + "; " + report.threads + (report.threads > 1 ? " threads" : " thread") + symbols;
  const facts = [
    ["time of a run", "median " + brief(t.median) + " ms; minimum " + brief(t.least) + "; percentiles 25: " + brief(t.p25) + ", 75: " + brief(t.p75) + ", 95: " + brief(t.p95) + ", 99: " + brief(t.p99) + "; maximum " + brief(t.most) + "; " + t.runs + " runs after " + report.warmup + " to warm up"],
    ["network", brief(w.flops / 1e9) + " GFLOP, " + brief(w.gflops) + " GFLOP/s, " + percent(w.of_peak) + " of the peak" + (w.of_fma_peak === null ? "" : "; by micro-kernels " + percent(w.of_fma_peak))],
    ...(report.device ? [["device", report.device.name + ": " + brief(report.device.gflops) + " GFLOP/s; memory " + brief(report.device.read_gbs) + " GB/s read, " + brief(report.device.copy_gbs) + " GB/s copied; its kernels " + brief(report.device.kernels_ms) + " ms"]] : []),
    ["machine", brief(m.gflops) + " GFLOP/s in vectors of " + m.vector_bytes + " bytes, " + brief(m.gflops_least) + " to " + brief(m.gflops_most) + " between runs" + Object.entries(m.products).map(([name, ratio]) => "; products by " + name + " at " + brief(ratio) + " times this rate").join("") + "; memory " + brief(m.read_gbs) + " GB/s read, " + brief(m.copy_gbs) + " GB/s copied (" + brief(m.buffer_bytes / 1e6) + " MB)"],
    ["memory", "arena " + brief(report.arena_bytes / 1e6) + " MB, weights " + brief(report.weights_bytes / 1e6) + " MB, process " + brief(report.peak_bytes / 1e6) + " MB"],
    ["blocks", blocks.length + ", " + brief(report.blocks_ms) + " ms in all; a run with a clock around each block takes " + brief(report.observed_ms.median) + " ms"],
  ];
  for (const [name, text] of facts) {
    element(byId("facts"), "dt", {}, name);
    element(byId("facts"), "dd", {}, text);
  }
}

// powers returns the powers of ten from a to b.
function powers(a, b) {
  const out = [];
  for (let k = Math.floor(Math.log10(a)); k <= Math.ceil(Math.log10(b)); k++) out.push(10 ** k);
  return out;
}

function roofline() {
  const m = report.device || report.machine, dots = blocks.filter((b) => b.gflops > 0 && b.intensity > 0);
  byId("roofline").textContent = "";
  const width = room("roofline"), height = Math.max(300, Math.min(480, width * 0.8)), left = 64, right = 16, top = 22, bottom = 44;
  const knee = m.gbs > 0 ? m.gflops / m.gbs : 1;
  const xs = powers(Math.min(knee / 4, ...dots.map((b) => b.intensity)), Math.max(knee * 4, ...dots.map((b) => b.intensity)));
  const ys = powers(Math.min(m.gflops / 10, ...dots.map((b) => b.gflops)), Math.max(m.gflops, ...dots.map((b) => b.gflops)));
  const scale = (list, from, to) => (v) => from + (Math.log10(v) - Math.log10(list[0])) / (Math.log10(list[list.length - 1]) - Math.log10(list[0])) * (to - from);
  const x = scale(xs, left, width - right), y = scale(ys, height - bottom, top);
  const svg = element(byId("roofline"), "svg", {viewBox: "0 0 " + width + " " + height, role: "img", "aria-label": "roofline"});
  for (const v of xs) {
    element(svg, "line", {class: "grid", x1: x(v), x2: x(v), y1: top, y2: height - bottom});
    element(svg, "text", {x: x(v), y: height - bottom + 18, "text-anchor": "middle"}, brief(v));
  }
  for (const v of ys) {
    element(svg, "line", {class: "grid", x1: left, x2: width - right, y1: y(v), y2: y(v)});
    element(svg, "text", {x: left - 8, y: y(v) + 4, "text-anchor": "end"}, brief(v));
  }
  element(svg, "text", {x: (left + width - right) / 2, y: height - 8, "text-anchor": "middle"}, "FLOP / byte");
  element(svg, "text", {x: 14, y: (top + height - bottom) / 2, "text-anchor": "middle", transform: "rotate(-90 14 " + (top + height - bottom) / 2 + ")"}, "GFLOP/s");
  const last = xs[xs.length - 1];
  const start = Math.max(xs[0], ys[0] / m.gbs);
  element(svg, "polyline", {class: "roof", points: [[start, start * m.gbs], [knee, m.gflops], [last, m.gflops]].map(([a, b]) => x(a) + "," + y(b)).join(" ")});
  for (const b of [...dots].sort((p, q) => q.time - p.time)) {
    const dot = element(svg, "circle", {class: "dot " + b.bound, cx: x(b.intensity), cy: y(b.gflops), r: 4 + 22 * Math.sqrt(b.share)});
    element(dot, "title", {}, tip(b));
  }
  element(svg, "text", {x: width - right - 4, y: y(m.gflops) - 6, "text-anchor": "end"}, brief(m.gflops) + " GFLOP/s");
  const low = start * (knee / start) ** 0.15;
  element(svg, "text", {x: x(low) + 12, y: y(low * m.gbs) + 10}, brief(m.gbs) + " GB/s");
  if (dots.length < blocks.length) {
    byId("absent").textContent = "Without a dot: " + (blocks.length - dots.length) + " of " + blocks.length + " blocks; they only move data, or their operations are not known.";
  }
}

// listed returns the blocks that are large enough.
function listed() {
  return blocks.filter((b) => (b.flops ?? 0) >= Number(byId("least").value) * 1e6);
}

// share draws a bar for each block with micro-kernels, and a line for the network's operations.
function share() {
  const of = listed().filter((b) => b.of_fma_peak !== null);
  byId("share").textContent = "";
  byId("together").textContent = together(of);
  if (of.length === 0) return;
  const width = room("share"), height = 320, left = 64, right = 16, top = 14, bottom = 40;
  const most = Math.max(1, ...of.map((b) => Math.max(b.of_fma_peak, b.of_peak ?? 0))) * 1.04;
  const y = (v) => height - bottom - v / most * (height - top - bottom), step = Math.min((width - left - right) / of.length, 60);
  const svg = element(byId("share"), "svg", {viewBox: "0 0 " + width + " " + height, role: "img", "aria-label": "share of the peak of each block"});
  for (let v = 0; v <= most; v += most > 2 ? 0.5 : 0.25) {
    element(svg, "line", {class: v === 1 ? "roof" : "grid", x1: left, x2: width - right, y1: y(v), y2: y(v)});
    element(svg, "text", {x: left - 8, y: y(v) + 4, "text-anchor": "end"}, brief(v * 100) + " %");
  }
  element(svg, "text", {x: (left + width - right) / 2, y: height - 4, "text-anchor": "middle"}, "block");
  const every = Math.ceil(30 / step); // numbers must not overlap
  of.forEach((b, i) => {
    const x = left + i * step;
    element(svg, "rect", {class: "part fma", x: x + step * 0.15, y: y(b.of_fma_peak), width: step * 0.7, height: y(0) - y(b.of_fma_peak)});
    if (b.of_peak !== null) element(svg, "line", {class: "asked", x1: x + step * 0.05, x2: x + step * 0.95, y1: y(b.of_peak), y2: y(b.of_peak)});
    if (i % every === 0) element(svg, "text", {x: x + step / 2, y: height - bottom + 16, "text-anchor": "middle"}, b.number);
    element(element(svg, "rect", {class: "hit", x: x, y: top, width: step, height: y(0) - top}), "title", {}, tip(b));
  });
}

// together describes the share of the peak of all these blocks, and the minimum of them.
function together(of) {
  if (of.length === 0) return "No block has micro-kernels.";
  const sum = (f) => of.reduce((s, b) => s + f(b), 0), least = of.reduce((a, b) => b.of_fma_peak < a.of_fma_peak ? b : a);
  return of.length + " with micro-kernels: " + percent(sum((b) => 2 * b.products) / sum((b) => b.peak_flops)) + " together; minimum " + percent(least.of_fma_peak) + ", block " + least.number + ".";
}

// shortened keeps the beginning and the end of a name: the end distinguishes nodes of one kind.
function shortened(name, letters) {
  const all = [...name], head = Math.min(6, letters >> 1);
  return all.length <= letters ? name : all.slice(0, head).join("") + "…" + all.slice(head + 1 - letters).join("");
}

// bars draws a bar for each block. Its name is to the left, or above it on a narrow screen.
function bars() {
  byId("bars").textContent = "";
  const width = room("bars"), narrow = width < 600, row = narrow ? 36 : 18, left = narrow ? 4 : Math.min(420, width * 0.4);
  const letters = Math.floor((narrow ? width - 8 : left) / 6.8) - 5, longest = Math.max(...blocks.map((b) => b.time), 1e-9);
  const svg = element(byId("bars"), "svg", {viewBox: "0 0 " + width + " " + (row * blocks.length + 8), role: "img", "aria-label": "time of each block"});
  blocks.forEach((b, i) => {
    const above = 4 + i * row, y = above + row - 18, long = (width - left - 120) * b.time / longest;
    const label = element(svg, "text", {class: "label", x: narrow ? left : left - 8, y: above + 13, "text-anchor": narrow ? "start" : "end"}, b.number + ": " + shortened(b.name, letters));
    element(label, "title", {}, tip(b));
    const bar = element(svg, "rect", {class: "bar " + (b.bound || "memory"), x: left, y: y + 2, width: Math.max(long, 0.5), height: 14});
    element(bar, "title", {}, tip(b));
    element(svg, "text", {x: left + long + 6, y: y + 13}, brief(b.time) + " ms, " + percent(b.share));
  });
}

const columns = [
  ["#", "number", (b) => b.number],
  ["block", "name", (b) => b.name, "name"],
  ["kernel", "kernel", (b) => b.kernel, "text"],
  ["calls", "calls", (b) => b.calls],
  ["ms", "time", (b) => shown(b.time, 4)],
  ["time", "share", (b) => percent(b.share)],
  ["MFLOP", "flops", (b) => shown(scaled(b.flops, 1e6), 2)],
  ["GFLOP/s", "gflops", (b) => shown(b.gflops, 2)],
  ["peak", "of_peak", (b) => percent(b.of_peak)],
  ["FMA", "of_fma_peak", (b) => percent(b.of_fma_peak)],
  ["MB", "bytes", (b) => shown(scaled(b.bytes, 1e6), 3)],
  ["GB/s", "gbs", (b) => shown(b.gbs, 2)],
  ["memory", "of_bandwidth", (b) => percent(b.of_bandwidth)],
  ["FLOP/B", "intensity", (b) => shown(b.intensity, 2)],
  ["limit", "bound", (b) => b.bound || "–"],
  ["roof", "of_limit", (b) => percent(b.of_limit)],
];
let sorted = {key: "number", down: false};

function table() {
  const t = byId("blocks");
  t.textContent = "";
  const head = element(element(t, "thead"), "tr");
  for (const [title, key, , kind] of columns) {
    const mark = sorted.key === key ? (sorted.down ? " ▾" : " ▴") : "";
    const th = element(head, "th", {class: kind || "", "data-key": key}, title + mark);
    th.onclick = () => { sorted = {key, down: sorted.key === key ? !sorted.down : key !== "number" && kind === undefined}; table(); };
  }
  const order = (a, b) => typeof a === "string" || typeof b === "string" ? String(a).localeCompare(String(b)) : (a ?? -1) - (b ?? -1);
  const rows = listed().sort((a, b) => (sorted.down ? -1 : 1) * order(a[sorted.key], b[sorted.key]) || a.number - b.number);
  const body = element(t, "tbody");
  for (const b of rows) {
    const tr = element(body, "tr");
    for (const [, , text, kind] of columns) element(tr, "td", {class: kind || ""}, text(b));
  }
}

byId("least").value = report.least_mflop;
byId("least").oninput = () => { share(); table(); };
summary();
function draw() {
  roofline();
  share();
  bars();
}
draw();
let drawn = innerWidth;
window.onresize = () => { if (innerWidth !== drawn) { drawn = innerWidth; draw(); } };
table();
document.documentElement.dataset.done = "yes";
</script>
</html>
)page";

}  // namespace rules_dnn::bench
