"""`plimsoll bench --upload`, `--chunk-size` and `--mount`: every way of bringing blobs to a registry."""
import json

import pytest

from conftest import run
from serving import serve  # noqa: F401: a fixture

STREAMED = "^Push Chunk Streamed 1MB$"
MONOLITH = "^Push Monolith 1MB$"


def bench(plimsoll, url, *options, cwd, check=0):
    done = run(plimsoll, "bench", "-o", "json", *options, url, cwd=cwd, check=check)
    return json.loads(done.stdout)["tests"]


def counts(test):
    return {step["name"]: step["count"] for step in test["steps"]}


def statuses(test, step):
    return next((s["statuses"] for s in test["steps"] if s["name"] == step), {})


@pytest.mark.parametrize("kind, steps", [
    ("put", {"upload POST": 8, "layer PUT": 4, "config PUT": 4}),
    # Distribution answers a single POST with a session: the blob goes there by PUT.
    ("post", {"layer POST": 4, "config POST": 4, "layer PUT": 4, "config PUT": 4}),
    ("stream", {"upload POST": 8, "layer PATCH": 4, "config PATCH": 4, "layer PUT": 4, "config PUT": 4}),
    ("chunk", {"upload POST": 8, "layer PATCH": 16, "config PATCH": 4, "layer PUT": 4, "config PUT": 4}),
])
def test_every_way_on_distribution(plimsoll, docker_registry, tmp_path, kind, steps):
    registry = docker_registry()
    for name in [MONOLITH, STREAMED]:
        test, = bench(plimsoll, registry.url, "-c", 2, "-n", 4, "-t", name, "--upload", kind, "--chunk-size", "300kB",
                      cwd=tmp_path)
        assert test["upload"] == kind and test["operations"]["ok"] == 4
        assert counts(test) == {**steps, "manifest PUT": 4}
    assert registry.leftovers() == []


def test_chunk_size_is_for_the_chunked_tests(plimsoll, docker_registry, tmp_path):
    registry = docker_registry()
    tests = bench(plimsoll, registry.url, "-t", f"{MONOLITH}|{STREAMED}", "--chunk-size", "512KiB", cwd=tmp_path)
    assert [test["upload"] for test in tests] == ["put", "chunk"]
    assert counts(tests[1])["layer PATCH"] == 2
    tests = bench(plimsoll, registry.url, "-t", f"{MONOLITH}|{STREAMED}", cwd=tmp_path)
    assert [test["upload"] for test in tests] == ["put", "stream"]


def test_chunks_are_raised_to_what_the_registry_takes(plimsoll, serve, tmp_path):  # noqa: F811
    server = serve("--fault", "chunk_minimum=400000")
    test, = bench(plimsoll, server.url, "-n", 3, "-t", STREAMED, "--chunk-size", "100kB", cwd=tmp_path)
    assert test["operations"]["ok"] == 3 and counts(test)["layer PATCH"] == 9


@pytest.mark.parametrize("faults, name, upload, refused", [
    ([], MONOLITH, "put", None),
    ([], STREAMED, "stream", None),
    (["route=upload; method=PATCH; status=405"], STREAMED, "put", "stream: 405; chunk: 405"),
    (["route=upload; status=405"], MONOLITH, "post", "put: 405"),
    (["route=upload; status=405"], "^Push Chunk Mixed", "post", "stream: 405; chunk: 405; put: 405"),
])
def test_auto_takes_what_the_registry_takes(plimsoll, serve, tmp_path, faults, name, upload, refused):  # noqa: F811
    server = serve(*[word for fault in faults for word in ("--fault", fault)])
    test, = bench(plimsoll, server.url, "-n", 2, "-t", name, "--upload", "auto", cwd=tmp_path)
    assert test["upload"] == upload and test["operations"]["ok"] == 2 and test["errors"] == []
    told = test["details"].get("upload_refused")
    assert told == refused or told.replace(" UNKNOWN: a fault on cue", "") == refused
    # What was tried is in the set-up, and not in the figures.
    assert sum(test["statuses"].values()) == 2 and "405" not in statuses(test, "layer PATCH")
    assert json.loads(server.request("GET", "/v2/_catalog").content)["repositories"] in ([], None)


def test_auto_with_no_way(plimsoll, serve, tmp_path):  # noqa: F811
    server = serve("--fault", "route=upload_start; status=403; body=no")
    done = run(plimsoll, "bench", "-t", MONOLITH, "--upload", "auto", server.url, cwd=tmp_path, check=2)
    assert len(done.stderr.splitlines()) == 1 and "put: 403" in done.stderr and "chunk: 403" in done.stderr


def test_seeds_go_the_same_way(plimsoll, serve, tmp_path):  # noqa: F811
    server = serve("--fault", "route=upload; status=405")
    test, = bench(plimsoll, server.url, "-n", 2, "-t", "^Pull 1MB$", "--upload", "auto", cwd=tmp_path)
    assert test["upload"] == "post" and test["operations"]["ok"] == 2


def test_a_416_is_resumed_from_what_the_registry_has(plimsoll, serve, tmp_path):  # noqa: F811
    server = serve("--fault", "route=upload; method=PATCH; as_status=416; every=3")
    test, = bench(plimsoll, server.url, "-n", 3, "-t", STREAMED, "--chunk-size", "300kB", cwd=tmp_path)
    assert test["operations"]["ok"] == 3 and test["errors"] == []
    resumed = {note["kind"]: note["count"] for note in test["notes"]}["resumed"]
    assert resumed >= 3 and counts(test)["upload GET"] == resumed
    assert sum(statuses(test, step).get("416", 0) for step in ["layer PATCH", "config PATCH"]) == resumed


