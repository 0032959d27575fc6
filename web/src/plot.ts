// One plot: drag to zoom, double click or Escape to see all again; the legend shows the values under the pointer
// and switches lines on and off. By keyboard: arrows move the pointer, + and - zoom, 0 resets.
import uPlot from "uplot";
import { el } from "./dom";

export interface Line { label: string; x: number[]; y: (number | null)[] }
export interface PlotSpec {
  title: string;
  xLabel: string;
  yLabel: string;
  lines: Line[];
  style: "line" | "points";
  logX?: boolean;
  logY?: boolean;
  xText?: (x: number) => string;
  yText: (y: number) => string;
}

const colours = ["#0b6e99", "#d1495b", "#c98a00", "#3d7f4a", "#7d56a5", "#8a5a2b", "#5f6b76", "#1f9688"];
const colourOf = (i: number) => colours[i % colours.length];

let printing = false;
const redraws: (() => void)[] = [];

function ink(): { axis: string; grid: string } {
  const dark = !printing && matchMedia("(prefers-color-scheme: dark)").matches;
  return dark ? { axis: "#c9d1d9", grid: "#30363d" } : { axis: "#333333", grid: "#e1e4e8" };
}

function options(spec: PlotSpec, width: number): uPlot.Options {
  const { axis, grid } = ink();
  const common = { stroke: axis, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 } };
  const xText = spec.xText ?? ((x: number) => String(Number(x.toPrecision(6))));
  return {
    width,
    height: 320,
    cursor: { drag: { x: true, y: true, uni: 30 }, points: { size: 6 } },
    scales: {
      x: { time: false, distr: spec.logX ? 3 : 1 },
      y: { distr: spec.logY ? 3 : 1, range: spec.logY ? undefined : (_u, _min, max) => [0, max > 0 ? max * 1.05 : 1] },
    },
    axes: [
      { ...common, label: spec.xLabel, values: (_u, ticks) => ticks.map((t) => (t === null ? "" : xText(t))) },
      { ...common, label: spec.yLabel, size: 80, values: (_u, ticks) => ticks.map((t) => (t === null ? "" : spec.yText(t))) },
    ],
    series: [
      { label: spec.xLabel, value: (_u, x) => (x === null ? "-" : xText(x)) },
      ...spec.lines.map((line, i): uPlot.Series => ({
        label: line.label,
        stroke: colourOf(i),
        width: 2,
        spanGaps: true,
        value: (_u, y) => (y === null ? "-" : spec.yText(y)),
        ...(spec.style === "points"
          ? { paths: () => null, points: { show: true, size: 3, fill: colourOf(i), stroke: colourOf(i) } }
          : { points: { show: line.x.length < 60, size: 6 } }),
      })),
    ],
  };
}

function aligned(lines: Line[]): uPlot.AlignedData {
  if (lines.length === 1) return [lines[0].x, lines[0].y] as uPlot.AlignedData;
  return uPlot.join(lines.map((line) => [line.x, line.y] as uPlot.AlignedData));
}

function legendKeys(plot: uPlot): void {
  plot.root.querySelectorAll<HTMLElement>(".u-legend .u-series th").forEach((th, index) => {
    if (index === 0) return;
    th.tabIndex = 0;
    th.setAttribute("role", "switch");
    th.setAttribute("aria-checked", "true");
    const flip = () => th.setAttribute("aria-checked", String(plot.series[index].show));
    th.addEventListener("click", () => setTimeout(flip));
    th.addEventListener("keydown", (event) => {
      if (event.key !== "Enter" && event.key !== " ") return;
      event.preventDefault();
      plot.setSeries(index, { show: !plot.series[index].show });
      flip();
    });
  });
}

function showAll(plot: uPlot): void {
  plot.setData(plot.data, true);
}

function zoom(plot: uPlot, factor: number): void {
  const { min, max } = plot.scales.x;
  if (min == null || max == null) return;
  const log = plot.scales.x.distr === 3;
  const a = log ? Math.log(min) : min, b = log ? Math.log(max) : max;
  const at = plot.cursor.left != null && plot.cursor.left >= 0 ? plot.posToVal(plot.cursor.left, "x") : NaN;
  const centre = Number.isNaN(at) ? (a + b) / 2 : log ? Math.log(at) : at;
  const low = centre - (centre - a) * factor, high = centre + (b - centre) * factor;
  plot.setScale("x", { min: log ? Math.exp(low) : low, max: log ? Math.exp(high) : high });
}

function moveCursor(plot: uPlot, by: number): void {
  const xs = plot.data[0];
  const index = Math.min(xs.length - 1, Math.max(0, (plot.cursor.idx ?? (by > 0 ? -1 : xs.length)) + by));
  plot.setCursor({ left: plot.valToPos(xs[index], "x"), top: 10 });
}

export function plotElement(spec: PlotSpec): HTMLElement {
  const area = el("div", {
    class: "area", tabindex: "0", role: "group",
    "aria-label": `${spec.title}. Arrow keys move along it, plus and minus zoom, 0 shows all.`,
  });
  const box = el("figure", { class: "plot", "data-lines": String(spec.lines.length) }, el("h3", {}, spec.title), area);
  const data = aligned(spec.lines);
  let plot: uPlot | undefined;
  const draw = () => {
    const shown = plot?.series.map((s) => s.show ?? true);
    plot?.destroy();
    const width = Math.max(320, Math.min(area.clientWidth || 900, printing ? 680 : 1200));
    const told = (u: uPlot, scale: string) => {
      if (scale === "x") area.dataset.shown = `${u.scales.x.min} ${u.scales.x.max}`;
    };
    plot = new uPlot({ ...options(spec, width), hooks: { setScale: [told] } }, data, area);
    shown?.forEach((show, i) => { if (i > 0 && !show) plot!.setSeries(i, { show }); });
    legendKeys(plot);
  };
  area.addEventListener("keydown", (event) => {
    if (!plot || event.target !== area) return;
    const actions: Record<string, () => void> = {
      ArrowLeft: () => moveCursor(plot!, -1), ArrowRight: () => moveCursor(plot!, 1),
      "+": () => zoom(plot!, 0.5), "=": () => zoom(plot!, 0.5), "-": () => zoom(plot!, 2),
      "0": () => showAll(plot!), Escape: () => showAll(plot!),
    };
    const action = actions[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  redraws.push(draw);
  return box;
}

// Draws all plots, now that the page has its width, and again whenever that or the colours change.
export function drawPlots(): void {
  const all = () => redraws.forEach((draw) => draw());
  all();
  let width = innerWidth;
  let timer = 0;
  addEventListener("resize", () => {
    if (innerWidth === width || printing) return;
    width = innerWidth;
    clearTimeout(timer);
    timer = setTimeout(all, 150);
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", all);
  addEventListener("beforeprint", () => { printing = true; all(); });
  addEventListener("afterprint", () => { printing = false; all(); });
}
