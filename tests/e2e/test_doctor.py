"""`plimsoll doctor`: what it says of docker-registry, of `plimsoll serve`, and of one that strays on cue."""
import http.server
import json
import re
import subprocess
import threading
import time

import pytest

from conftest import ROOT, free_port, run
from proxies import PASSWORD, USER, nginx_in_front, passes_to, tls_server, token_server  # noqa: F401 (fixtures)
from serving import Client, OCI_MANIFEST, digest_of, serve, tar_layer  # noqa: F401 (serve is a fixture)

# Answers that say how a registry is run, not what it is able to do.
NEUTRAL = {"authentication", "redirects", "rate-limits", "chunk-minimum", "http-2"}


class Told:
    DOCUMENTED = set(re.findall(r"`([a-z0-9.-]+)`", (ROOT / "docs" / "doctor.md").read_text().split("## The registry")[1]))

    def __init__(self, record, done):
        assert {c["id"] for c in record["capabilities"]} <= self.DOCUMENTED
        self.done = done
        self.record = record
        self.supported = {c["id"]: c["supported"] for c in record["capabilities"]}
        self.evidence = {c["id"]: c["evidence"] for c in record["capabilities"]}
        self.strays = {f["id"]: f["summary"] for f in record["findings"]}


@pytest.fixture
def doctor(plimsoll, tmp_path):
    """doctor(url, *options, check=0) -> Told"""

    def ask(url, *options, check=0):
        done = run(plimsoll, "doctor", *options, "-o", "text", "-o", "json=d.json", url, cwd=tmp_path, check=check)
        record = json.loads((tmp_path / "d.json").read_text())
        assert len({c["id"] for c in record["capabilities"]}) == len(record["capabilities"])
        for capability in record["capabilities"]:
            assert capability["evidence"] and (capability["spec"] or capability["id"] == "server"), capability
            assert re.search(rf"^  {capability['id']} +{capability['supported']} ", done.stdout, re.M), capability
        for finding in record["findings"]:
            assert finding["context"]["spec"] and finding["severity"] == "warning"
        return Told(record, done)

    return ask


def test_docker_registry(doctor, docker_registry):
    """What is known of Distribution 2.8."""
    registry = docker_registry()
    told = doctor(registry.url)
    assert told.evidence["upload-location"].startswith("absolute, with a query that is to come back: ?_state=")
    assert told.supported["upload-post"] == "no" and told.evidence["upload-post"].startswith("202")
    assert told.supported["mount-cross"] == "yes"
    assert told.supported["mount-anonymous"] == "no" and told.evidence["mount-anonymous"].startswith("202")
    assert told.supported["referrers"] == "no" and told.evidence["referrers"].startswith("404")
    assert told.supported["subject"] == "no" and told.evidence["subject"].startswith("201")
    assert told.supported["manifest-sha512"] == "no" and told.evidence["manifest-sha512"].startswith("400 DIGEST_INVALID")
    assert told.supported["delete-tag"] == "no" and told.evidence["delete-tag"].startswith("400")
    assert told.supported["manifest-without-accept"] == "no"
    assert told.evidence["manifest-without-accept"].startswith("404 MANIFEST_UNKNOWN")
    # Content-Range and n are ignored; a 416 says a length that its body does not have.
    assert told.supported["chunk-order"] == "no" and told.supported["tags-pagination"] == "no"
    assert set(told.strays) == {"chunk-order", "tags-page-size", "range-body"}
    refused = {"upload-post", "mount-anonymous", "referrers", "subject", "manifest-sha512", "delete-tag",
               "manifest-without-accept", "chunk-order", "tags-pagination"}
    for capability, supported in told.supported.items():
        assert supported == "yes" or capability in refused | NEUTRAL, (capability, told.evidence[capability])
    assert "registry/2.0" in told.evidence["server"]
    assert registry.leftovers() == []


def test_docker_registry_without_deletes(doctor, docker_registry):
    told = doctor(docker_registry(delete=False).url)
    for kind in ("delete-tag", "delete-manifest", "delete-blob"):
        assert told.supported[kind] == "no" and told.evidence[kind].startswith("405")
    assert "refused to delete the scratch image" in told.done.stderr


