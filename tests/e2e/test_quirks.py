"""Every quirk of docs/quirks.md that the whole program can be shown: `plimsoll serve --fault` misbehaves, `plimsoll bench` measures.

Tests bear the quirk's name. What is asserted stands in the result record, as a user would read it there.
"""
import json
import re
import socket
import threading

import pytest

from conftest import ROOT, free_port, run
from serving import Client, digest_of, serve, tar_layer  # noqa: F401 (serve is a fixture)

PUSH, STREAM, PULL = "^Push Monolith 1MB$", "^Push Chunk Streamed 1MB$", "^Pull 1MB$"
BASIC_ONCE = 'count=1; status=401; header=WWW-Authenticate: Basic realm="x"'


@pytest.fixture
def bench(plimsoll, tmp_path):
    """bench(url, tests, *options, check=0) -> the record's tests; .done is the ended program."""

    def measure(url, tests, *options, check=0):
        measure.done = run(plimsoll, "bench", "-n", 4, "-c", 2, "-t", tests, *options, "-o", "json=q.json", "--quiet", url,
                           cwd=tmp_path, check=check)
        if check == 2:
            return []
        return json.loads((tmp_path / "q.json").read_text())["tests"]

    return measure


def counts(entries):
    return {e["kind"]: e["count"] for e in entries}


def steps(test):
    return {s["name"]: s["count"] for s in test["steps"] if s["count"]}


def statuses(test, step):
    found = [s["statuses"] for s in test["steps"] if s["name"] == step]
    return found[0] if found else {}


def all_good(tests, notes=None):
    """Every operation went well; beyond `notes` nothing strayed."""
    assert tests
    for test in tests:
        assert test["operations"]["ok"] == test["operations"]["started"] == 4, (test["name"], test["errors"])
        assert test["errors"] == []
        assert set(counts(test["notes"])) == set(notes or ()), test["name"]
    return tests


def all_failed(tests, kind):
    for test in tests:
        assert test["operations"]["failed"] == 4
        assert counts(test["errors"]) == {kind: 4}, test["errors"]
        assert test["failed_latency_s"]["count"] == 4 and test["latency_s"]["count"] == 0
    return [test["errors"][0]["sample"] for test in tests]


@pytest.mark.parametrize("form", ["absolute", "relative", "dotted", "network"])
def test_c1_location_in_every_form(bench, serve, form):
    server = serve("--fault", f"location={form}")
    all_good(bench(server.url, f"{PUSH}|{STREAM}|{PULL}"))


@pytest.mark.parametrize("form", ["empty", "missing"])
def test_c1_session_without_a_location(bench, serve, form):
    server = serve("--fault", f"route=upload_start; location={form}")
    [sample] = all_failed(bench(server.url, PUSH, check=1), "protocol")
    assert "Location" in sample["text"] and sample["request"].startswith("POST /v2/")


@pytest.mark.parametrize("more", [[], ["--upload", "chunk", "--chunk-size", "256KiB"], ["--upload", "post"]])
def test_c2_query_of_the_location(bench, serve, more):
    server = serve("--fault", "location=query", "--fault", "route=upload_start; mount=miss")
    all_good(bench(server.url, f"{PUSH}|{STREAM}", *more))


def test_c4_a_client_that_loses_the_query_fails(bench, serve):
    """The failure class of zb and of others: what they do is refused here, what we do is not."""
    server = serve("--fault", "location=query")
    location = server.request("POST", "/v2/a/blobs/uploads/").headers["Location"]
    assert location.endswith("?_state=a%2Bb%3D%3D")
    for lost in [location.split("?")[0] + "?", location.replace("%2B", "+") + "&", location + "?"]:
        assert server.request("PUT", f"{lost}digest={digest_of(b'x')}", b"x").status == 404
    assert server.request("PUT", f"{location}&digest={digest_of(b'x')}", b"x").status == 201
    all_good(bench(server.url, PUSH))


@pytest.fixture
def two_origins(serve):
    """two_origins(*rules) -> (server, first origin, second origin): one registry at two ports. In rules, FIRST and SECOND stand for them."""

    def start(*rules, options=()):
        first, second = (f"127.0.0.1:{port}" for port in (free_port(), free_port()))
        faults = [f for rule in rules for f in ("--fault", rule.replace("FIRST", first).replace("SECOND", second))]
        server = serve("--listen", first, "--listen", second, *options, *faults)
        return server, f"http://{first}", f"http://{second}"

    return start


