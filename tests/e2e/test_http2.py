"""HTTP/2 between real peers: nginx, nghttpd's kin h2load and curl, docker-registry behind nginx, and our own server."""
import json
import os
import re
import shutil
import subprocess

import pytest

from conftest import end, free_port, run, wait_for_port
from serving import serve  # noqa: F401: a fixture


@pytest.fixture
def nginx(tmp_path):
    """nginx(locations, tls=None) -> port; speaks HTTP/2, over TLS by ALPN or in clear by prior knowledge."""
    program = shutil.which("nginx") or "/usr/sbin/nginx"
    running = []

    def start(locations, tls=None, http2=True, keepalive_requests=1_000_000):
        port = free_port()
        folder = tmp_path / f"nginx-{port}"
        folder.mkdir()
        certificate = f"ssl_certificate {tls.certificate}; ssl_certificate_key {tls.key};" if tls else ""
        config = folder / "nginx.conf"
        config.write_text(f"""
            daemon off; {"user root;" if os.getuid() == 0 else ""} worker_processes 1; pid {folder}/pid; error_log stderr;
            events {{ worker_connections 1024; }}
            http {{
              access_log off; client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy;
              fastcgi_temp_path {folder}/f; uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
              client_max_body_size 0; keepalive_requests {keepalive_requests};
              server {{
                listen 127.0.0.1:{port} {"ssl" if tls else ""} {"http2" if http2 else ""};
                {certificate}
                {locations}
              }}
            }}""")
        process = subprocess.Popen([program, "-c", str(config), "-p", str(folder)], stdout=subprocess.DEVNULL,
                                   stderr=subprocess.DEVNULL)
        running.append(process)
        wait_for_port(port, process)
        return port

    yield start
    for process in running:
        end(process)


class Certificate:
    def __init__(self, folder):
        self.certificate = folder / "server.pem"
        self.key = folder / "server.key"
        run("openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
            "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1", "-keyout", self.key, "-out",
            self.certificate, check=0)


@pytest.fixture
def certificate(tmp_path):
    return Certificate(tmp_path)


def files(tmp_path):
    folder = tmp_path / "files"
    folder.mkdir()
    (folder / "small").write_bytes(b"s" * 612)
    with open(folder / "large", "wb") as large:
        large.truncate(100 << 20)
    return folder


def loaded(plimsoll, tmp_path, *options, check=0):
    result = tmp_path / "result.json"
    done = run(plimsoll, "http", *options, "--seed", "1", "--result", result, check=check)
    return json.loads(result.read_text()), done.stdout


@pytest.mark.parametrize("io", ["epoll", "uring"])
def test_nginx_over_tls_and_in_clear(plimsoll, tmp_path, nginx, certificate, io):
    folder = files(tmp_path)
    for tls in (certificate, None):
        port = nginx(f"root {folder};", tls)
        scheme = "https" if tls else "http"
        verify = ["--cacert", certificate.certificate] if tls else []
        record, text = loaded(plimsoll, tmp_path, f"{scheme}://127.0.0.1:{port}/small", "-n", 2000, "-c", 2, "--http2",
                              "--streams", 8, "--io", io, *verify)
        test = record["tests"][0]
        assert record["targets"][0]["protocol"] == "HTTP/2"
        assert test["operations"]["ok"] == 2000 and test["operations"]["failed"] == 0
        assert test["connections"]["opened"] == 2
        assert test["concurrency"] == 16
        assert test["bytes"]["body_received"] == 2000 * 612
        assert re.search(r"^Concurrency Level: +16$", text, re.M)


def test_a_body_of_100_mib_does_not_stall(plimsoll, tmp_path, nginx, certificate):
    port = nginx(f"root {files(tmp_path)};", certificate)
    record, _ = loaded(plimsoll, tmp_path, f"https://localhost:{port}/large", "-n", 4, "-c", 1, "--http2", "--streams", 2,
                       "--cacert", certificate.certificate)
    assert record["tests"][0]["operations"]["ok"] == 4
    assert record["tests"][0]["bytes"]["body_received"] == 400 << 20


def test_what_a_goaway_leaves_out_is_sent_again(plimsoll, tmp_path, nginx):
    # nginx says GOAWAY after so many requests of a connection.
    port = nginx(f"root {files(tmp_path)};", keepalive_requests=50)
    record, _ = loaded(plimsoll, tmp_path, f"http://127.0.0.1:{port}/small", "-n", 1000, "-c", 1, "--http2", "--streams", 10)
    test = record["tests"][0]
    assert test["operations"]["ok"] == 1000, test["errors"]
    assert test["connections"]["opened"] >= 20
    assert test["connections"]["reconnected"] >= 19


