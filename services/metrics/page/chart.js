// A figure: title, a sentence that says what the plot shows, the plot, the value under the cursor,
// a legend, and the same as a table. Arrow keys move the cursor.

import uPlot from "./uPlot.js";
import { element, table } from "./dom.js";

const HEIGHT = 210;
const DASHES = [[], [8, 4], [2, 3], [10, 3, 2, 3], [5, 5], [1, 4]];

const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
const colour = (i) => css(`--c${(i % 6) + 1}`);

// One x for all series: their rounds together; null where a series has none.
function align(series) {
  const rounds = [...new Set(series.flatMap((s) => s.points.map(([x]) => x)))].sort((a, b) => a - b);
  const lines = series.map((s) => {
    const known = new Map(s.points);
    return rounds.map((x) => known.get(x) ?? null);
  });
  return [rounds, ...lines];
}

// Each on top of those before it.
function pile([rounds, ...lines]) {
  const sums = rounds.map(() => 0);
  return [rounds, ...lines.map((line) => line.map((y, i) => (sums[i] += y ?? 0)))];
}

function sentence(series, format, each) {
  const told = series.filter((s) => s.points.length).map((s) => {
    const [first, last] = [s.points[0], s.points[s.points.length - 1]];
    const name = series.length > 1 ? `${s.name}: ` : "";
    return first === last ? `${name}${format(last[1])} in round ${last[0]}`
      : `${name}${format(first[1])} in round ${first[0]}, ${format(last[1])} in round ${last[0]}`;
  });
  const mean = each > 1 ? ` Each point is the mean of ${each} rounds.` : "";
  return told.length ? `${told.join("; ")}.${mean}` : "Nothing yet.";
}

// Of a pile: the share of each in all of it.
function shares(series, each) {
  const sums = series.map((s) => s.points.reduce((sum, [, y]) => sum + y, 0));
  const all = sums.reduce((a, b) => a + b, 0);
  if (!all) return "Nothing yet.";
  const mean = each > 1 ? ` Each point is the mean of ${each} rounds.` : "";
  return `${series.map((s, i) => `${s.name} ${Math.round((100 * sums[i]) / all)} %`).join(", ")} of the time.${mean}`;
}

export class Chart {
  // options: {id, title, format, piled}
  constructor(where, options) {
    this.options = options;
    this.series = [];
    this.text = element("p");
    this.plot = element("div", {
      class: "plot", id: `${options.id}-plot`, tabindex: 0, role: "group",
      "aria-label": `${options.title}: plot. Left and right arrow keys read single rounds.` });
    this.readout = element("p", { class: "readout", "aria-live": "polite" });
    this.legend = element("ul", { class: "legend" });
    this.details = element("details", {}, element("summary", {}, `${options.title} as a table`));
    this.box = element("div", { class: "scroll tall", tabindex: 0, role: "region",
                                "aria-label": `${options.title}: table` });
    this.details.append(this.box);
    where.append(element("figure", { id: options.id },
      element("figcaption", {}, element("h3", {}, options.title), this.text),
      this.plot, this.readout, this.legend, this.details));
    this.details.addEventListener("toggle", () => this.fillTable());
    this.plot.addEventListener("keydown", (event) => this.onKey(event));
    new ResizeObserver(() => this.resize()).observe(this.plot);
  }

  // series: [{name, points: [[round, value], ...]}], rounds ascending
  show(series, each = 1) {
    const names = series.map((s) => s.name).join("\n");
    const same = this.names === names && this.drawn;
    this.series = series;
    this.each = each;
    this.names = names;
    this.data = align(series);
    this.text.textContent = this.options.piled ? shares(series, each) : sentence(series, this.options.format, each);
    if (same) this.drawn.setData(this.ordered());
    else this.draw();
    this.fillTable();
  }

  // As they are drawn: of a pile the highest first, so that the lower ones cover it.
  ordered() {
    if (!this.options.piled) return this.data;
    const [rounds, ...lines] = pile(this.data);
    return [rounds, ...lines.reverse()];
  }