@pytest.mark.parametrize("tests", [PUSH, STREAM])
def test_c6_uploads_at_another_host_carry_no_credentials(bench, two_origins, tests):
    _, first, _ = two_origins(f"route=upload_start; {BASIC_ONCE}", "route=upload_start; location=http://SECOND",
                              "host=SECOND; reject_authorization")
    [test] = all_good(bench(first, tests, "-A", "ann:secret", "-c", 1))
    # The first answer was the challenge: from then on the registry itself was told who asks.
    assert statuses(test, "upload POST") == {"401": 1, "202": 8}


def test_c7_wrong_scheme_behind_a_proxy(bench, serve, certificate):
    ca, cert, key = certificate
    port = free_port()
    server = serve("--listen", f"127.0.0.1:{port}", "--tls-cert", cert, "--tls-key", key, "--fault",
                   f"route=upload_start; location=http://127.0.0.1:{port}")
    [sample] = all_failed(bench(f"https://127.0.0.1:{port}", PUSH, "--cacert", ca, check=1), "protocol")
    assert f"Location: http://127.0.0.1:{port}/v2/" in sample["text"]
    assert server.process.poll() is None
    # The other way round: a registry in clear that believes itself behind TLS.
    server = serve("--fault", "route=upload_start; location=https")
    [sample] = all_failed(bench(server.url, PUSH, check=1), "tls")
    assert f"https://{server.host}/v2/" in sample["request"]


def test_c10_single_post_answered_202(bench, serve):
    direct, detour = serve(), serve("--fault", "route=upload_start; mount=miss")
    [test] = all_good(bench(direct.url, PUSH, "--upload", "post"))
    assert steps(test) == {"layer POST": 4, "config POST": 4, "manifest PUT": 4}
    [test] = all_good(bench(detour.url, PUSH, "--upload", "post"))
    assert test["upload"] == "post"
    assert steps(test) == {"layer POST": 4, "config POST": 4, "layer PUT": 4, "config PUT": 4, "manifest PUT": 4}
    assert statuses(test, "layer POST") == {"202": 4} and statuses(test, "layer PUT") == {"201": 4}


def test_c12_digest_header(bench, serve):
    [test] = all_good(bench(serve("--fault", "digest=missing").url, PULL), ["digest_header_missing"])
    assert counts(test["notes"]) == {"digest_header_missing": 8}  # HEAD and GET of the manifest
    all_good(bench(serve("--fault", "route=manifest; method=GET; digest=sha512").url, PULL))
    for rule in ("route=manifest; method=GET", "route=blob; method=GET", "route=manifest; method=PUT"):
        tests = PUSH if "PUT" in rule else PULL
        [sample] = all_failed(bench(serve("--fault", f"{rule}; digest=wrong").url, tests, check=1), "digest_mismatch")
        assert sample["request"]


def test_c14_accept(bench, docker_registry):
    """docker-registry answers by Accept: to a GET without one an OCI manifest is 404."""
    registry = docker_registry()
    [test] = all_good(bench(registry.url, PULL, "--skip-cleanup"))
    assert statuses(test, "manifest GET") == {"200": 4}
    name = registry.get("/v2/_catalog")["repositories"][0]
    done = run("curl", "-sS", "-o", "/dev/null", "-w", "%{http_code}", "-H", "Accept: application/json",
               f"{registry.url}/v2/{name}/manifests/latest", check=0)
    assert done.stdout == "404"


@pytest.mark.parametrize("form", ["stuck", "zero", "last_chunk", "off_by_one", "missing", "bytes"])
def test_c21_range_of_a_patch(bench, serve, form):
    server = serve("--fault", f"route=upload; method=PATCH; range={form}")
    notes = [] if form in ("missing", "bytes") else ["range_mismatch"]
    [test] = all_good(bench(server.url, STREAM, "--chunk-size", "256KiB"), notes)
    assert test["upload"] == "chunk" and statuses(test, "layer PATCH") == {"202": 16}


def test_c23_chunk_minimum(bench, serve):
    server = serve("--fault", "chunk_minimum=524288")
    [test] = all_good(bench(server.url, STREAM, "--chunk-size", "64KiB"))
    assert statuses(test, "layer PATCH") == {"202": 8}  # two chunks a layer


