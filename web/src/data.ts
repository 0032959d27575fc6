// What the program put into the page: records (docs/result.schema.json) and, of campaigns, thinned raw times.

export interface Latency {
  count: number; min: number; mean: number; stddev: number; max: number;
  p50: number; p90: number; p95: number; p99: number; "p99.9": number;
  unsupported: string[];
}
export interface Bytes { sent: number; received: number; body_sent: number; body_received: number }
export interface Sample { text: string; peer: string; request: string }
export interface Counted { kind: string; count: number; sample: Sample }
export interface Step { name: string; count: number; latency_s: Latency; ttfb_s: Latency; bytes: Bytes }
export interface SeriesPoint { t_s: number; ok: number; failed: number; bytes: number; p50_s: number; p99_s: number }
export interface Test {
  name: string; target: string; action: string; concurrency: number; repeat: number; upload: string;
  phases_s: Record<string, number>;
  operations: { started: number; ok: number; failed: number; aborted: number };
  rate_per_s: number; bytes: Bytes; latency_s: Latency;
  errors: Counted[]; notes: Counted[]; steps: Step[];
  connections: { opened: number; reused: number; reconnected: number; connect_s: Latency };
  series: SeriesPoint[];
  checks: { failed: string[] };
  details: Record<string, string>;
}
export interface Interface { name: string; vendor_model: string; speed: string; addresses: string[] }
export interface Disk { name: string; vendor_model: string; kind: string; bytes: number }
export interface Environment {
  role: string; host: string; vendor_model: string; operating_system: string; kernel: string; architecture: string;
  cpu: string; processors: number; cores: number; frequency_mhz: number; governor: string; memory_bytes: number;
  network: Interface[]; disks: Disk[]; limits: Record<string, string>; congestion_control: string; io: string;
  versions: Record<string, string>;
}
export interface Address { address: string; connections: number; problem: string }
export interface Target { name: string; url: string; addresses: Address[]; protocol: string; server: string; tls: string }
export interface Peer {
  part: string; target: string; origin: string; address: string; from: string[]; proxy: string; connections: number;
  round_trip_s: { count: number; min: number; mean: number; max: number };
}
export interface Threshold { expression: string; observed: number; pass: boolean }
export interface Finding {
  id: string; severity: string; summary: string; evidence: Record<string, number>; context: Record<string, string>;
}
export interface ResultRecord {
  tool: { version: string; command: string };
  seed: number; started: string; interrupted: boolean; upstream_url: string;
  environment: Environment; machines: Environment[]; targets: Target[]; peers: Peer[]; tests: Test[];
  thresholds: Threshold[]; findings: Finding[]; attachments: Record<string, string>;
}
export interface RawSeries {
  target: string; action: string; name: string; concurrency: number; repeat: number; operations: number;
  iterations: number[]; seconds: number[];
}
// Latency by percentile of test number `test`: x is 1 / (1 - p).
export interface Curve { test: number; x: number[]; y: number[] }
// One row of the campaign's tables; p90 interpolates linearly there.
export interface CampaignRow {
  target: string; action: string; concurrency: number; repeat: number; iterations: number;
  maximum: number; minimum: number; average: number; p90: number;
}
export interface Run {
  name: string; record: ResultRecord; series: RawSeries[]; curves: Curve[]; table: CampaignRow[]; problems: string[];
}
export interface PageData { runs: Run[] }

export function load(): PageData {
  return JSON.parse(document.getElementById("data")!.textContent!) as PageData;
}
