"""What a run shows of itself while it runs, and what other tools read of it afterwards."""
import contextlib
import json
import os
import pty
import re
import select
import subprocess
import time
import urllib.error
import urllib.request

import pytest

from conftest import end, run
from serving import serve  # noqa: F401 (a fixture)

SAMPLE = re.compile(r'([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{((?:[a-zA-Z_][a-zA-Z0-9_]*="(?:[^"\\\n]|\\["\\n])*",?)*)\})? '
                    r'(NaN|[+-]?Inf|[+-]?[0-9.]+(?:e[+-]?[0-9]+)?)')
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"')


def check_histograms(samples, names):
    """Buckets go up to +Inf, which has them all, and never come down."""
    series = {}
    for (name, labels), value in samples.items():
        if name.removesuffix("_bucket") in names and name.endswith("_bucket"):
            rest = tuple(label for label in labels if label[0] != "le")
            series.setdefault((name.removesuffix("_bucket"), rest), []).append((dict(labels)["le"], value))
    for (name, rest), buckets in series.items():
        counts = [count for _, count in buckets]
        assert buckets[-1] == ("+Inf", samples[(f"{name}_count", rest)])
        assert counts == sorted(counts), buckets


def exposition(text):
    """Reads the text exposition format as strictly as promtool: {(name, labels): value}."""
    assert text.endswith("\n")
    samples, kinds, current, closed = {}, {}, None, set()
    for line in text.splitlines():
        if line.startswith("# HELP "):
            name, help_text = line[7:].split(" ", 1)
            assert name not in kinds and help_text, line
            closed.add(current)
            current = name
        elif line.startswith("# TYPE "):
            name, kind = line[7:].split(" ")
            assert name == current and kind in ("counter", "gauge", "histogram"), line
            kinds[name] = kind
            assert (kind == "counter") == name.endswith("_total"), line
        else:
            found = SAMPLE.fullmatch(line)
            assert found, line
            family = re.sub("_(bucket|sum|count)$", "", found[1]) if kinds[current] == "histogram" else found[1]
            assert family == current and family not in closed, f"{line}: not next to its family"
            key = (found[1], tuple(LABEL.findall(found[2] or "")))
            assert key not in samples, f"{line}: twice"
            samples[key] = float(found[3])
    check_histograms(samples, [name for name, kind in kinds.items() if kind == "histogram"])
    return samples