@pytest.mark.parametrize("more", [[], ["--chunk-size", "300KiB"]])
def test_c25_newest_location(bench, serve, more):
    all_good(bench(serve("--fault", "location=rotating").url, f"{PUSH}|{STREAM}", *more))


@pytest.mark.parametrize("form", ["unquoted", "lowercase", "no_scope", "two_fields", "one_field", "negotiate"])
def test_c27_challenges(bench, serve, htpasswd, form):
    server = serve("--htpasswd", htpasswd, "--token-auth", "--fault", f"challenge={form}")
    push, pull = all_good(bench(server.url, f"{PUSH}|{PULL}", "-A", "ann:s:e:c"))
    # Asking for a token is a step of its own, so that a slow token server shows.
    assert steps(push)["token"] == 4 and steps(pull)["token"] >= 1


def test_c27_basic_among_others(bench, serve, htpasswd):
    server = serve("--htpasswd", htpasswd, "--fault", "challenge=negotiate")
    [test] = all_good(bench(server.url, PULL, "-A", "ann:s:e:c"))
    assert "token" not in steps(test)


@pytest.mark.parametrize("form", ["token", "access_token", "no_expiry", "zero_expiry", "text_expiry"])
def test_c28_token_replies(bench, serve, htpasswd, form):
    server = serve("--htpasswd", htpasswd, "--token-auth", "--fault", f"token={form}")
    all_good(bench(server.url, f"{PUSH}|{PULL}", "-A", "ann:s:e:c"))


def test_c29_token_that_ends_during_an_upload(bench, serve, htpasswd):
    server = serve("--htpasswd", htpasswd, "--token-auth", "--token-lifetime", "1s", "--fault",
                   "route=upload; method=PUT; count=1; latency=2100ms")
    tests = bench(server.url, STREAM, "-n", 1, "-c", 1, "-A", "ann:s:e:c")
    assert tests[0]["operations"]["ok"] == 1 and counts(tests[0]["notes"]) == {"reauthorized": 1}
    # Only the closing PUT was sent again, not what had been uploaded before.
    assert statuses(tests[0], "layer PATCH") == {"202": 1}
    assert statuses(tests[0], "layer PUT") == {"401": 1, "201": 1}
    assert statuses(tests[0], "token") == {"200": 2}


def test_c31_every_scope_has_its_token(bench, serve, htpasswd):
    server = serve("--htpasswd", htpasswd, "--token-auth")
    [test] = all_good(bench(server.url, "^Pull 75% and Push 25% Mixed 1MB$", "-A", "ann:s:e:c", "-c", 1, "--seed", 3))
    assert statuses(test, "token").keys() == {"200"}
    assert "s:e:c" not in json.dumps(test)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_c32_blobs_from_storage_carry_no_credentials(bench, two_origins, status):
    _, first, _ = two_origins(f"host=FIRST; route=upload_start; {BASIC_ONCE}",
                              f"host=FIRST; route=blob; method=GET; redirect=http://SECOND; as_status={status}",
                              "host=SECOND; reject_authorization")
    [test] = all_good(bench(first, PULL, "-A", "ann:secret", "-c", 1))
    # Hops are steps of their own: the registry's and the storage's times stay apart.
    assert statuses(test, "layer GET") == {str(status): 4} and statuses(test, "storage") == {"200": 8}


def test_c33_redirected_head_is_found(bench, two_origins):
    _, first, _ = two_origins("host=FIRST; route=blob; redirect=http://SECOND", "host=SECOND; method=HEAD; status=403")
    [test] = all_good(bench(first, PULL))
    assert statuses(test, "layer HEAD") == {"307": 4} and statuses(test, "storage") == {"200": 8}


def test_c33_expired_signature(bench, two_origins):
    rules = ["host=FIRST; route=blob; method=GET; redirect=http://SECOND"]
    _, first, _ = two_origins(*rules, "host=SECOND; method=GET; count=1; status=403")
    [test] = all_good(bench(first, PULL, "-c", 1))
    assert statuses(test, "storage") == {"403": 1, "200": 8}
    _, first, _ = two_origins(*rules, "host=SECOND; method=GET; status=403")
    [sample] = all_failed(bench(first, PULL, check=1), "unauthorized")
    assert "403" in sample["text"]


