// Which JSON keys a record has, and in which order: the one list that both the writer and the reader go through.
// Included by record_json.cc only.
//
// archive(key, member) writes or reads a member; archive.optional(key, member) leaves it out where it is not set.
#pragma once

#include <concepts>
#include <type_traits>

#include "stats/record.h"

namespace plimsoll::stats {

template <class T, class U>
concept Of = std::same_as<std::remove_const_t<T>, U>;

void fields(auto& archive, Of<LatencySummary> auto& s) {
  archive("count", s.count);
  archive("min", s.min);
  archive("mean", s.mean);
  archive("stddev", s.stddev);
  archive("max", s.max);
  archive("p50", s.p50);
  archive("p66", s.p66);
  archive("p75", s.p75);
  archive("p80", s.p80);
  archive("p90", s.p90);
  archive("p95", s.p95);
  archive("p98", s.p98);
  archive("p99", s.p99);
  archive("p99.9", s.p999);
  archive("p99.99", s.p9999);
  archive("unsupported", s.unsupported);
}

void fields(auto& archive, Of<Bytes> auto& b) {
  archive("sent", b.sent);
  archive("received", b.received);
  archive("body_sent", b.body_sent);
  archive("body_received", b.body_received);
}

void fields(auto& archive, Of<Sample> auto& s) {
  archive("text", s.text);
  archive("peer", s.peer);
  archive("request", s.request);
}

void fields(auto& archive, Of<ErrorCount> auto& e) {
  archive("kind", e.kind);
  archive("count", e.count);
  archive("sample", e.sample);
}

void fields(auto& archive, Of<StepRecord> auto& s) {
  archive("name", s.name);
  archive("count", s.count);
  archive("statuses", s.statuses);
  archive("latency_s", s.latency_s);
  archive("ttfb_s", s.ttfb_s);
  archive("bytes", s.bytes);
}

void fields(auto& archive, Of<Connections> auto& c) {
  archive("opened", c.opened);
  archive("reused", c.reused);
  archive("reconnected", c.reconnected);
  archive("connect_s", c.connect_s);
  archive("tls_s", c.tls_s);
}

void fields(auto& archive, Of<Phases> auto& p) {
  archive("prepare", p.prepare);
  archive("setup", p.setup);
  archive("warmup", p.warmup);
  archive("measure", p.measure);
  archive("drain", p.drain);
  archive("cleanup", p.cleanup);
}

void fields(auto& archive, Of<Operations> auto& o) {
  archive("started", o.started);
  archive("ok", o.ok);
  archive("failed", o.failed);
  archive("aborted", o.aborted);
}

void fields(auto& archive, Of<SeriesPoint> auto& p) {
  archive("t_s", p.t_s);
  archive("ok", p.ok);
  archive("failed", p.failed);
  archive("bytes", p.bytes);
  archive("p50_s", p.p50_s);
  archive("p99_s", p.p99_s);
}

void fields(auto& archive, Of<Checks> auto& c) {
  archive("client_cpu", c.client_cpu);
  archive("client_bound", c.client_bound);
  archive("run_delay_share", c.run_delay_share);
  archive("littles_law_error", c.littles_law_error);
  archive("concurrency_reached", c.concurrency_reached);
  archive("schedule_lag_p50_s", c.schedule_lag_p50_s);
  archive("schedule_lag_p99_s", c.schedule_lag_p99_s);
  archive("schedule_lag_p999_s", c.schedule_lag_p999_s);
  archive("failed", c.failed);
}

void fields(auto& archive, Of<OpenLoop> auto& o) {
  archive("offered_per_s", o.offered_per_s);
  archive("sent_per_s", o.sent_per_s);
  archive("completed_per_s", o.completed_per_s);
  archive("backlog_max", o.backlog_max);
  archive("backlog_age_max_s", o.backlog_age_max_s);
}

void fields(auto& archive, Of<TestRecord> auto& t) {
  archive("name", t.name);
  archive("target", t.target);
  archive("action", t.action);
  archive("concurrency", t.concurrency);
  archive("repeat", t.repeat);
  archive("samples_file", t.samples_file);
  archive("upload", t.upload);
  archive("phases_s", t.phases_s);
  archive("operations", t.operations);
  archive("rate_per_s", t.rate_per_s);
  archive("bytes", t.bytes);
  archive("latency_s", t.latency_s);
  archive("service_s", t.service_s);
  archive("failed_latency_s", t.failed_latency_s);
  archive("aborted_age_s", t.aborted_age_s);
  archive("statuses", t.statuses);
  archive("errors", t.errors);
  archive("notes", t.notes);
  archive("steps", t.steps);
  archive("mix", t.mix);
  archive("parts", t.parts);
  archive("connections", t.connections);
  archive("histograms", t.histograms);
  archive("series", t.series);
  archive.optional("open_loop", t.open_loop);
  archive("checks", t.checks);
  archive("details", t.details);
}

void fields(auto& archive, Of<Address> auto& a) {
  archive("address", a.address);
  archive("connections", a.connections);
  archive("problem", a.problem);
}

void fields(auto& archive, Of<Target> auto& t) {
  archive("name", t.name);
  archive("url", t.url);
  archive("addresses", t.addresses);
  archive("protocol", t.protocol);
  archive("server", t.server);
  archive("tls", t.tls);
}

void fields(auto& archive, Of<RoundTrip> auto& r) {
  archive("count", r.count);
  archive("min", r.min);
  archive("mean", r.mean);
  archive("max", r.max);
}

void fields(auto& archive, Of<Peer> auto& p) {
  archive("part", p.part);
  archive("target", p.target);
  archive("origin", p.origin);
  archive("address", p.address);
  archive("from", p.from);
  archive("proxy", p.proxy);
  archive("connections", p.connections);
  archive("round_trip_s", p.round_trip_s);
}

void fields(auto& archive, Of<Load> auto& l) {
  archive("mode", l.mode);
  archive("concurrency", l.concurrency);
  archive("rate", l.rate);
  archive("requests", l.requests);
  archive("duration_s", l.duration_s);
  archive("warmup_s", l.warmup_s);
  archive("threads", l.threads);
}

void fields(auto& archive, Of<Interface> auto& i) {
  archive("name", i.name);
  archive("vendor_model", i.vendor_model);
  archive("speed", i.speed);
  archive("addresses", i.addresses);
}

void fields(auto& archive, Of<Disk> auto& d) {
  archive("name", d.name);
  archive("vendor_model", d.vendor_model);
  archive("kind", d.kind);
  archive("bytes", d.bytes);
}

void fields(auto& archive, Of<Environment> auto& e) {
  archive("role", e.role);
  archive("host", e.host);
  archive("vendor_model", e.vendor_model);
  archive("operating_system", e.operating_system);
  archive("kernel", e.kernel);
  archive("architecture", e.architecture);
  archive("cpu", e.cpu);
  archive("processors", e.processors);
  archive("cores", e.cores);
  archive("frequency_mhz", e.frequency_mhz);
  archive("governor", e.governor);
  archive("memory_bytes", e.memory_bytes);
  archive("network", e.network);
  archive("disks", e.disks);
  archive("limits", e.limits);
  archive("congestion_control", e.congestion_control);
  archive("io", e.io);
  archive("versions", e.versions);
}

void fields(auto& archive, Of<Threshold> auto& t) {
  archive("expression", t.expression);
  archive("observed", t.observed);
  archive("pass", t.pass);
}

void fields(auto& archive, Of<Finding> auto& f) {
  archive("id", f.id);
  archive("severity", f.severity);
  archive("summary", f.summary);
  archive("evidence", f.evidence);
  archive("context", f.context);
}

void fields(auto& archive, Of<Capability> auto& c) {
  archive("id", c.id);
  archive("supported", c.supported);
  archive("evidence", c.evidence);
  archive("spec", c.spec);
}

void fields(auto& archive, Of<Record> auto& r) {
  archive("schema", r.schema);
  archive.object("tool", [&](auto& tool) {
    tool("version", r.tool_version);
    tool("command", r.command);
  });
  archive("seed", r.seed);
  archive("started", r.started);
  archive("interrupted", r.interrupted);
  archive("working_dir", r.working_dir);
  archive("upstream_url", r.upstream_url);
  archive("environment", r.environment);
  archive("machines", r.machines);
  archive("targets", r.targets);
  archive("peers", r.peers);
  archive("load", r.load);
  archive("tests", r.tests);
  archive("skipped", r.skipped);
  archive("thresholds", r.thresholds);
  archive("findings", r.findings);
  archive("capabilities", r.capabilities);
  archive("attachments", r.attachments);
}

}  // namespace plimsoll::stats