@pytest.mark.parametrize("kind", ["put", "stream", "chunk"])
def test_a_lost_connection_is_resumed_when_asked_for(plimsoll, serve, tmp_path, kind):  # noqa: F811
    method = "PUT" if kind == "put" else "PATCH"
    fault = f"route=upload; method={method}; reset=0; skip=1; count=1"
    test, = bench(plimsoll, serve("--fault", fault).url, "-n", 3, "-t", STREAMED, "--upload", kind, "--retries", 2,
                  "--chunk-size", "300kB", cwd=tmp_path)
    assert test["operations"]["ok"] == 3 and test["errors"] == []
    assert {"retried", "resumed"} <= {note["kind"] for note in test["notes"]}
    assert test["parts"]["waiting"]["count"] >= 1 and test["parts"]["waiting"]["min"] >= 0.4
    test, = bench(plimsoll, serve("--fault", fault).url, "-n", 3, "-t", STREAMED, "--upload", kind, "--chunk-size",
                  "300kB", cwd=tmp_path, check=1)
    assert test["operations"]["failed"] == 1 and test["errors"][0]["kind"] in ("reset", "closed")


def test_abandoned_sessions_are_cancelled(plimsoll, serve, tmp_path):  # noqa: F811
    log = tmp_path / "log"
    server = serve("--access-log", log, "--access-log-json", "--fault", "route=upload; method=PUT; status=500; count=3")
    test, = bench(plimsoll, server.url, "-n", 5, "-t", MONOLITH, cwd=tmp_path, check=1)
    assert test["operations"] == {"started": 5, "ok": 2, "failed": 3, "aborted": 0}
    assert counts(test).get("upload DELETE", 0) == 0
    server.end()
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    cancelled = [line["status"] for line in lines if line["method"] == "DELETE" and "/blobs/uploads/" in line["target"]]
    assert cancelled == [204] * 3


def test_mounts_on_distribution(plimsoll, docker_registry, tmp_path):
    registry = docker_registry()
    crossed, = bench(plimsoll, registry.url, "-c", 2, "-n", 10, "-t", MONOLITH, "--mount", "cross", cwd=tmp_path)
    assert counts(crossed) == {"mount POST": 20, "manifest PUT": 10}
    assert statuses(crossed, "mount POST") == {"201": 20} and crossed["notes"] == []
    assert crossed["bytes"]["body_sent"] < 100_000 and crossed["details"]["mount"] == "cross"
    # It mounts from named repositories alone; the 202 gives a session, to which the blob goes.
    anonymous, = bench(plimsoll, registry.url, "-c", 2, "-n", 10, "-t", STREAMED, "--mount", "anonymous", cwd=tmp_path)
    assert statuses(anonymous, "mount POST") == {"202": 20} and "upload POST" not in counts(anonymous)
    assert counts(anonymous)["layer PATCH"] == 10 and anonymous["upload"] == "stream"
    assert [(note["kind"], note["count"]) for note in anonymous["notes"]] == [("mount_missed", 20)]
    assert anonymous["bytes"]["body_sent"] > 10 << 20
    mixed, = bench(plimsoll, registry.url, "-n", 20, "-t", "75%.*25% Mixed 1MB", "--mount", "cross", cwd=tmp_path)
    assert mixed["operations"]["ok"] == 20 and counts(mixed)["mount POST"] == 2 * mixed["mix"]["Push"]
    assert registry.leftovers() == []


@pytest.mark.parametrize("fault, ok, answers", [
    ("mount=miss", 4, {"202": 8}),
    # A registry that knows no mounts: the blob gets a session of its own.
    ("route=upload_start; status=405; skip=2; every=2", 4, {"405": 8}),
    ("route=upload_start; status=404; skip=2; every=2", 4, {"404": 8}),
    ("route=upload_start; status=503; skip=2; every=2; count=1", 3, {"201": 6, "503": 1}),
    ("route=upload_start; status=429; skip=2; count=1", 3, {"201": 6, "429": 1}),
])
def test_every_answer_to_a_mount_is_counted(plimsoll, serve, tmp_path, fault, ok, answers):  # noqa: F811
    server = serve("--fault", fault)
    done = run(plimsoll, "bench", "-n", 4, "-t", MONOLITH, "--mount", "cross", "--result", "r.json", server.url,
               cwd=tmp_path, check=0 if ok == 4 else 1)
    test, = json.loads((tmp_path / "r.json").read_text())["tests"]
    assert test["operations"]["ok"] == ok and statuses(test, "mount POST") == answers
    line = next(line for line in done.stdout.splitlines() if line.startswith("Mounts (cross):"))
    assert all(f"{count} answered {status}" in line for status, count in answers.items())
    missed = {note["kind"]: note["count"] for note in test["notes"]}.get("mount_missed", 0)
    assert missed == sum(count for status, count in answers.items() if status in ("202", "404", "405"))
    errors = {"503": "unexpected_status", "429": "throttled"}
    assert [error["kind"] for error in test["errors"]] == [errors[s] for s in answers if s in errors]


@pytest.mark.parametrize("options", [["--upload", "fast"], ["--mount", "all"], ["--chunk-size", "big"]])
def test_bad_input_is_one_line(plimsoll, tmp_path, options):
    done = run(plimsoll, "bench", *options, "http://127.0.0.1:1", cwd=tmp_path, check=2)
    assert len(done.stderr.splitlines()) == 1 and options[0] in done.stderr