@pytest.mark.parametrize("more", ["retry_after=1", "retry_after=date:1", "", "body=<html><title>Slow down</title></html>"])
def test_c35_throttling(bench, serve, more):
    server = serve("--fault", f"route=manifest; method=GET; status=429; {more}")
    tests = bench(server.url, PULL, check=1)
    [sample] = all_failed(tests, "throttled")
    assert "429" in sample["text"] and statuses(tests[0], "manifest GET") == {"429": 4}
    assert tests[0]["statuses"] == {"429": 4}


def test_c35_retries_stand_in_the_record(bench, serve):
    server = serve("--fault", "route=manifest; method=GET; every=2; status=429; retry_after=0")
    [test] = all_good(bench(server.url, PULL, "--retries", 2, "-c", 1), ["retried"])
    assert counts(test["notes"]) == {"retried": 4}
    assert statuses(test, "manifest GET") == {"429": 4, "200": 4}


@pytest.mark.parametrize("rule, left", [
    ("status=405", 4), ("status=400", 4),
    ("route=manifest; status=404", 0),  # it is gone already
    ("route=blob; status=404", 0), ("route=blob; status=405", 0),
    ("route=manifest; status=202", 4),  # says so, and the tag still resolves
    ("status=500", 4), ("reset", 4),
])
def test_c36_deletes_that_are_refused(bench, serve, rule, left):
    server = serve("--fault", f"method=DELETE; {rule}")
    [test] = all_good(bench(server.url, PUSH))
    warned = f"did not delete {left} of the images" in bench.done.stderr
    assert warned == (left > 0), bench.done.stderr
    assert test["details"].get("left_behind") == (str(left) if left else None)


def test_c37_deletes_by_digest_and_nothing_else(bench, serve, tmp_path):
    log = tmp_path / "access"
    server = serve("--access-log", log)
    foreign = Client(server.port).push_image("kept/app", "v1", tar_layer(tmp_path, 1000))
    all_good(bench(server.url, f"{PUSH}|{PULL}", "-r", "kept"))
    server.end()
    deleted = re.findall(r'"DELETE (\S+)', log.read_text())
    assert len([path for path in deleted if "/manifests/" in path]) == 4 + 2
    for path in deleted:
        assert re.fullmatch(r"/v2/kept/plimsoll-[0-9a-f]+-\d+-\d+/(manifests|blobs)/sha256:[0-9a-f]{64}", path), path
        assert digest_of(foreign) not in path


@pytest.mark.parametrize("form", ["", "; link=absolute", "; link=unquoted", "; link=several"])
def test_c38_pages_of_the_catalog(bench, serve, form):
    server = serve("--fault", f"page=1{form}")
    [test] = all_good(bench(server.url, "^Get Catalog$"))
    # Each listing is as many pages as there are repositories, and each page a step.
    assert statuses(test, "catalog GET") == {"200": 4 * 4}


@pytest.mark.parametrize("name", ["UPPER", "a//b", "a/", "-a", "a..b", "a b", "ä"])
def test_c39_names_are_checked_before_the_run(plimsoll, tmp_path, name):
    done = run(plimsoll, "bench", f"--repo={name}", f"http://127.0.0.1:{free_port()}", cwd=tmp_path, check=2)
    assert name in done.stderr and len(done.stderr.splitlines()) == 1


@pytest.mark.parametrize("framing", ["no_length", "chunked=1000", "http10", "http10; no_length"])
def test_c41_answers_without_a_length(bench, serve, framing):
    server = serve("--fault", f"route=blob; {framing}", "--fault", f"route=manifest; {framing}")
    all_good(bench(server.url, f"{PUSH}|{PULL}"))


def test_c44_trailers_leave_the_connection_usable(bench, serve):
    server = serve("--fault", "chunked=50000; trailer=ETag: x; trailer=X-Sum: y")
    push, pull = all_good(bench(server.url, f"{PUSH}|{PULL}", "-c", 1))
    assert push["connections"]["opened"] == pull["connections"]["opened"] == 1
    assert push["connections"]["reconnected"] == pull["connections"]["reconnected"] == 0


