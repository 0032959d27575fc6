// A drawing of who talked to whom: the generator with its interfaces, and each part of each target (registry, token
// server, storage origin, upstream, proxies between) with the bytes and the round-trip time on its line.
import type { Bytes, Interface, Peer, ResultRecord } from "./data";
import { svg } from "./dom";
import { duration, size } from "./format";

const names: Record<string, string> = {
  registry: "registry", token: "token server", storage: "storage origin", upstream: "upstream", server: "server",
  redirect: "redirected to",
};
const elsewhere = ["token", "storage", "redirect"];

// One part of one target, with all of its addresses.
interface Box { title: string; lines: string[]; peers: Peer[]; key: string }

function clip(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}\u2026` : text;
}

function boxes(record: ResultRecord): Box[] {
  const out = new Map<string, Box>();
  for (const peer of record.peers) {
    const key = `${peer.target} ${peer.part}`;
    const words = peer.part.split("+").map((part) => names[part] ?? part).join(" and ");
    const named = record.targets.length > 1 && peer.part !== "upstream" ? `${words} of ${peer.target}` : words;
    const box = out.get(key) ?? { title: named, lines: [], peers: [], key };
    out.set(key, box);
    if (!box.lines.includes(peer.origin)) box.lines.push(peer.origin);
    box.lines.push(`at ${peer.address}, ${peer.connections} connections`);
    box.peers.push(peer);
  }
  return [...out.values()];
}

// What the measured operations moved to and from a part; undefined where none of them went there.
function measuredBytes(record: ResultRecord, peer: Peer): Bytes | undefined {
  const sum: Bytes = { sent: 0, received: 0, body_sent: 0, body_received: 0 };
  let seen = false;
  for (const test of record.tests.filter((t) => t.target === peer.target)) {
    for (const step of test.steps) {
      const here = peer.part.split("+").some((part) =>
        elsewhere.includes(part) ? step.name === part : part !== "upstream" && !elsewhere.includes(step.name));
      if (!here) continue;
      seen = true;
      sum.sent += step.bytes.sent;
      sum.received += step.bytes.received;
    }
  }
  return seen ? sum : undefined;
}

function roundTrip(peers: Peer[]): string {
  const timed = peers.map((peer) => peer.round_trip_s).filter((time) => time.count > 0);
  if (timed.length === 0) return "round trip unknown";
  const count = timed.reduce((sum, time) => sum + time.count, 0);
  const mean = timed.reduce((sum, time) => sum + time.mean * time.count, 0) / count;
  return `round trip ${duration(mean)}, least ${duration(Math.min(...timed.map((time) => time.min)))}`;
}

function interfaceOf(cards: Interface[], address: string): string {
  const card = cards.find((one) => one.addresses.includes(address));
  if (card) return [card.name, card.speed, address].filter(Boolean).join(" ");
  return address.startsWith("127.") || address === "::1" ? `loopback ${address}` : address;
}

export function networkDrawing(record: ResultRecord): SVGElement | undefined {
  const parts = boxes(record);
  if (parts.length === 0) return undefined;
  const lineHeight = 18, width = 1000, left = 260, right = 640;
  const heights = parts.map((box) => Math.max(2, Math.min(box.lines.length, 6)) * lineHeight + 34);
  const height = heights.reduce((a, b) => a + b + 24, 10);
  const root = svg("svg", { class: "network", viewBox: `0 0 ${width} ${height}`, width, height, role: "img" });
  const said: string[] = [];
  root.append(svg("title", {}, "Who talked to whom"));
  const rectangle = (x: number, y: number, w: number, lines: string[], head: string, h: number) => {
    root.append(svg("rect", { x, y, width: w, height: h, rx: 6 }), svg("text", { x: x + 10, y: y + 20 }, clip(head, w / 7.4)));
    lines.forEach((line, i) =>
      root.append(svg("text", { x: x + 10, y: y + 40 + lineHeight * i, class: "quiet" }, clip(line, w / 7.2))));
  };
  const ours = [...new Set(record.peers.flatMap((peer) => peer.from))].map((a) => interfaceOf(record.environment.network, a));
  const ownLines = ours.length > 4 ? [...ours.slice(0, 3), `and ${ours.length - 3} addresses more`] : ours;
  const ownHeight = Math.max(1, ownLines.length) * lineHeight + 34;
  const middle = height / 2;
  rectangle(5, middle - ownHeight / 2, left - 5, ownLines, `generator ${record.environment.host}`.trim(), ownHeight);
  let y = 10;
  let registryPlace: number | undefined, upstreamPlace: number | undefined;
  parts.forEach((box, i) => {
    const centre = y + heights[i] / 2;
    const bytes = measuredBytes(record, box.peers[0]);
    const moved = bytes ? `${size(bytes.sent)} sent, ${size(bytes.received)} received` : "nothing measured: set-up only";
    const proxy = box.peers.find((peer) => peer.proxy)?.proxy;
    root.append(svg("line", { x1: left, y1: middle, x2: right, y2: centre }));
    if (proxy) {
      const x = left + (right - left) * 0.72;
      root.append(svg("rect", { x: x - 60, y: centre - 26, width: 150, height: 40, rx: 6 }),
        svg("text", { x: x - 52, y: centre - 9 }, "proxy"), svg("text", { x: x - 52, y: centre + 7, class: "quiet" }, clip(proxy, 21)));
    }
    const textX = left + 20;
    // Each label on its own line's height, near the box that it speaks of.
    const labelY = middle + (centre - middle) * 0.55;
    root.append(svg("text", { x: proxy ? textX : textX + 50, y: labelY - 8, class: "on-line", "data-bytes": box.key }, moved),
      svg("text", { x: proxy ? textX : textX + 50, y: labelY + 10, class: "on-line", "data-round-trip": box.key }, roundTrip(box.peers)));
    const lines = box.lines.length > 6 ? [...box.lines.slice(0, 5), `and ${box.lines.length - 5} lines more`] : box.lines;
    rectangle(right, y, width - right - 5, lines, box.title, heights[i]);
    said.push(`generator to ${box.title} ${box.lines.join(" ")}: ${moved}, ${roundTrip(box.peers)}${proxy ? `, through the proxy ${proxy}` : ""}`);
    if (box.peers[0].part.startsWith("registry")) registryPlace ??= centre;
    if (box.peers[0].part.startsWith("upstream")) upstreamPlace ??= centre;
    y += heights[i] + 24;
  });
  if (registryPlace !== undefined && upstreamPlace !== undefined) {
    const x = width - 30;
    root.append(svg("line", { x1: x, y1: registryPlace, x2: x, y2: upstreamPlace, class: "unseen" }));
    said.push("the registry pulls from the upstream: that is not seen from the generator");
  }
  root.append(svg("desc", {}, said.join("; ")));
  return root;
}
