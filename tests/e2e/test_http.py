"""`plimsoll http` against nginx: ab's job, open loop, outputs, bad input."""
import csv
import json
import os
import pathlib
import re
import shutil
import socket
import subprocess
import threading
import time

import pytest

from conftest import end, free_port, run, wait_for_port


@pytest.fixture
def nginx(tmp_path, certificate):
    """An nginx with a 612-byte and a 1 MiB file, in clear and over TLS: (http port, https port)."""
    program = shutil.which("nginx", path="/usr/sbin:/usr/bin:/sbin:/bin")
    assert program, "nginx is not installed: run scripts/setup"
    folder = tmp_path / "nginx"
    (folder / "www").mkdir(parents=True)
    (folder / "www" / "small").write_bytes(b"s" * 612)
    (folder / "www" / "large").write_bytes(b"l" * (1 << 20))
    plain, secure = free_port(), free_port()
    _, cert, key = certificate
    (folder / "nginx.conf").write_text(f"""
{"user root;" if os.getuid() == 0 else ""} daemon off; pid {folder}/pid; error_log {folder}/error.log; worker_processes 1;
events {{ worker_connections 512; }}
http {{
  access_log off; keepalive_requests 1000000;
  client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  server {{ listen 127.0.0.1:{plain}; listen 127.0.0.1:{secure} ssl; ssl_certificate {cert}; ssl_certificate_key {key};
           root {folder}/www;
           location /moved {{ return 302 /small; }}
           location /busy {{ return 503; }} }}
}}""")
    process = subprocess.Popen([program, "-e", str(folder / "error.log"), "-c", str(folder / "nginx.conf")],
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    wait_for_port(plain, process)
    yield plain, secure
    end(process)


def load(plimsoll, *options, cwd, check=0):
    return run(plimsoll, "http", "-q", *options, cwd=cwd, check=check)


def test_abs_lines(plimsoll, nginx, tmp_path):
    done = load(plimsoll, "-n", 500, "-c", 8, "-k", f"http://127.0.0.1:{nginx[0]}/small", cwd=tmp_path)
    for line in ["Server Software:        nginx/", "Server Hostname:        127.0.0.1",
                 f"Server Port:            {nginx[0]}", "Document Path:          /small",
                 "Document Length:        612 bytes", "Concurrency Level:      8", "Complete requests:      500",
                 "Failed requests:        0", "Keep-Alive requests:    500"]:
        assert any(found.startswith(line) for found in done.stdout.splitlines()), line
    assert re.search(r"^HTML transferred: +306000 bytes$", done.stdout, re.M)
    assert re.search(r"^ 100% +\d+ \(longest request\)$", done.stdout, re.M)


def test_heads_posts_and_methods(plimsoll, nginx, tmp_path):
    url = f"http://127.0.0.1:{nginx[0]}/small"
    head = load(plimsoll, "-n", 20, "-i", url, "--result", "head.json", cwd=tmp_path)
    assert "Document Length:        0 bytes" in head.stdout
    (tmp_path / "body").write_bytes(b"x" * 70000)
    load(plimsoll, "-n", 5, "-p", "body", url, "--result", "post.json", cwd=tmp_path, check=1)
    post = json.loads((tmp_path / "post.json").read_text())["tests"][0]
    # nginx refuses to POST to a file; the body was sent all the same.
    assert post["statuses"] == {"405": 5}
    assert post["operations"]["failed"] == 5


def test_errors_have_kinds_and_do_not_end_the_run(plimsoll, nginx, tmp_path):
    load(plimsoll, "-n", 30, "-c", 3, f"http://127.0.0.1:{nginx[0]}/busy", "--result", "r.json", cwd=tmp_path, check=1)
    test = json.loads((tmp_path / "r.json").read_text())["tests"][0]
    assert test["operations"] == {"started": 30, "ok": 0, "failed": 30, "aborted": 0}
    assert [(e["kind"], e["count"]) for e in test["errors"]] == [("unexpected_status", 30)]
    assert "503" in test["errors"][0]["sample"]["text"]


def test_redirects(plimsoll, nginx, tmp_path):
    url = f"http://127.0.0.1:{nginx[0]}/moved"
    load(plimsoll, "-n", 4, url, "--result", "a.json", cwd=tmp_path)
    assert json.loads((tmp_path / "a.json").read_text())["tests"][0]["statuses"] == {"302": 4}
    load(plimsoll, "-n", 4, "--follow", 2, url, "--result", "b.json", cwd=tmp_path)
    assert json.loads((tmp_path / "b.json").read_text())["tests"][0]["statuses"] == {"200": 4}


def test_tls(plimsoll, nginx, certificate, tmp_path):
    url = f"https://127.0.0.1:{nginx[1]}/large"
    load(plimsoll, "-n", 20, "-c", 4, "--cacert", certificate[0], url, "--result", "r.json", cwd=tmp_path)
    record = json.loads((tmp_path / "r.json").read_text())
    assert record["tests"][0]["bytes"]["body_received"] == 20 << 20
    assert record["targets"][0]["tls"].startswith("TLSv1.")
    refused = load(plimsoll, "-n", 2, url, cwd=tmp_path, check=2)
    assert "certificate" in refused.stdout


@pytest.mark.parametrize("io", ["epoll", "uring"])
def test_back_ends_agree(plimsoll, nginx, tmp_path, io):
    done = run(plimsoll, "http", "-q", "-n", 200, "-c", 10, "--io", io, f"http://127.0.0.1:{nginx[0]}/large",
               "--result", "r.json", cwd=tmp_path)
    if io == "uring" and done.returncode == 2 and "io_uring" in done.stderr:
        pytest.skip("io_uring is refused here")
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "r.json").read_text())
    assert record["environment"]["io"] == io
    assert record["tests"][0]["bytes"]["body_received"] == 200 << 20