  draw() {
    this.drawn?.destroy();
    this.drawn = null;
    const { piled, format } = this.options;
    const line = css("--line"), text = css("--faint");
    const axis = { stroke: text, grid: { stroke: line, width: 1 }, ticks: { stroke: line } };
    const lines = this.series.map((s, i) => ({
      label: s.name, stroke: colour(i), width: 2, dash: piled ? [] : DASHES[i % DASHES.length],
      fill: piled ? colour(i) : undefined, spanGaps: true,
      points: { show: (u) => u.data[0].length < 40, size: 5, fill: colour(i) } }));
    if (piled) lines.reverse();
    this.drawn = new uPlot({
      width: Math.max(200, this.plot.clientWidth), height: HEIGHT,
      scales: { x: { time: false }, y: piled ? { range: (u, low, high) => [0, (high || 1) * 1.05] } : {} },
      axes: [{ ...axis, size: 30, values: (u, all) => all.map((x) => (Number.isInteger(x) ? x : "")) },
             { ...axis, size: 68, values: (u, all) => all.map((y) => format(y)) }],
      series: [{}, ...lines], legend: { show: false },
      cursor: { drag: { x: true, y: false } },
      hooks: { setCursor: [(u) => this.read(u.cursor.idx)] },
    }, this.ordered(), this.plot);
    this.drawn.root.setAttribute("aria-hidden", "true");
    this.fillLegend();
  }

  fillLegend() {
    const swatch = (i) => {
      const space = "http://www.w3.org/2000/svg";
      const svg = document.createElementNS(space, "svg");
      const mark = document.createElementNS(space, "path");
      for (const [k, v] of [["width", 26], ["height", 8], ["aria-hidden", "true"]]) svg.setAttribute(k, v);
      mark.setAttribute("d", "M0 4H26");
      mark.setAttribute("stroke", "currentColor");
      mark.setAttribute("stroke-width", this.options.piled ? 8 : 3);
      if (!this.options.piled) mark.setAttribute("stroke-dasharray", DASHES[i % DASHES.length].join(" "));
      svg.append(mark);
      return svg;
    };
    if (this.series.length < 2) return this.legend.replaceChildren();
    this.legend.replaceChildren(...this.series.map((s, i) =>
      element("li", { class: `s${(i % 6) + 1}` }, swatch(i), element("span", {}, s.name))));
  }

  read(index) {
    if (index === null || index === undefined || !this.data[0].length) {
      this.readout.textContent = "";
      return;
    }
    const values = this.series
      .map((s, i) => [s.name, this.data[i + 1][index]])
      .filter(([, y]) => y !== null && y !== undefined)
      .map(([name, y]) => (this.series.length > 1 ? `${name} ${this.options.format(y)}` : this.options.format(y)));
    this.readout.textContent = `Round ${this.data[0][index]}: ${values.join(", ")}`;
  }

  onKey(event) {
    const n = this.data?.[0].length ?? 0;
    const steps = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -n, End: n };
    if (!n || !(event.key in steps)) return;
    event.preventDefault();
    const at = (this.at ?? (event.key === "ArrowLeft" ? n : -1)) + steps[event.key];
    this.at = Math.min(n - 1, Math.max(0, at));
    const left = this.drawn.valToPos(this.data[0][this.at], "x");
    this.drawn.setCursor({ left, top: HEIGHT / 3 });
    this.read(this.at);
  }

  resize() {
    const width = this.plot.clientWidth;
    if (this.drawn && width && width !== this.drawn.width) this.drawn.setSize({ width, height: HEIGHT });
  }

  // Only while it is open: nobody looks at it else.
  fillTable() {
    if (!this.details.open || !this.data) return;
    const { format, title } = this.options;
    const [rounds, ...lines] = this.data;
    const columns = [{ title: "Round", kind: "n", of: (i) => rounds[i] },
      ...this.series.map((s, k) => ({ title: s.name, kind: "n", of: (i) => lines[k][i], format: (y) => (y === "" ? "–" : format(y)) }))];
    const top = this.box.scrollTop;
    this.box.replaceChildren(table(title, columns, rounds.map((_, i) => i), false));
    this.box.scrollTop = top;
  }
}