def test_a_server_without_http2_is_an_error(plimsoll, tmp_path, nginx, certificate):
    port = nginx(f"root {files(tmp_path)};", certificate, http2=False)
    record, _ = loaded(plimsoll, tmp_path, f"https://127.0.0.1:{port}/small", "-n", 2, "--http2", "--cacert",
                       certificate.certificate, check=2)
    assert {error["kind"] for error in record["tests"][0]["errors"]} <= {"tls", "protocol"}
    assert record["tests"][0]["operations"]["failed"] == 2
    port = nginx(f"root {tmp_path}/files;", http2=False)
    record, _ = loaded(plimsoll, tmp_path, f"http://127.0.0.1:{port}/small", "-n", 2, "--http2", check=1)
    assert [error["kind"] for error in record["tests"][0]["errors"]] == ["protocol"]


@pytest.mark.parametrize("options", [["--http1", "--http2"], ["--streams", "4"], ["--http2", "--streams", "0"]])
def test_options_that_contradict_each_other(plimsoll, options):
    done = run(plimsoll, "http", "http://127.0.0.1:1/", *options, check=2)
    assert done.stderr.count("\n") == 1


PROXY = "location / {{ proxy_pass http://127.0.0.1:{}; proxy_http_version 1.1; proxy_request_buffering off; " \
        "proxy_set_header Host $http_host; proxy_set_header X-Forwarded-Proto https; }}"


@pytest.mark.parametrize("how", [["--http2"], [], ["--http1"]])
def test_the_suite_through_nginx_before_docker_registry(plimsoll, tmp_path, nginx, certificate, docker_registry, how):
    registry = docker_registry()
    port = nginx(PROXY.format(registry.port), certificate)
    result = tmp_path / "result.json"
    tests = "1MB$" if how == ["--http2"] else "^Push Monolith 1MB$"
    run(plimsoll, "bench", f"https://localhost:{port}", "-c", 4, "-n", 8, "--test-regex", tests, "--cacert",
        certificate.certificate, "--result", result, "--quiet", *how, check=0)
    record = json.loads(result.read_text())
    assert record["targets"][0]["protocol"] == ("HTTP/1.1" if how == ["--http1"] else "HTTP/2")
    assert len(record["tests"]) == (4 if how == ["--http2"] else 1)
    for test in record["tests"]:
        assert test["operations"]["failed"] == 0, (test["name"], test["errors"])
    assert registry.leftovers() == []


def test_serve_speaks_http2_to_curl_and_h2load(tmp_path, serve, certificate):  # noqa: F811
    folder = files(tmp_path)
    clear = serve("--static", f"/f={folder}")
    secure = serve("--static", f"/f={folder}", "--tls-cert", certificate.certificate, "--tls-key", certificate.key)
    for url, how in ((clear.url, "--http2-prior-knowledge"), (secure.url, "--http2")):
        # One request a call: curl 7.88 fails on the second by prior knowledge, whatever the server.
        for path, said in (("/f/large", f"2 200 {100 << 20}"), ("/v2/", "2 200 2"), ("/v2/none/tags/list", "2 404 ")):
            done = run("curl", "-s", how, "--cacert", certificate.certificate, "-o", "/dev/null", "-w",
                       "%{http_version} %{http_code} %{size_download}", url + path, check=0)
            assert done.stdout.startswith(said), done.stdout
        done = run("curl", "-s", "-I", how, "--cacert", certificate.certificate, f"{url}/f/small", check=0)
        assert done.stdout.startswith("HTTP/2 200") and "content-length: 612" in done.stdout
        done = run("h2load", "-n", 500, "-c", 2, "-m", 20, f"{url}/f/small")
        assert "500 succeeded, 0 failed, 0 errored, 0 timeout" in done.stdout, done.stdout


def test_serve_takes_pushes_over_http2(plimsoll, tmp_path, serve, certificate):  # noqa: F811
    secure = serve("--tls-cert", certificate.certificate, "--tls-key", certificate.key, "--access-log", tmp_path / "log")
    clear = serve()
    result = tmp_path / "result.json"
    for server in (secure, clear):
        run(plimsoll, "bench", server.url, "-c", 4, "-n", 4, "--http2", "--streams", 2, "--test-regex", "1MB$", "--cacert",
            certificate.certificate, "--result", result, "--quiet", check=0)
        record = json.loads(result.read_text())
        assert record["targets"][0]["protocol"] == "HTTP/2"
        for test in record["tests"]:
            assert test["operations"]["failed"] == 0, (test["name"], test["errors"])
    record, _ = loaded(plimsoll, tmp_path, f"{clear.url}/v2/", "-n", 2000, "-c", 2, "--http2", "--streams", 10)
    assert record["tests"][0]["operations"]["ok"] == 2000
    old = serve("--http1", "--tls-cert", certificate.certificate, "--tls-key", certificate.key)
    run(plimsoll, "bench", old.url, "--test-regex", "^Push Monolith 1MB$", "--cacert", certificate.certificate, "--result",
        result, "--quiet", check=0)
    assert json.loads(result.read_text())["targets"][0]["protocol"] == "HTTP/1.1"
    secure.end()
    assert ' HTTP/2" 201 ' in (tmp_path / "log").read_text()
