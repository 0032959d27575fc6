"""`plimsoll bench` against registries that throttle and fail: counted, repeated only when asked for, waits in the record."""
import json
import signal
import subprocess
import time

import pytest

from conftest import run
from serving import serve  # noqa: F401: a fixture

PULL = "^Pull 1MB$"


def bench(plimsoll, url, *options, cwd, check=0):
    done = run(plimsoll, "bench", "-o", "json", *options, url, cwd=cwd, check=check)
    return json.loads(done.stdout)["tests"][0]


def statuses(test, step):
    return next((s["statuses"] for s in test["steps"] if s["name"] == step), {})


def waits(test):
    return test["parts"]["waiting"]


def noted(test, kind):
    return {note["kind"]: note["count"] for note in test["notes"]}.get(kind, 0)


@pytest.mark.parametrize("status, kind", [
    (429, "throttled"), (408, "unexpected_status"), (500, "unexpected_status"), (502, "unexpected_status"),
    (503, "unexpected_status"), (504, "unexpected_status"),
])
def test_without_retries_each_is_an_error(plimsoll, serve, tmp_path, status, kind):  # noqa: F811
    server = serve("--fault", f"route=blob; method=GET; status={status}; every=4")
    test = bench(plimsoll, server.url, "-n", 8, "-t", PULL, cwd=tmp_path, check=1)
    assert [(error["kind"], test["operations"]["failed"]) for error in test["errors"]] == [(kind, error["count"])
                                                                                         for error in test["errors"]]
    assert test["operations"]["failed"] >= 3 and test["operations"]["ok"] + test["operations"]["failed"] == 8
    answered = [statuses(test, step).get(str(status), 0) for step in ["config GET", "layer GET"]]
    assert sum(answered) == test["operations"]["failed"] == test["statuses"][str(status)]
    assert str(status) in test["errors"][0]["sample"]["text"] and test["parts"] == {}


@pytest.mark.parametrize("fault", ["status=429; retry_after=0", "status=408", "status=503; retry_after=date:0", "truncate=50"])
def test_retries_are_counted_beside_what_they_cost(plimsoll, serve, tmp_path, fault):  # noqa: F811
    server = serve("--fault", f"route=blob; method=GET; {fault}; every=5; count=6")
    test = bench(plimsoll, server.url, "-n", 4, "-t", PULL, "--retries", 3, cwd=tmp_path)
    assert test["operations"] == {"started": 4, "ok": 4, "failed": 0, "aborted": 0} and test["errors"] == []
    attempts = noted(test, "retried")
    assert attempts >= 1 and waits(test)["count"] == attempts
    # What was repeated stands in the steps too: four pulls of two blobs, and the repeats.
    blobs = sum(step["count"] for step in test["steps"] if step["name"] in ("config GET", "layer GET"))
    assert blobs == 8 + attempts


def test_as_many_as_asked_for_and_no_more(plimsoll, serve, tmp_path):  # noqa: F811
    server = serve("--fault", "route=blob; method=GET; status=503; retry_after=0")
    test = bench(plimsoll, server.url, "-n", 2, "-t", PULL, "--retries", 2, cwd=tmp_path, check=1)
    assert statuses(test, "config GET") == {"503": 6} and test["operations"]["failed"] == 2
    assert noted(test, "retried") == waits(test)["count"] == 4
    assert test["errors"][0]["kind"] == "unexpected_status" and test["errors"][0]["count"] == 2


def test_retries_that_were_not_needed(plimsoll, serve, tmp_path):  # noqa: F811
    test = bench(plimsoll, serve().url, "-n", 2, "-t", PULL, "--retries", 2, cwd=tmp_path)
    assert waits(test)["count"] == 0 and test["notes"] == []


@pytest.mark.parametrize("form", ["1", "date:2"])
def test_retry_after_is_respected_in_both_forms(plimsoll, serve, tmp_path, form):  # noqa: F811
    fault = f"route=blob; method=GET; status=429; retry_after={form}; count=1"
    # Repeated, after what was asked for.
    test = bench(plimsoll, serve("--fault", fault).url, "-n", 3, "-t", PULL, "--retries", 1, "--respect-retry-after",
                 cwd=tmp_path)
    assert test["operations"]["ok"] == 3 and noted(test, "retried") == 1
    assert waits(test)["count"] == 1 and 0.9 <= waits(test)["min"] and test["latency_s"]["max"] >= 0.9
    # Not repeated: the failed operation is one, and the next waits.
    test = bench(plimsoll, serve("--fault", fault).url, "-n", 3, "-t", PULL, "--respect-retry-after", cwd=tmp_path, check=1)
    assert [(error["kind"], error["count"]) for error in test["errors"]] == [("throttled", 1)]
    assert noted(test, "retried") == 0 and waits(test)["count"] == 1
    assert 0.9 <= waits(test)["min"] and test["latency_s"]["max"] >= 0.9
    # Not respected.
    test = bench(plimsoll, serve("--fault", fault).url, "-n", 3, "-t", PULL, cwd=tmp_path, check=1)
    assert test["parts"] == {} and test["operations"]["failed"] == 1


def test_a_throttling_token_server_is_waited_for(plimsoll, serve, tmp_path):  # noqa: F811
    faults = ["--fault", "route=token; status=429; skip=1; count=1"]
    test = bench(plimsoll, serve("--token-auth", *faults).url, "-n", 3, "-t", "^Push Monolith 1MB$", "--retries", 2,
                 cwd=tmp_path)
    assert test["operations"]["ok"] == 3 and statuses(test, "token") == {"200": 3, "429": 1}
    assert noted(test, "retried") == 1
    test = bench(plimsoll, serve("--token-auth", *faults).url, "-n", 3, "-t", "^Push Monolith 1MB$", cwd=tmp_path, check=1)
    assert [(error["kind"], error["count"]) for error in test["errors"]] == [("throttled", 1)]


def test_a_long_wait_ends_with_the_run(plimsoll, serve, tmp_path):  # noqa: F811
    server = serve("--fault", "route=blob; method=GET; status=429; retry_after=500; skip=2")
    process = subprocess.Popen([plimsoll, "bench", "-n", "50", "-t", PULL, "--retries", "5", "--respect-retry-after",
                                "--result", "r.json", server.url], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    test = json.loads((tmp_path / "r.json").read_text())["tests"][0]
    assert test["operations"]["aborted"] == 1 and test["operations"]["failed"] == 0
    assert "Part waiting:" in out


def test_the_report_says_it(plimsoll, serve, tmp_path):  # noqa: F811
    server = serve("--fault", "route=blob; method=GET; status=503; retry_after=0; every=5; count=2")
    done = run(plimsoll, "bench", "-n", 4, "-t", PULL, "--retries", 1, server.url, cwd=tmp_path, check=0)
    assert "Note retried:" in done.stdout and "attempt 2 after status 503" in done.stdout
    assert any(line.startswith("Part waiting:") for line in done.stdout.splitlines())