@pytest.mark.parametrize("storage", ["memory", "disk"])
def test_serve_has_all_of_it(doctor, serve, tmp_path, storage):
    server = serve(*(["--root", tmp_path / "root"] if storage == "disk" else []))
    told = doctor(server.url)
    assert told.strays == {}
    assert {c for c, supported in told.supported.items() if supported != "yes"} <= NEUTRAL
    assert len(told.supported) > 45
    assert "no strays from the spec were seen" in told.done.stdout and "This machine" in told.done.stdout
    assert server.request("GET", "/v2/_catalog").content == b'{"repositories":[]}\n'


@pytest.mark.parametrize("faults, capability, supported, stray", [
    (["digest=missing"], "digest-header", "no", "digest_header_missing"),
    (["route=blob; digest=missing"], "digest-header", "partly", None),
    (["route=manifest; method=HEAD; digest=wrong"], "digest-header", "yes", "digest-header-wrong"),
    (["method=HEAD; status=405"], "head", "no", "head_unsupported"),
    (["route=upload; method=PATCH; as_status=201"], "upload-chunks", "yes", "nonstandard_status"),
    (["route=upload; method=PATCH; range=stuck"], "upload-stream", "yes", "range_mismatch"),
    (["route=upload; method=PATCH; status=405"], "upload-chunks", "no", None),
    (["route=upload; method=GET; status=405"], "upload-status", "no", None),
    (["route=upload_start; mount=miss"], "upload-post", "no", None),
    (["route=upload_start; mount=miss"], "mount-cross", "no", None),
    (["chunk_minimum=100"], "chunk-minimum", "yes", None),
    (["location=relative"], "upload-location", "yes", None),
    (["route=referrers; status=404"], "referrers", "no", "subject-without-referrers"),
    (["route=referrers; status=400"], "referrers", "no", "referrers"),
    (["route=manifest; method=PUT; without=OCI-Subject"], "subject", "no", None),
    (["route=referrers; without=OCI-Filters-Applied"], "referrers-filter", "no", None),
    (["route=tags; link=missing"], "tags-pagination", "partly", "tags-link"),
    (["method=DELETE; status=405"], "delete-manifest", "no", None),
    (["route=blob; method=DELETE; status=500"], "delete-blob", "no", "delete-blob"),
    (["method=DELETE; route=manifest; status=202"], "delete-manifest", "yes", "deleted-still-there"),
    (["header=RateLimit-Limit: 100"], "rate-limits", "yes", None),
    (["route=blob; method=GET; status=401"], "absent-is-404", "partly", "absent-is-404"),
    (["route=catalog; status=404"], "catalog", "no", None),
])
def test_strays_are_told(doctor, serve, faults, capability, supported, stray):
    server = serve(*(word for fault in faults for word in ("--fault", fault)))
    plain = "method=GET; status=401" not in faults[0]
    told = doctor(server.url, check=0 if plain else 1)
    assert told.supported[capability] == supported, told.evidence[capability]
    assert (stray in told.strays) if stray else not told.strays, told.strays
    if stray:
        assert f"  {stray}: " in told.done.stdout.split("Strays from the spec")[1]


def test_a_registry_that_cannot_be_pushed_to_or_pulled_from(doctor, serve):
    told = doctor(serve("--read-only").url, check=1)
    assert told.supported["push"] == "no" and "pull" not in told.supported
    told = doctor(serve("--fault", "route=blob; method=GET; truncate=5").url, check=1)
    assert told.supported["push"] == "yes" and told.supported["pull"] == "no"


def test_redirects_and_to_where(doctor, serve):
    first, second = (f"127.0.0.1:{free_port()}" for _ in range(2))
    server = serve("--listen", first, "--listen", second, "--fault", f"host={first}; route=blob; method=GET; redirect=http://{second}")
    told = doctor(f"http://{first}")
    assert told.supported["redirects"] == "yes" and told.evidence["redirects"] == f"blobs: 307 to http://{second}"
    assert told.strays == {} and server.process.poll() is None


