// Which plots the runs give: several targets and several runs lie over each other in one plot an action.
import type { PageData, Run, Test } from "./data";
import { duration, rate, percent } from "./format";
import { type Line, type PlotSpec } from "./plot";

interface Place { run: Run; several: boolean }

// The words that tell lines apart, no more of them than needed.
function prefix(place: Place, target: string): string {
  const targets = place.run.record.targets.length > 1;
  return [place.several ? place.run.name : "", targets ? target : ""].filter(Boolean).join(" ");
}

const titled = (...words: string[]) => words.filter(Boolean).join(" ");

function actionsOf(data: PageData): string[] {
  const actions = new Set<string>();
  for (const run of data.runs) {
    for (const series of run.series) actions.add(series.action);
    for (const test of run.record.tests) actions.add(test.action);
  }
  return [...actions];
}

function byIteration(places: Place[], action: string): PlotSpec | undefined {
  const lines: Line[] = [];
  for (const place of places) {
    for (const series of place.run.series) {
      if (series.action !== action) continue;
      const repeat = series.repeat > 0 ? `repeat ${series.repeat}` : "";
      lines.push({
        label: titled(prefix(place, series.target), series.name === action ? "" : series.name, `c=${series.concurrency}`, repeat),
        x: series.iterations, y: series.seconds,
      });
    }
  }
  if (lines.length === 0) return undefined;
  return { title: `${action}: time by iteration`, xLabel: "iteration", yLabel: "time", lines, style: "points", yText: duration };
}

// Tests of one target by concurrency; repeats of a level are averaged, their extremes kept.
function levelsOf(tests: Test[]): Map<number, Test[]> {
  const levels = new Map<number, Test[]>();
  for (const test of tests) {
    if (test.latency_s.count === 0) continue;
    levels.set(test.concurrency, [...(levels.get(test.concurrency) ?? []), test]);
  }
  return new Map([...levels].sort((a, b) => a[0] - b[0]));
}

const mean = (values: number[]) => values.reduce((a, b) => a + b, 0) / values.length;

function byConcurrency(places: Place[], action: string): PlotSpec[] {
  const times: Line[] = [];
  const rates: Line[] = [];
  let estimated = false;
  for (const place of places) {
    for (const target of new Set(place.run.record.tests.map((t) => t.target))) {
      const names = new Set(place.run.record.tests.filter((t) => t.action === action && t.target === target).map((t) => t.name));
      for (const name of names) {
        const tests = place.run.record.tests.filter((t) => t.name === name && t.action === action && t.target === target);
        const levels = levelsOf(tests);
        if (levels.size < 2) continue;
        const x = [...levels.keys()];
        const of = (pick: (t: Test) => number, fold: (v: number[]) => number) => [...levels.values()].map((ts) => fold(ts.map(pick)));
        const head = titled(prefix(place, target), name === action ? "" : name);
        times.push({ label: titled(head, "minimum"), x, y: of((t) => t.latency_s.min, (v) => Math.min(...v)) });
        times.push({ label: titled(head, "mean"), x, y: of((t) => t.latency_s.mean, mean) });
        times.push({ label: titled(head, "p90"), x, y: of((t) => t.latency_s.p90, mean) });
        times.push({ label: titled(head, "maximum"), x, y: of((t) => t.latency_s.max, (v) => Math.max(...v)) });
        rates.push({ label: head || "rate", x, y: of((t) => t.rate_per_s, mean) });
        estimated ||= tests.some((t) => t.details.rate === "estimated");
      }
    }
  }
  if (times.length === 0) return [];
  const note = estimated ? " (estimated from concurrency and mean time)" : "";
  return [
    { title: `${action}: time by concurrency`, xLabel: "concurrency", yLabel: "time", lines: times, style: "line", yText: duration },
    { title: `${action}: throughput by concurrency${note}`, xLabel: "concurrency", yLabel: "operations a second", lines: rates, style: "line", yText: rate },
  ];
}

const label = (place: Place, test: Test) =>
  titled(prefix(place, test.target), test.name === test.action ? "" : test.name, `c=${test.concurrency}`,
    test.repeat > 0 ? `repeat ${test.repeat}` : "");

function byPercentile(places: Place[], action: string): PlotSpec | undefined {
  const lines: Line[] = [];
  for (const place of places) {
    for (const curve of place.run.curves) {
      const test = place.run.record.tests[curve.test];
      if (test.action === action) lines.push({ label: label(place, test), x: curve.x, y: curve.y });
    }
  }
  if (lines.length === 0) return undefined;
  return {
    title: `${action}: latency by percentile`, xLabel: "percentile", yLabel: "time", lines, style: "line", logX: true, logY: true,
    xText: (x) => percent(1 - 1 / x), yText: duration,
  };
}

function bySecond(places: Place[], action: string): PlotSpec[] {
  const rates: Line[] = [];
  const times: Line[] = [];
  for (const place of places) {
    for (const test of place.run.record.tests) {
      if (test.action !== action || test.series.length < 3) continue;
      const x = test.series.map((p) => p.t_s);
      const head = label(place, test);
      rates.push({ label: `${head} good`, x, y: test.series.map((p) => p.ok) });
      if (test.operations.failed > 0) rates.push({ label: `${head} failed`, x, y: test.series.map((p) => p.failed) });
      times.push({ label: `${head} p50`, x, y: test.series.map((p) => (p.ok > 0 ? p.p50_s : null)) });
      times.push({ label: `${head} p99`, x, y: test.series.map((p) => (p.ok > 0 ? p.p99_s : null)) });
    }
  }
  if (rates.length === 0) return [];
  const xText = (x: number) => `${Number(x.toPrecision(4))} s`;
  return [
    { title: `${action}: operations in each second`, xLabel: "time of the run", yLabel: "operations", lines: rates, style: "line", xText, yText: (y) => String(Math.round(y)) },
    { title: `${action}: latency in each second`, xLabel: "time of the run", yLabel: "time", lines: times, style: "line", xText, yText: duration },
  ];
}

export function plotSpecs(data: PageData): PlotSpec[] {
  const places = data.runs.map((run) => ({ run, several: data.runs.length > 1 }));
  return actionsOf(data).flatMap((action) =>
    [...byConcurrency(places, action), byIteration(places, action), byPercentile(places, action), ...bySecond(places, action)]
      .filter((spec): spec is PlotSpec => spec !== undefined));
}