def test_without_keep_alive(plimsoll, nginx, tmp_path):
    load(plimsoll, "-n", 50, "-c", 5, "--no-keepalive", f"http://127.0.0.1:{nginx[0]}/small", "--result", "r.json",
         cwd=tmp_path)
    connections = json.loads((tmp_path / "r.json").read_text())["tests"][0]["connections"]
    assert connections["opened"] == 50 and connections["reused"] == 0
    load(plimsoll, "-n", 50, "-c", 1, "--connections-reuse", 10, f"http://127.0.0.1:{nginx[0]}/small", "--result",
         "s.json", cwd=tmp_path)
    assert json.loads((tmp_path / "s.json").read_text())["tests"][0]["connections"]["opened"] == 5


def test_rows_and_histograms(plimsoll, nginx, tmp_path):
    load(plimsoll, "-n", 100, "-c", 4, f"http://127.0.0.1:{nginx[0]}/small", "-o", "csv=rows.csv", "-o", "hgrm=h.hgrm",
         "-o", "hlog=h.hlog", "-e", "e.csv", "-g", "g.tsv", "--result", "r.json", cwd=tmp_path)
    rows = list(csv.DictReader(open(tmp_path / "rows.csv")))
    assert sorted(int(row["sequence"]) for row in rows) == list(range(100))
    record = json.loads((tmp_path / "r.json").read_text())["tests"][0]
    latencies = [float(row["latency_s"]) for row in rows]
    assert max(latencies) == pytest.approx(record["latency_s"]["max"], abs=1e-8)
    assert min(latencies) == pytest.approx(record["latency_s"]["min"], abs=1e-8)
    assert len((tmp_path / "e.csv").read_text().splitlines()) == 102
    assert len((tmp_path / "g.tsv").read_text().splitlines()) == 101
    assert "TotalCount" in (tmp_path / "h.hgrm").read_text()
    assert (tmp_path / "h.hlog").read_text().startswith("#[")


def test_open_loop_keeps_its_rate(plimsoll, nginx, tmp_path):
    load(plimsoll, "--rate", 200, "-t", "2s", "-c", 4, f"http://127.0.0.1:{nginx[0]}/small", "--result", "r.json",
         cwd=tmp_path)
    test = json.loads((tmp_path / "r.json").read_text())["tests"][0]
    assert test["operations"]["started"] == 400
    assert test["open_loop"]["offered_per_s"] == pytest.approx(200, rel=0.02)