def test_read_only(doctor, serve, tmp_path):
    server = serve()
    before = Client(server.port)
    before.push_image("team/app", "v1", tar_layer(tmp_path, 50_000))
    log = []
    for options in (["--read-only"], ["--read-only", "--repo", "team/app"]):
        told = doctor(server.url, *options)
        for capability in ("pull", "head", "digest-header", "ranges", "absent-is-404", "tags", "referrers"):
            assert told.supported[capability] == "yes", (capability, told.evidence[capability])
        assert told.strays == {}
        assert not {c for c in told.supported if c.startswith(("upload", "delete", "mount", "push", "type"))}
        log.append(server.request("GET", "/v2/_catalog").content)
    assert log == [b'{"repositories":["team/app"]}\n'] * 2
    assert doctor(serve().url, "--read-only").supported["pull"] == "unknown"


def test_tls_tokens_and_protocols(doctor, docker_registry, token_server, nginx_in_front, certificate):
    tokens = token_server()
    front, both = free_port(), free_port()
    registry = docker_registry(extra={"auth": tokens.auth(f"https://127.0.0.1:{front}/token")})
    body = f"location / {{ {passes_to(registry.port)} }} location /token {{ proxy_pass http://127.0.0.1:{tokens.port}; }}"
    nginx_in_front(front, tls_server(front, certificate, body) + tls_server(both, certificate, body).replace(" ssl;", " ssl http2;", 1))
    told = doctor(f"https://127.0.0.1:{front}", "--cacert", certificate[0], "-A", f"{USER}:{PASSWORD}")
    assert re.fullmatch(rf"Bearer, tokens from https://127.0.0.1:{front}/token, service registry.test, in [0-9.]+ ms; we are let in",
                        told.evidence["authentication"])
    assert told.supported["http-2"] == "no" and told.evidence["http-2"] == "offered by ALPN, and http/1.1 was chosen"
    assert told.record["targets"][0]["tls"].startswith("TLSv1.")
    assert PASSWORD not in told.done.stdout + told.done.stderr + json.dumps(told.record)
    told = doctor(f"https://127.0.0.1:{both}", "--cacert", certificate[0], "--read-only", "-A", f"{USER}:{PASSWORD}")
    assert told.supported["http-2"] == "yes" and told.evidence["http-2"] == "ALPN chose h2: it answers with SETTINGS"
    assert told.supported["http-1.1"] == "yes"


@pytest.mark.parametrize("seconds, summary", [(-3600, "behind ours"), (3600, "ahead of ours"), (0, None)])
def test_clock_skew(doctor, seconds, summary):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            found = self.path == "/v2/"
            self.send_response(200 if found else 404)
            self.send_header("Content-Length", "2" if found else "0")
            self.end_headers()
            self.wfile.write(b"{}" if found else b"")

        def date_time_string(self, timestamp=None):
            return super().date_time_string(time.time() + seconds)

        def log_message(self, *args):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        told = doctor(f"http://127.0.0.1:{server.server_address[1]}", "--read-only")
    finally:
        server.shutdown()
        server.server_close()
    assert told.supported["clock"] == ("yes" if summary is None else "no")
    assert told.strays == {} if summary is None else summary in told.strays["clock-skew"]


def test_of_the_machine(plimsoll, tmp_path):
    done = run(plimsoll, "doctor", cwd=tmp_path, check=0)
    for line in ("descriptors", "local ports", "accept queue", "congestion control", "io_uring",
                 "CPU governor", "cores", "load", "stolen time", "memory"):
        assert re.search(rf"^  {line} +\S", done.stdout, re.M), line
    limited = subprocess.run(["bash", "-c", f"ulimit -n 256; exec {plimsoll} doctor"], capture_output=True, text=True,
                             timeout=30, cwd=tmp_path)
    assert "raise ulimit -n" in limited.stdout


@pytest.mark.parametrize("url, words", [("http://127.0.0.1:1", "connection refused"), ("nonsense", "not a registry's URL")])
def test_what_is_no_registry(plimsoll, tmp_path, url, words):
    done = run(plimsoll, "doctor", url, cwd=tmp_path, check=2)
    assert words in done.stderr and len(done.stderr.splitlines()) == 1
