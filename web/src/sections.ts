// The parts of the page that are words and tables.
import type { Counted, Environment, PageData, Run } from "./data";
import { el, section } from "./dom";
import { duration, memory, percent, plain, rate, size, tenDigits } from "./format";
import { networkDrawing } from "./network";
import { type Cell, type Column, dataTable } from "./table";

const several = (data: PageData) => data.runs.length > 1;

function withRun(data: PageData, run: Run, cells: Cell[]): Cell[] {
  return several(data) ? [{ text: run.name }, ...cells] : cells;
}

function withRunColumn(data: PageData, columns: Column[]): Column[] {
  return several(data) ? [{ title: "Run" }, ...columns] : columns;
}

export function summary(data: PageData): HTMLElement {
  const columns = withRunColumn(data, [
    { title: "Test" }, { title: "Target" },
    ...["Concurrency", "Repeat", "Completed", "Good", "Rate", "Sent", "Received", "Min", "Mean", "p50", "p90", "p99", "p99.9", "Max"]
      .map((title) => ({ title, number: true, optional: ["Repeat", "Sent", "Received"].includes(title) })),
  ]);
  const rows: Cell[][] = [];
  const doubts: HTMLElement[] = [];
  for (const run of data.runs) {
    for (const test of run.record.tests) {
      const completed = test.operations.ok + test.operations.failed;
      const good = completed > 0 ? test.operations.ok / completed : 0;
      const seconds = test.phases_s.measure;
      const time = (name: "min" | "mean" | "p50" | "p90" | "p99" | "p99.9" | "max"): Cell => {
        const value = test.latency_s[name];
        if (test.latency_s.count === 0) return { text: "-", name };
        const doubtful = test.latency_s.unsupported.includes(name);
        return { text: duration(value) + (doubtful ? " ?" : ""), value, name };
      };
      const flow = (bytes: number, name: string): Cell =>
        seconds > 0 ? { text: `${size(bytes / seconds)}/s`, value: bytes / seconds, name } : { text: "-", name };
      rows.push(withRun(data, run, [
        { text: test.name }, { text: test.target },
        { text: String(test.concurrency), value: test.concurrency }, { text: String(test.repeat), value: test.repeat },
        { text: String(completed), value: completed, name: "completed" },
        { text: percent(good), value: good, name: "good", kind: good < 1 && completed > 0 ? "bad" : undefined },
        { text: rate(test.rate_per_s), value: test.rate_per_s, name: "rate" },
        flow(test.bytes.sent, "throughput sent"), flow(test.bytes.received, "throughput received"),
        time("min"), time("mean"), time("p50"), time("p90"), time("p99"), time("p99.9"), time("max"),
      ]));
      for (const check of test.checks.failed) doubts.push(el("li", { class: "warning" }, `${test.name}: ${check}`));
    }
    if (run.record.interrupted) doubts.push(el("li", { class: "warning" }, `${run.name}: interrupted; these are the figures up to then`));
    for (const problem of run.problems) doubts.push(el("li", { class: "warning" }, problem));
  }
  const parts: HTMLElement[] = [dataTable("Summary", columns, rows),
    el("p", { class: "quiet" }, "? marks a percentile that the samples are too few for.")];
  if (doubts.length > 0) parts.push(el("ul", {}, ...doubts));
  return section("summary", "Summary", ...parts, ...thresholds(data));
}

// The tables of a campaign as its document drew them.
export function campaign(data: PageData): HTMLElement | undefined {
  const parts: HTMLElement[] = [];
  for (const action of new Set(data.runs.flatMap((run) => run.table.map((row) => row.action)))) {
    const rows = data.runs.flatMap((run) => run.table.filter((row) => row.action === action).map((row) => withRun(data, run, [
      { text: row.target }, { text: String(row.concurrency), value: row.concurrency },
      { text: String(row.repeat), value: row.repeat }, { text: String(row.iterations), value: row.iterations },
      ...(["maximum", "minimum", "average", "p90"] as const).map((name) => ({ text: tenDigits(row[name]), value: row[name], name })),
    ])));
    const columns = withRunColumn(data, [
      { title: "Target" },
      ...["Concurrency", "Repeat", "Iterations", "Maximum", "Minimum", "Average", "Percentile 90%"]
        .map((title) => ({ title, number: true, optional: title === "Repeat" })),
    ]);
    parts.push(el("h3", {}, `${action.toUpperCase()}_TIME(CONCURRENCY)`), dataTable(`${action} times by concurrency`, columns, rows));
  }
  if (parts.length === 0) return undefined;
  return section("campaign", "Times by concurrency",
    el("p", { class: "quiet" }, "Seconds. Here the percentile interpolates linearly between the two nearest samples; elsewhere percentiles are nearest ranks."),
    ...parts);
}