@contextlib.contextmanager
def running(plimsoll, *arguments, cwd):
    process = subprocess.Popen([plimsoll, *map(str, arguments)], cwd=cwd, text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        if process.poll() is None:
            end(process)
        process.stdout.close()
        process.stderr.close()


def metrics_url(process):
    line = process.stderr.readline()
    found = re.fullmatch(r"plimsoll: metrics on (http://127\.0\.0\.1:\d+/metrics)\n", line)
    assert found, line
    return found[1]


def scrape(url):
    with urllib.request.urlopen(url, timeout=10) as answer:
        assert answer.headers["Content-Type"] == "text/plain; version=0.0.4; charset=utf-8"
        return exposition(answer.read().decode())


def scrape_until(url, wanted):
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        samples = scrape(url)
        if wanted(samples):
            return samples
        time.sleep(0.1)
    raise AssertionError(f"never seen: {samples}")


def test_http_serves_its_metrics_while_it_runs(plimsoll, serve, tmp_path):
    server = serve()
    with running(plimsoll, "http", "-t", "60s", "-c", 4, "--metrics", 0, f"{server.url}/v2/", "--result", "r.json",
                 cwd=tmp_path) as process:
        url = metrics_url(process)
        test = ("test", server.host)
        samples = scrape_until(url, lambda s: s.get(("plimsoll_operations_per_second", (test,)), 0) > 0)
        good = ("plimsoll_operations_total", (test, ("result", "ok")))
        assert samples[good] > 0
        assert samples[("plimsoll_in_flight", (test,))] <= 4
        assert samples[("plimsoll_phase", (test, ("phase", "measure")))] == 1
        assert samples[("plimsoll_responses_total", (test, ("class", "2xx")))] == samples[good]
        assert samples[("plimsoll_latency_seconds_count", (test,))] == samples[good]
        assert samples[("plimsoll_requested_seconds", (test,))] == pytest.approx(60)
        assert samples[("plimsoll_last_second_latency_seconds", (test, ("quantile", "0.5")))] > 0
        assert scrape_until(url, lambda s: s[good] > samples[good])
        with pytest.raises(urllib.error.HTTPError, match="404"):
            urllib.request.urlopen(url.replace("/metrics", "/"), timeout=10)
        end(process)
        assert process.returncode in (0, 130)
    assert json.loads((tmp_path / "r.json").read_text())["tests"][0]["operations"]["ok"] > samples[good]


def test_bench_keeps_finished_tests_in_its_metrics(plimsoll, serve, tmp_path):
    server = serve()
    with running(plimsoll, "bench", "-c", 2, "-n", 200000, "--duration", "1s", "-t", "^(Push Monolith|Pull) 1MB$",
                 "--metrics", 0, server.url, cwd=tmp_path) as process:
        url = metrics_url(process)
        second = ("plimsoll_phase", (("test", "Pull 1MB"), ("phase", "measure")))
        samples = scrape_until(url, lambda s: second in s)
        assert samples[("plimsoll_phase", (("test", "Push Monolith 1MB"), ("phase", "over")))] == 1
        assert samples[("plimsoll_operations_total", (("test", "Push Monolith 1MB"), ("result", "ok")))] > 0


@pytest.mark.parametrize("command", [["http", "http://127.0.0.1:1/"], ["bench", "http://127.0.0.1:1"]])
def test_an_address_that_cannot_be_had_is_refused(plimsoll, serve, tmp_path, command):
    server = serve()
    if command[0] == "bench":
        command = ["bench", server.url]
    for listen in (server.port, "nonsense"):
        done = run(plimsoll, *command, "--metrics", listen, cwd=tmp_path)
        assert done.returncode == 2
        assert len(done.stderr.splitlines()) == 1 and "--metrics" in done.stderr


def test_live_view_on_a_terminal(plimsoll, serve, tmp_path):
    server = serve()
    ours, theirs = pty.openpty()
    process = subprocess.Popen([plimsoll, "http", "-t", "2s", "-c", "4", f"{server.url}/v2/"], cwd=tmp_path,
                               stdout=subprocess.DEVNULL, stderr=theirs, stdin=subprocess.DEVNULL)
    os.close(theirs)
    shown = b""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        ready, _, _ = select.select([ours], [], [], 1)
        if not ready:
            continue
        try:
            piece = os.read(ours, 65536)
        except OSError:  # the last one has closed its end
            break
        if not piece:
            break
        shown += piece
    os.close(ours)
    assert process.wait(20) == 0
    frames = [frame for frame in shown.decode().split("\r\x1b[J") if "measure" in frame]
    assert len(frames) >= 3
    head, now, whole = [line.strip("\r") for line in frames[-1].split("\n")[:3]]
    assert re.match(rf"{re.escape(server.host)}  measure  \d+  \ds  left \ds", head)
    assert re.match(r"  now  [\d.]+( k)?/s  [\d.]+ \w?B/s  in flight \d  p50 ", now)
    assert re.match(r"  run  2xx \d+  errors 0  p50 .*  p99 ", whole)
    assert all(len(line) < 80 for line in (head, now, whole))
    assert shown.endswith(b"\r\x1b[J"), "nothing of it stays"


def reference(*arguments):
    return subprocess.run(["java", "-Xshare:auto", "-cp", "/usr/share/java/hdrhistogram.jar",
                           "org.HdrHistogram.HistogramLogProcessor", *map(str, arguments)], capture_output=True, text=True,
                          timeout=60, check=True).stdout


def test_histograms_are_read_back_by_the_reference(plimsoll, serve, tmp_path):
    """HdrHistogram's own log processor reads the .hlog and prints, of each of its histograms, our .hgrm."""
    server = serve()
    done = run(plimsoll, "http", "-q", "-n", 3000, "-c", 8, f"{server.url}/v2/", "-o", "hlog=h.hlog", "-o", "hgrm=h.hgrm",
               "--result", "r.json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    test = json.loads((tmp_path / "r.json").read_text())["tests"][0]
    tags = reference("-i", tmp_path / "h.hlog", "-listtags").splitlines()[1:]
    assert sorted(tags) == [f"{test['name']}:latency", f"{test['name']}:service"]
    reference("-i", tmp_path / "h.hlog", "-tag", f"{test['name']}:latency", "-o", tmp_path / "reference")
    theirs = (tmp_path / "reference.hgrm").read_text().splitlines()
    ours = (tmp_path / "h.hgrm").read_text().splitlines()
    rows = [line for line in theirs if not line.startswith(("#[Overall", "#[StartTime"))]
    assert ours == rows + ["#[Unit    = milliseconds]"]
    total = re.search(r"T:(\d+) ", (tmp_path / "reference").read_text())
    assert int(total[1]) == 3000