def test_c48_a_frozen_server_shows_in_open_loop(plimsoll, tmp_path):
    """100 requests a second for 2 s, and the server answers nothing in the second one."""
    frozen_from, frozen_to = 0.5, 1.5
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(10)
    started = []

    def serve(connection):
        with connection:
            while connection.recv(65536):
                started or started.append(time.monotonic())
                age = time.monotonic() - started[0]
                if frozen_from <= age < frozen_to:
                    time.sleep(frozen_to - age)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    def accept():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=serve, args=(connection,), daemon=True).start()

    threading.Thread(target=accept, daemon=True).start()
    load(plimsoll, "--rate", 100, "-t", "2s", "-c", 2, "--max-connections", 2, "--result", "r.json",
         f"http://127.0.0.1:{listener.getsockname()[1]}/", cwd=tmp_path)
    listener.close()
    test = json.loads((tmp_path / "r.json").read_text())["tests"][0]
    assert test["operations"]["ok"] == 200
    # Half of the requests were due while it was frozen, evenly over a second: the wait of the one at share s of the
    # freeze is 1-s. So p75 is in the middle of the freeze, about 0.5 s, and p99 close to a whole second.
    assert test["latency_s"]["p75"] == pytest.approx(0.5, abs=0.15)
    assert test["latency_s"]["p99"] == pytest.approx(0.98, abs=0.12)
    assert test["latency_s"]["p50"] < 0.15
    # What the connections saw hides it: only two requests were in flight then.
    assert test["service_s"]["p95"] < 0.1
    assert test["open_loop"]["backlog_max"] > 50


def test_requests_from_a_file(plimsoll, nginx, tmp_path):
    (tmp_path / "targets").write_text(
        f"GET http://127.0.0.1:{nginx[0]}/small?n={{seq}}\nX-Id: {{random}}\n\n"
        f"# a comment\nHEAD http://127.0.0.1:{nginx[0]}/large\n")
    load(plimsoll, "-n", 10, "--requests-file", "targets", "--result", "r.json", cwd=tmp_path)
    assert json.loads((tmp_path / "r.json").read_text())["tests"][0]["bytes"]["body_received"] == 5 * 612
    (tmp_path / "bad").write_text(f"GET http://127.0.0.1:{nginx[0]}/\n\nnonsense\n")
    done = load(plimsoll, "--requests-file", "bad", cwd=tmp_path, check=2)
    assert "line 3" in done.stderr


@pytest.mark.parametrize("behaviour, kind", [
    (b"", "closed"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nab", "short_body"),
    (b"SSH-2.0-OpenSSH_9.2\r\n", "protocol"),
    (b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef", "protocol"),
    (b"HTTP/1.1 200 OK\r\nX: " + b"a" * 100000, "protocol"),
    (None, "timeout"),
])
def test_hostile_peers_are_classified(plimsoll, tmp_path, behaviour, kind):
    listener = socket.create_server(("127.0.0.1", 0))
    listener.settimeout(10)

    def serve():
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(65536)
                if behaviour is None:
                    time.sleep(1.0)
                else:
                    connection.sendall(behaviour)

    threading.Thread(target=serve, daemon=True).start()
    started = time.monotonic()
    load(plimsoll, "-n", 2, "-s", "500ms", f"http://127.0.0.1:{listener.getsockname()[1]}/", "--result", "r.json",
         cwd=tmp_path, check=1)
    listener.close()
    test = json.loads((tmp_path / "r.json").read_text())["tests"][0]
    assert [(e["kind"], e["count"]) for e in test["errors"]] == [(kind, 2)]
    assert time.monotonic() - started < 8


@pytest.mark.parametrize("options, words", [
    ([], "give a URL"),
    (["http"], "not a URL"),
    (["127.0.0.1/x"], "not a URL"),
    (["-n", "0", "http://127.0.0.1/"], "--requests"),
    (["--rate", "0", "http://127.0.0.1/"], "--rate"),
    (["--rate", "1e9", "http://127.0.0.1/"], "--rate"),
    (["-p", "missing", "http://127.0.0.1/"], "missing"),
    (["-H", "no colon", "http://127.0.0.1/"], "--header"),
    (["http://no-such-host.invalid/"], "no-such-host.invalid"),
    (["-m", "G T", "http://127.0.0.1/"], "--method"),
])
def test_bad_input(plimsoll, tmp_path, options, words):
    done = load(plimsoll, *options, cwd=tmp_path, check=2)
    assert len(done.stderr.splitlines()) == 1 and words in done.stderr


def test_nobody_listens(plimsoll, tmp_path):
    done = load(plimsoll, "-n", 3, f"http://127.0.0.1:{free_port()}/", cwd=tmp_path, check=2)
    assert "connect_refused" in done.stdout


def test_secrets_are_masked(plimsoll, nginx, tmp_path):
    done = load(plimsoll, "-n", 2, "-A", "ann:hidden", "-H", "Cookie: hidden=1", f"http://127.0.0.1:{nginx[0]}/small",
                "-o", "json", cwd=tmp_path)
    assert "hidden" not in done.stdout + done.stderr
    assert pathlib.Path(tmp_path).is_dir()