function thresholds(data: PageData): HTMLElement[] {
  const rows = data.runs.flatMap((run) => run.record.thresholds.map((t) => withRun(data, run, [
    { text: t.expression }, { text: t.pass ? "passed" : "failed", kind: t.pass ? "good" : "bad" },
    { text: plain(t.observed), value: t.observed },
  ])));
  if (rows.length === 0) return [];
  const columns = withRunColumn(data, [{ title: "Fail if" }, { title: "Verdict" }, { title: "Observed", number: true }]);
  return [el("h3", {}, "Thresholds"), dataTable("Thresholds", columns, rows)];
}

export function findings(data: PageData): HTMLElement {
  const items = data.runs.flatMap((run) => run.record.findings.map((finding) => {
    const evidence = [
      ...Object.entries(finding.context).filter(([k]) => k !== "cause").map(([k, v]) => `${k} ${v}`),
      ...Object.entries(finding.evidence).map(([k, v]) => `${k} ${plain(v)}`),
    ].join(", ");
    const where = several(data) ? `${run.name}: ` : "";
    return el("li", { "data-finding": finding.id },
      el("strong", { class: finding.severity === "info" ? "" : "warning" }, finding.id), ` ${where}${finding.summary}. `,
      finding.context.cause ? `Where to look: ${finding.context.cause}. ` : "",
      el("span", { class: "quiet" }, `(${evidence})`));
  }));
  if (items.length === 0) return section("findings", "Findings", el("p", {}, "Nothing remarkable."));
  return section("findings", "Findings: issues found, and their causes", el("ul", { class: "findings" }, ...items));
}

export function errors(data: PageData): HTMLElement {
  const columns = withRunColumn(data, [
    { title: "Test" }, { title: "Sort" }, { title: "Kind" }, { title: "Count", number: true },
    { title: "Request" }, { title: "Sample" }, { title: "Peer" },
  ]);
  const rows = data.runs.flatMap((run) => run.record.tests.flatMap((test) => {
    const row = (sort: string) => (e: Counted) => withRun(data, run, [
      { text: test.name }, { text: sort }, { text: e.kind }, { text: String(e.count), value: e.count, name: e.kind },
      { text: e.sample.request }, { text: e.sample.text }, { text: e.sample.peer },
    ]);
    return [...test.errors.map(row("error")), ...test.notes.map(row("note"))];
  }));
  if (rows.length === 0) return section("errors", "Errors", el("p", {}, "None."));
  return section("errors", "Errors and notes", dataTable("Errors and notes", columns, rows));
}

export function steps(data: PageData): HTMLElement | undefined {
  const rows = data.runs.flatMap((run) => run.record.tests.flatMap((test) => test.steps.map((step) => withRun(data, run, [
    { text: test.name }, { text: step.name }, { text: String(step.count), value: step.count },
    ...(["p50", "p99", "max"] as const).map((p) => ({ text: duration(step.latency_s[p]), value: step.latency_s[p] })),
    ...(["p50", "p99"] as const).map((p) => ({ text: duration(step.ttfb_s[p]), value: step.ttfb_s[p] })),
  ]))));
  if (rows.length === 0) return undefined;
  const columns = withRunColumn(data, [
    { title: "Test" }, { title: "Step" },
    ...["Count", "p50", "p99", "Max", "First byte p50", "First byte p99"].map((title) => ({ title, number: true })),
  ]);
  return section("steps", "Steps", dataTable("Steps", columns, rows));
}

