"""`plimsoll bench` against Debian's docker-registry: the whole suite, its output, its manners."""
import json
import re
import signal
import subprocess
import time

import pytest

from conftest import free_port, run

ONE_MB = "(1MB$|Get Catalog)"
TEN_MB = "^(Push Monolith|Push Chunk Streamed|Pull|Pull 75% and Push 25% Mixed) 10MB$"


def bench(plimsoll, url, *options, cwd, check=0, timeout=300):
    return run(plimsoll, "bench", *options, url, cwd=cwd, check=check, timeout=timeout)


def record_of(path):
    return json.loads(path.read_text())


@pytest.mark.parametrize("storage", ["inmemory", "disk"])
def test_suite_of_1mb(plimsoll, docker_registry, tmp_path, storage):
    registry = docker_registry(storage=storage)
    bench(plimsoll, registry.url, "-c", 4, "-n", 40, "-t", ONE_MB, "--result", "r.json", cwd=tmp_path)
    record = record_of(tmp_path / "r.json")
    assert [t["name"] for t in record["tests"]] == [
        "Get Catalog", "Push Monolith 1MB", "Push Chunk Streamed 1MB", "Pull 1MB", "Pull 75% and Push 25% Mixed 1MB"]
    for test in record["tests"]:
        assert test["operations"] == {"started": 40, "ok": 40, "failed": 0, "aborted": 0}, test["name"]
        assert test["errors"] == []
        assert test["rate_per_s"] > 0
        assert test["latency_s"]["min"] <= test["latency_s"]["p50"] <= test["latency_s"]["max"]
    assert registry.leftovers() == []


def test_suite_of_10mb_on_disk(plimsoll, docker_registry, tmp_path):
    registry = docker_registry(storage="disk")
    bench(plimsoll, registry.url, "-c", 4, "-n", 20, "-t", TEN_MB, "--result", "r.json", cwd=tmp_path)
    for test in record_of(tmp_path / "r.json")["tests"]:
        assert test["operations"]["ok"] == 20 and test["operations"]["failed"] == 0, test["name"]
    assert registry.leftovers() == []


def test_one_push_and_pull_of_100mb(plimsoll, docker_registry, tmp_path):
    registry = docker_registry(storage="disk")
    bench(plimsoll, registry.url, "-t", "^(Push Monolith|Pull) 100MB$", "--result", "r.json", cwd=tmp_path)
    push, pull = record_of(tmp_path / "r.json")["tests"]
    assert push["operations"]["ok"] == pull["operations"]["ok"] == 1
    assert push["bytes"]["body_sent"] > 100 << 20
    assert pull["bytes"]["body_received"] > 100 << 20


def test_bytes_and_steps_add_up(plimsoll, docker_registry, tmp_path):
    registry = docker_registry()
    bench(plimsoll, registry.url, "-c", 3, "-n", 7, "-t", "^(Push Monolith|Pull) 1MB$", "--result", "r.json",
          cwd=tmp_path)
    push, pull = record_of(tmp_path / "r.json")["tests"]
    steps = {s["name"]: s["count"] for s in push["steps"] if s["count"]}
    assert steps == {"upload POST": 14, "layer PUT": 7, "config PUT": 7, "manifest PUT": 7}
    steps = {s["name"]: s["count"] for s in pull["steps"] if s["count"]}
    assert steps == {name: 7 for name in
                     ["manifest HEAD", "manifest GET", "config HEAD", "config GET", "layer HEAD", "layer GET"]}
    assert sum(s["bytes"]["sent"] for s in push["steps"]) == push["bytes"]["sent"]
    assert push["connections"]["opened"] == 3


def test_without_deletes_it_warns_and_ends_well(plimsoll, docker_registry, tmp_path):
    registry = docker_registry(delete=False)
    done = bench(plimsoll, registry.url, "-c", 2, "-n", 4, "-t", "^Push Monolith 1MB$", cwd=tmp_path)
    assert "did not delete 4 of the images" in done.stderr
    assert "Complete requests:    4" in done.stdout


def test_tls_and_basic_authentication(plimsoll, docker_registry, certificate, htpasswd, tmp_path):
    ca, cert, key = certificate
    registry = docker_registry(tls=(cert, key), htpasswd=htpasswd)
    chosen = ["-c", 2, "-n", 6, "-t", "^(Push Monolith|Pull) 1MB$"]
    done = bench(plimsoll, registry.url, *chosen, "--cacert", ca, "-A", "ann:s:e:c", "-o", "json", cwd=tmp_path)
    record = json.loads(done.stdout)
    assert [t["operations"]["ok"] for t in record["tests"]] == [6, 6]
    assert "s:e:c" not in done.stdout + done.stderr

    unverified = bench(plimsoll, registry.url, *chosen, "-A", "ann:s:e:c", cwd=tmp_path, check=2)
    assert "certificate" in unverified.stderr and len(unverified.stderr.splitlines()) == 1
    bench(plimsoll, registry.url, *chosen, "-A", "ann:s:e:c", "--insecure", cwd=tmp_path)

    refused = bench(plimsoll, registry.url, *chosen, "--cacert", ca, "-A", "ann:wrong-one", cwd=tmp_path, check=2)
    assert "401" in refused.stderr and "wrong-one" not in refused.stderr + refused.stdout


