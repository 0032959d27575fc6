// A drawing of who talked to whom: the generator, each address of each target, and what else took part, with the
// bytes and the round-trip time on each line.
import type { ResultRecord, Step } from "./data";
import { svg } from "./dom";
import { duration, size } from "./format";

interface Peer { title: string; lines: string[] }

function clip(text: string, length: number): string {
  return text.length > length ? `${text.slice(0, length - 1)}\u2026` : text;
}

function stepPeer(record: ResultRecord, title: string, matches: (name: string) => boolean): Peer[] {
  const steps: Step[] = record.tests.flatMap((t) => t.steps).filter((s) => matches(s.name) && s.count > 0);
  if (steps.length === 0) return [];
  const sent = steps.reduce((sum, s) => sum + s.bytes.sent, 0);
  const received = steps.reduce((sum, s) => sum + s.bytes.received, 0);
  const count = steps.reduce((sum, s) => sum + s.count, 0);
  return [{ title, lines: [`${count} requests, ${size(sent)} sent, ${size(received)} received`, `first byte p50 ${duration(steps[0].ttfb_s.p50)}`] }];
}

function targetPeers(record: ResultRecord): Peer[] {
  return record.targets.flatMap((target) => {
    const tests = record.tests.filter((t) => t.target === target.name);
    const sent = tests.reduce((sum, t) => sum + t.bytes.sent, 0);
    const received = tests.reduce((sum, t) => sum + t.bytes.received, 0);
    const connects = tests.map((t) => t.connections.connect_s).filter((c) => c.count > 0);
    const roundTrip = connects.length > 0 ? `, round trip ${duration(Math.min(...connects.map((c) => c.min)))}` : "";
    const traffic = `${size(sent)} sent, ${size(received)} received${roundTrip}`;
    const used = target.addresses.filter((a) => !a.problem);
    const head = `${target.name} ${target.url}`.trim();
    if (used.length === 0) return [{ title: head, lines: [traffic] }];
    return used.map((address, i) => ({
      title: `${head} at ${address.address}`,
      lines: [`${address.connections} connections`, i === 0 ? traffic : "in the figures above"],
    }));
  });
}

export function networkDrawing(record: ResultRecord): SVGElement {
  const peers = [
    ...targetPeers(record),
    ...stepPeer(record, "token server", (name) => name.startsWith("token ")),
    ...stepPeer(record, "storage origin", (name) => name.startsWith("storage ")),
    ...(record.upstream_url ? [{ title: `upstream ${record.upstream_url}`, lines: ["pulled from by the registry"] }] : []),
  ];
  const rowHeight = 84;
  const height = Math.max(1, peers.length) * rowHeight + 10;
  const root = svg("svg", { class: "network", viewBox: `0 0 900 ${height}`, width: 900, height, role: "img" });
  root.append(svg("title", {}, "Who talked to whom"));
  const middle = height / 2;
  const cards = record.environment.network.map((card) => `${card.name} ${card.speed} ${card.addresses.join(" ")}`.trim());
  root.append(svg("rect", { x: 5, y: middle - 36, width: 250, height: 72, rx: 6 }));
  root.append(svg("text", { x: 15, y: middle - 14 }, clip(`generator ${record.environment.host}`.trim(), 34)));
  cards.slice(0, 2).forEach((card, i) =>
    root.append(svg("text", { x: 15, y: middle + 6 + 18 * i, class: "quiet" }, clip(card, 36))));
  peers.forEach((peer, i) => {
    const y = i * rowHeight + rowHeight / 2 + 5;
    root.append(svg("line", { x1: 255, y1: middle, x2: 360, y2: y }));
    root.append(svg("rect", { x: 360, y: y - 36, width: 535, height: 72, rx: 6 }));
    root.append(svg("text", { x: 370, y: y - 14 }, clip(peer.title, 74)));
    peer.lines.forEach((line, k) => root.append(svg("text", { x: 370, y: y + 6 + 18 * k, class: "quiet" }, clip(line, 78))));
  });
  return root;
}