function machineRows(machines: Environment[]): Cell[][] {
  const positive = (value: number, text: (v: number) => string) => (value > 0 ? text(value) : "");
  const properties: [string, (m: Environment) => string][] = [
    ["vendor, model", (m) => m.vendor_model], ["operating system", (m) => m.operating_system], ["kernel", (m) => m.kernel],
    ["architecture", (m) => m.architecture], ["CPU", (m) => m.cpu], ["processors", (m) => positive(m.processors, String)],
    ["cores", (m) => positive(m.cores, String)], ["frequency", (m) => positive(m.frequency_mhz, (v) => `${plain(v)} MHz`)],
    ["governor", (m) => m.governor], ["memory", (m) => positive(m.memory_bytes, memory)],
    ["network", (m) => m.network.map((n) => [n.name, n.vendor_model, n.speed, n.addresses.join(" ")].filter(Boolean).join(", ")).join("; ")],
    ["storage", (m) => m.disks.map((d) => [d.name, d.vendor_model, d.kind, positive(d.bytes, size)].filter(Boolean).join(", ")).join("; ")],
    ["limits", (m) => Object.entries(m.limits).map((e) => e.join(" ")).join("; ")],
    ["congestion control", (m) => m.congestion_control], ["input and output", (m) => m.io],
    ["versions", (m) => Object.entries(m.versions).map((e) => e.join(" ")).join("; ")],
  ];
  return properties
    .map(([label, value]) => [{ text: label }, ...machines.map((m) => ({ text: value(m) }))])
    .filter((row) => row.slice(1).some((cell) => cell.text !== ""));
}

function runEnvironment(data: PageData, run: Run): HTMLElement[] {
  const record = run.record;
  const machines = [record.environment, ...record.machines];
  const name = (m: Environment) => [m.role || "machine", m.host ? `(${m.host})` : ""].filter(Boolean).join(" ");
  const out: HTMLElement[] = [];
  if (several(data)) out.push(el("h3", {}, run.name));
  const rows = machineRows(machines);
  if (rows.length > 0) out.push(dataTable("Machines", [{ title: "" }, ...machines.map((m) => ({ title: name(m) }))], rows, false));
  const targets = record.targets.map((t): Cell[] => [
    { text: t.name }, { text: t.url },
    { text: t.addresses.map((a) => `${a.address} (${a.problem || `${a.connections} connections`})`).join(", ") },
    { text: t.protocol }, { text: t.tls }, { text: t.server },
  ]);
  if (targets.length > 0) {
    out.push(el("h3", {}, "Targets"), dataTable("Targets",
      ["Target", "URL", "Addresses", "Protocol", "TLS", "Server"].map((title) => ({ title })), targets));
  }
  const drawing = networkDrawing(record);
  if (drawing) {
    const box = el("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "Who talked to whom" });
    box.append(drawing);
    out.push(el("h3", {}, "Who talked to whom"), box,
      el("p", { class: "quiet" }, "Bytes: of the measured operations, before TLS. Round trips: of the connections' handshakes, as the kernel measured them."));
  }
  const sizes = new Set(record.tests.map((t) => Number(t.details.data_size)).filter((bytes) => bytes > 0));
  if (sizes.size > 0) out.push(el("p", {}, `DATA_SIZE: ${[...sizes].map(size).join(", ")}`));
  for (const [file, text] of Object.entries(record.attachments)) {
    out.push(el("details", {}, el("summary", {}, file), el("pre", {}, text)));
  }
  return out;
}

export function environment(data: PageData): HTMLElement {
  return section("environment", "Environment", ...data.runs.flatMap((run) => runEnvironment(data, run)));
}

export function command(data: PageData): HTMLElement {
  return section("command", "Command", ...data.runs.flatMap((run) => [
    el("pre", {}, run.record.tool.command || run.name),
    el("p", { class: "quiet" }, [
      run.record.started && `started ${run.record.started}`, `seed ${run.record.seed}`,
      run.record.tool.version && `plimsoll ${run.record.tool.version}`,
    ].filter(Boolean).join(", ")),
  ]));
}