def test_skopeo_pulls_what_was_pushed(plimsoll, docker_registry, tmp_path):
    registry = docker_registry()
    bench(plimsoll, registry.url, "-t", "^Push Monolith 1MB$", "-r", "kept", "--skip-cleanup", cwd=tmp_path)
    names = registry.get("/v2/_catalog")["repositories"]
    assert len(names) == 1 and names[0].startswith("kept/plimsoll-")
    copied = tmp_path / "copied"
    run("skopeo", "copy", "--src-tls-verify=false", "--insecure-policy",
        f"docker://127.0.0.1:{registry.port}/{names[0]}:latest", f"dir:{copied}", check=0)
    manifest = json.loads((copied / "manifest.json").read_text())
    layer = copied / manifest["layers"][0]["digest"].split(":")[1]
    assert layer.stat().st_size == 1 << 20
    run("tar", "-tvf", layer, check=0)
    config = json.loads((copied / manifest["config"]["digest"].split(":")[1]).read_text())
    assert config["rootfs"]["diff_ids"] == [manifest["layers"][0]["digest"]]
    # A container tool unpacks it: diff_ids are checked there.
    storage = ["--root", tmp_path / "c", "--runroot", tmp_path / "r", "--storage-driver", "vfs"]
    run("buildah", *storage, "pull", "--tls-verify=false",
        f"docker://127.0.0.1:{registry.port}/{names[0]}:latest", check=0)


def test_source_addresses_and_both_back_ends(plimsoll, docker_registry, tmp_path):
    registry = docker_registry()
    for io in ["epoll", "uring"]:
        done = run(plimsoll, "bench", "-c", 3, "-n", 9, "-t", "^Pull 1MB$", "-s", "127.0.0.0/8", "--io", io, "-o",
                   "json", registry.url, cwd=tmp_path)
        if io == "uring" and done.returncode == 2 and "io_uring" in done.stderr:
            continue
        assert done.returncode == 0, done.stderr
        record = json.loads(done.stdout)
        assert record["environment"]["io"] == io
        assert record["tests"][0]["operations"]["ok"] == 9


def test_localhost_with_two_families(plimsoll, docker_registry, tmp_path):
    registry = docker_registry()
    url = f"http://localhost:{registry.port}"
    bench(plimsoll, url, "-c", 4, "-n", 8, "-t", "^Pull 1MB$", "--result", "r.json", cwd=tmp_path)
    record = record_of(tmp_path / "r.json")
    used = {a["address"]: a["connections"] for a in record["targets"][0]["addresses"]}
    assert used[f"127.0.0.1:{registry.port}"] >= 4


def test_duration_and_warm_up(plimsoll, docker_registry, tmp_path):
    registry = docker_registry()
    bench(plimsoll, registry.url, "-c", 2, "--duration", "1s", "--warmup", "300ms", "-t", "^Pull 1MB$", "--result",
          "r.json", cwd=tmp_path)
    test = record_of(tmp_path / "r.json")["tests"][0]
    assert test["phases_s"]["measure"] == pytest.approx(1.0, abs=0.2)
    assert test["phases_s"]["warmup"] == pytest.approx(0.3, abs=0.25)
    assert test["operations"]["ok"] > 2


def test_ci_cd_file_and_output_shape(plimsoll, docker_registry, tmp_path):
    registry = docker_registry()
    done = bench(plimsoll, registry.url, "-c", 2, "-n", 10, "-t", "^Pull 1MB$", "-o", "ci-cd", cwd=tmp_path)
    entries = json.loads((tmp_path / "ci-cd.json").read_text())
    assert entries[0]["name"] == "Pull 1MB" and entries[0]["unit"] == "requests per sec"
    lines = done.stdout.splitlines()
    assert lines[0] == f"Registry URL:      {registry.url}"
    assert "Skipping test Push Monolith 1MB" in lines
    assert "Preparing test data ..." in lines and "Starting tests ..." in lines
    assert "Test name:            Pull 1MB" in lines
    assert any(re.fullmatch(r"Layer TTFB p99:\s+[0-9.]+(µs|ms|s)", line) for line in lines)