def test_c50_a_server_that_never_answers(plimsoll, serve, tmp_path):
    server = serve("--fault", "latency=1h", "--drain", "0s")
    run(plimsoll, "http", "-c", 2, "-n", 6, "--timeout", "300ms", "-o", "json=q.json", server.url + "/x", cwd=tmp_path, check=1)
    test = json.loads((tmp_path / "q.json").read_text())["tests"][0]
    assert counts(test["errors"]) == {"timeout": 6} and test["operations"]["failed"] == 6
    # Each is recorded at its limit, as it happens, and the slowest is what the last percentile says.
    failed = test["failed_latency_s"]
    assert failed["count"] == 6 and failed["min"] >= 0.3 and failed["p99"] == failed["max"]


def test_c51_connections_that_are_refused(plimsoll, serve, tmp_path):
    """Of six connections (two looks at the port among them) the later ones are reset: the record says how many really worked."""
    server = serve("--fault", "refuse; skip=4", "--fault", "latency=20ms")
    for _ in range(2):
        assert server.request("GET", "/v2/").status == 200
    run(plimsoll, "http", "-c", 4, "--duration", "1s", "-k", "-o", "json=q.json", server.url + "/v2/", cwd=tmp_path, check=1)
    test = json.loads((tmp_path / "q.json").read_text())["tests"][0]
    assert test["operations"]["ok"] > 0 and set(counts(test["errors"])) <= {"connect_refused", "reset", "closed"}
    # Two of four workers have a connection: what went well is theirs.
    assert test["operations"]["ok"] * test["latency_s"]["mean"] == pytest.approx(2, abs=0.4)
    # Every second one, again and again: whoever is refused comes back, and in the end all work.
    server = serve("--fault", "refuse; every=2", "--fault", "latency=20ms")
    run(plimsoll, "http", "-c", 4, "-n", 60, "-k", "-o", "json=q.json", server.url + "/v2/", cwd=tmp_path, check=1)
    test = json.loads((tmp_path / "q.json").read_text())["tests"][0]
    assert test["operations"]["started"] == 60 == test["operations"]["ok"] + test["operations"]["failed"]
    assert test["operations"]["failed"] == sum(counts(test["errors"]).values()) >= 2
    assert 1 < test["checks"]["concurrency_reached"] <= 4.05


@pytest.mark.parametrize("answer", ["status=404", "status=200; body=<html>it works</html>", "status=404; body=<html>no</html>"])
def test_c56_not_a_registry(bench, serve, answer):
    server = serve("--fault", f"route=ping; {answer}")
    bench(server.url, PUSH, check=2)
    assert "not a registry" in bench.done.stderr and len(bench.done.stderr.splitlines()) == 1


def test_c58_first_pulls_are_kept_apart(bench, serve):
    """A cache that fetches from elsewhere: the first HEAD of each of two manifests takes 200 ms."""
    server = serve("--fault", "route=manifest; method=HEAD; count=2; latency=200ms")
    [test] = bench(server.url, "^On-demand Sync 100MB$", "-n", 2, "-c", 1, "-u", server.url)
    parts = test["parts"]
    assert test["operations"]["ok"] == 2 and parts["cold"]["count"] == parts["warm"]["count"] == 2
    # The rate and the latency are the cold pulls' alone.
    assert parts["cold"]["min"] >= 0.2 and test["latency_s"] == parts["cold"]


def test_the_table_and_the_tests_name_each_other():
    rows = re.findall(r"^\| C(\d+) \|.*\| ([^|]+) \|$", (ROOT / "docs" / "quirks.md").read_text(), re.M)
    named = {int(number): set(re.findall(r"`([^`]+)`", tests)) for number, tests in rows}
    assert len(named) == len(rows) >= 35 and all(named.values())
    there = set()
    for source in (ROOT / "src").rglob("*_test.cc"):
        there |= {f"{suite}.{name}" for suite, name in re.findall(r"^TEST(?:_[FP])?\((\w+), (\w+)\)", source.read_text(), re.M)}
    for source in (ROOT / "tests" / "e2e").glob("test_*.py"):
        there |= {f"{source.name}::{name}" for name in re.findall(r"^def (test_\w+)\(", source.read_text(), re.M)}
    for number, tests in named.items():
        assert tests <= there, f"C{number} names what is not there: {tests - there}"
    for test in there:
        bears = re.search(r"\.C(\d+)[A-Z]|::test_c(\d+)_", test)
        if bears:
            number = int(bears[1] or bears[2])
            assert test in named.get(number, ()), f"{test} is not in the row of C{number}"