def test_lists_tests_without_a_url(plimsoll, tmp_path):
    done = run(plimsoll, "bench", "-l", "-t", "^(Push Monolith|Pull) 1MB$", cwd=tmp_path, check=0)
    assert done.stdout == "Push Monolith 1MB\nPull 1MB\n"
    assert len(run(plimsoll, "bench", "-l", cwd=tmp_path, check=0).stdout.splitlines()) == 18


def test_interrupt_reports_and_cleans(plimsoll, docker_registry, tmp_path):
    registry = docker_registry()
    process = subprocess.Popen([plimsoll, "bench", "-c", "2", "--duration", "60s", "-t", "^Push Monolith 1MB$",
                                "--result", "r.json", registry.url], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=20)
    assert process.returncode == 130
    assert "Test name:            Push Monolith 1MB" in out
    record = record_of(tmp_path / "r.json")
    assert record["interrupted"] is True
    operations = record["tests"][0]["operations"]
    assert operations["ok"] > 0
    assert operations["started"] == operations["ok"] + operations["failed"] + operations["aborted"]
    assert registry.leftovers() == []


@pytest.mark.parametrize("options, words", [
    (["--no-such"], "--no-such"),
    (["-c", "0"], "--concurrency"),
    (["-n", "0"], "--requests"),
    (["-c", "x"], "--concurrency"),
    (["-s", "1.2.3.4/99"], "1.2.3.4/99"),
    (["-i", "127.0.0.1,nope"], "nope"),
    (["-s", "127.0.0.0/8", "-i", "127.0.0.1"], "exclude each other"),
    (["-t", "("], "--test-regex"),
    (["-d", "no/such/folder"], "no/such/folder"),
    (["-o", "xml"], "xml"),
    (["-r", "UPPER"], "UPPER"),
    (["--fail-if", "p99"], "--fail-if"),
    (["--duration", "1y"], "--duration"),
    (["--result", "no/such/folder/r.json"], "no/such/folder/r.json"),
    (["--cacert", "missing.pem"], "missing.pem"),
    (["-c", "900000"], "descriptors"),
])
def test_bad_input_is_one_line(plimsoll, tmp_path, options, words):
    done = run(plimsoll, "bench", *options, f"http://127.0.0.1:{free_port()}", cwd=tmp_path, check=2)
    assert len(done.stderr.splitlines()) == 1, done.stderr
    assert words in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("url", ["ftp://127.0.0.1", "127.0.0.1:5000", "http://", "http://user:pw@127.0.0.1/", ""])
def test_bad_url(plimsoll, tmp_path, url):
    done = run(plimsoll, "bench", "-n", "1", url or "http:", cwd=tmp_path, check=2)
    assert len(done.stderr.splitlines()) == 1
    assert "pw" not in done.stderr


def test_refused_connection_and_html(plimsoll, tmp_path):
    done = run(plimsoll, "bench", f"http://127.0.0.1:{free_port()}", cwd=tmp_path, check=2)
    assert "connection refused" in done.stderr and len(done.stderr.splitlines()) == 1
    port = free_port()
    (tmp_path / "site" / "v2").mkdir(parents=True)
    (tmp_path / "site" / "v2" / "index.html").write_text("<html>hello</html>")
    server = subprocess.Popen(["/usr/bin/python3", "-m", "http.server", str(port), "--bind", "127.0.0.1", "-d",
                               str(tmp_path / "site")], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        from conftest import wait_for_port
        wait_for_port(port, server)
        done = run(plimsoll, "bench", f"http://127.0.0.1:{port}", cwd=tmp_path, check=2)
        assert "not a registry" in done.stderr
    finally:
        server.kill()
        server.wait()


def test_thresholds_decide_the_exit_code(plimsoll, docker_registry, tmp_path):
    registry = docker_registry()
    chosen = ["-n", "5", "-t", "^Pull 1MB$"]
    bench(plimsoll, registry.url, *chosen, "--fail-if", "p99 > 1h", "--fail-if", "errors > 0%", cwd=tmp_path)
    done = bench(plimsoll, registry.url, *chosen, "--fail-if", "rate < 1000000", cwd=tmp_path, check=3)
    assert "rate < 1000000" in done.stderr


def test_answers_to_zb(plimsoll, docker_registry, tmp_path):
    registry = docker_registry()
    (tmp_path / "zb").symlink_to(plimsoll)
    assert "Usage: zb" in run(tmp_path / "zb", cwd=tmp_path, check=0).stdout
    done = run(tmp_path / "zb", "-c", 2, "-n", 4, "--src-cidr", "127.0.0.0/8", "--test-regex", "^Push Monolith 1MB$",
               registry.url, cwd=tmp_path, check=0)
    assert "Complete requests:    4" in done.stdout
