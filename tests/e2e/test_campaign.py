"""`sweep`, `report`, `compare`, `doctor`, and `bench` on the embedded registry."""
import json
import pathlib
import shutil
import signal
import subprocess
import time

import pytest

from conftest import ROOT, end, free_port, run, wait_for_port

PUBLISHED = ROOT.parent / "shared" / "data" / "openstack-artifactory-2016"


@pytest.fixture
def serve(plimsoll, tmp_path):
    """serve(*options) -> URL of an embedded registry."""
    running = []

    def start(*options):
        port = free_port()
        process = subprocess.Popen([plimsoll, "serve", "--listen", str(port), *map(str, options)],
                                   stdout=subprocess.DEVNULL)
        running.append(process)
        wait_for_port(port, process)
        return f"http://127.0.0.1:{port}"

    yield start
    for process in running:
        end(process)


def sweep(plimsoll, url, *options, cwd, check=0):
    return run(plimsoll, "sweep", "--concurrency", "1,3", "--iterations", 12, "--image", "60kB,3kB,2kB", "--out", "c",
               *options, url, cwd=cwd, check=check)


def test_sweep_leaves_the_documents_folder(plimsoll, serve, tmp_path):
    done = sweep(plimsoll, serve(), cwd=tmp_path)
    out = tmp_path / "c"
    for level in (1, 3):
        for action in ("push", "pull"):
            lines = (out / f"concurrency-{level}" / f"{action}_results.csv").read_text().splitlines()
            assert lines[0] == "iteration,spent_time" and len(lines) == 13
    record = json.loads((out / "result.json").read_text())
    assert [(t["action"], t["concurrency"], t["operations"]["ok"]) for t in record["tests"]] == [
        ("push", 1, 12), ("pull", 1, 12), ("push", 3, 12), ("pull", 3, 12)]
    assert (out / "summary.csv").exists() and (out / "summary.md").exists()
    assert len(list((out / "plots").glob("*.svg"))) >= 8
    assert "PUSH_TIME(CONCURRENCY)" in done.stdout
    # docker's way: three layers and a configuration are asked for before they are sent.
    steps = {s["name"]: s["count"] for s in record["tests"][0]["steps"]}
    assert steps["layer HEAD"] == 36 and steps["config HEAD"] == 12 and steps["layer PUT"] == 36


def test_sweep_goes_on_where_it_stopped(plimsoll, serve, tmp_path):
    url = serve()
    sweep(plimsoll, url, cwd=tmp_path)
    (tmp_path / "c" / "concurrency-3" / "pull_results.csv").unlink()
    done = sweep(plimsoll, url, cwd=tmp_path)
    ran = [line for line in done.stdout.splitlines() if line.startswith("[")]
    assert len(ran) == 1 and "pull c=3" in ran[0]


    record = json.loads((tmp_path / "c" / "result.json").read_text())
    assert sorted((t["action"], t["concurrency"]) for t in record["tests"]) == [
        ("pull", 1), ("pull", 3), ("push", 1), ("push", 3)]
    for other in [("--reuse", 0.5), ("--iterations", 13), ("--repeat", 2), ("--image", "70kB")]:
        options = ["--concurrency", "1,3", "--iterations", 12, "--image", "60kB,3kB,2kB", "--out", "c"]
        if other[0] in options:
            options[options.index(other[0]) + 1] = other[1]
        else:
            options += other
        done = run(plimsoll, "sweep", *options, url, cwd=tmp_path, check=2)
        assert len(done.stderr.splitlines()) == 1 and "the same options" in done.stderr


def test_an_interrupted_sweep_reports_and_goes_on(plimsoll, serve, tmp_path):
    command = [plimsoll, "sweep", "--concurrency", "1,2", "--iterations", "12", "--image", "20kB", "--shuffle", "--out", "c",
               serve("--fault", "latency=8ms; method=HEAD")]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    first = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    _, messages = process.communicate(timeout=60)
    assert process.returncode == 130 and "goes on from here" in messages
    record = json.loads((tmp_path / "c" / "result.json").read_text())
    assert record["interrupted"] and 1 <= len(record["tests"]) < 4
    assert (tmp_path / "c" / "summary.md").exists()
    done = run(*command, cwd=tmp_path, check=0)
    again = json.loads((tmp_path / "c" / "result.json").read_text())
    # The seed, and so the order, is that of the first part; what was measured then is not measured again.
    assert again["seed"] == record["seed"] and not again["interrupted"]
    assert [t["samples_file"] for t in again["tests"]][:len(record["tests"])] == [
        t["samples_file"] for t in record["tests"]]
    assert len(again["tests"]) == 4 and first.split("rate")[0] not in done.stdout


def test_sweep_over_images_and_tests_of_the_suite(plimsoll, serve, tmp_path):
    url = serve()
    options = ["--actions", "push,Pull 1MB,Get Catalog", "--image", "60kB,3kB;20kB", "--concurrency", "2", "--iterations", 6,
               "--out", "c"]
    run(plimsoll, "sweep", *options, url, cwd=tmp_path, check=0)
    out = tmp_path / "c"
    for file in ["image-1/concurrency-2/push_results.csv", "image-2/concurrency-2/push_results.csv",
                 "concurrency-2/pull-1mb_results.csv", "concurrency-2/get-catalog_results.csv"]:
        assert len((out / file).read_text().splitlines()) == 7, file
    record = json.loads((out / "result.json").read_text())
    tests = {t["name"]: t for t in record["tests"]}
    assert list(tests) == ["push 60kB,3kB", "Pull 1MB", "Get Catalog", "push 20kB"]
    assert tests["push 60kB,3kB"]["details"]["data_size"] == "63000"
    assert tests["Pull 1MB"]["details"]["data_size"] == str(1 << 20)
    assert record["targets"][0]["addresses"][0]["connections"] > 0
    # The figures by name again when the folder is read, and by its own words where it holds no record.
    named = run(plimsoll, "report", "-o", "csv", "c", cwd=tmp_path, check=0).stdout
    assert '"push 60kB,3kB",2,6,' in named and ",Pull 1MB,2,6," in named
    (out / "result.json").unlink()
    bare = run(plimsoll, "report", "-o", "csv", "c", cwd=tmp_path, check=0).stdout
    assert "c,push image-1,2,6," in bare and "c,pull-1mb,2,6," in bare


def test_two_targets_side_by_side(plimsoll, serve, docker_registry, tmp_path):
    registry = docker_registry()
    run(plimsoll, "sweep", "--target", f"own={serve()}", "--target", f"cncf={registry.url}", "--interleave", "--repeat",
        2, "--concurrency", 2, "--iterations", 6, "--image", "20kB", "--client", "serial", "--out", "c", cwd=tmp_path,
        check=0)
    record = json.loads((tmp_path / "c" / "result.json").read_text())
    assert len(record["tests"]) == 8
    assert {t["target"] for t in record["tests"]} == {"own", "cncf"}
    assert (tmp_path / "c" / "cncf" / "repeat-2" / "concurrency-2" / "pull_results.csv").exists()
    assert registry.leftovers() == []


def test_reuse_sends_less(plimsoll, serve, tmp_path):
    sweep(plimsoll, serve(), "--reuse", 0.67, "--actions", "push", "--spread", "one-repository", cwd=tmp_path)
    record = json.loads((tmp_path / "c" / "result.json").read_text())
    steps = {s["name"]: s["count"] for s in record["tests"][0]["steps"]}
    assert steps["layer HEAD"] == 36 and steps["layer PUT"] == 12


def test_layers_of_other_repositories_are_mounted(plimsoll, serve, tmp_path):
    sweep(plimsoll, serve(), "--reuse", 0.67, "--actions", "push", cwd=tmp_path)
    test = json.loads((tmp_path / "c" / "result.json").read_text())["tests"][0]
    steps = {s["name"]: s["count"] for s in test["steps"]}
    assert steps["layer HEAD"] == 36 and steps["mount POST"] == 24 and steps["layer PUT"] == 12
    assert test["details"]["layers_reused"] == test["details"]["layers_found"] == "24"


def test_layers_sent_again_are_a_finding(plimsoll, serve, tmp_path):
    """The document's first defect: the registry holds a layer and does not say so."""
    sweep(plimsoll, serve("--fault", "route=blob; method=HEAD; status=404"), "--reuse", 0.67, "--actions", "push",
          "--spread", "one-repository", cwd=tmp_path)
    record = json.loads((tmp_path / "c" / "result.json").read_text())
    found = [f for f in record["findings"] if f["id"] == "reupload"]
    assert [f["evidence"]["count"] for f in found] == [24, 24] and found[0]["context"]["cause"]
    summary = (tmp_path / "c" / "summary.md").read_text()
    assert "Issues found" in summary and "reupload" in summary


@pytest.mark.parametrize("options, words", [
    (["--actions", "pusch"], "--actions 'pusch'"),
    (["--actions", "On-demand Sync 100MB"], "--upstream-server-url"),
    (["--concurrency", "0"], "--concurrency '0'"),
    (["--concurrency", "2,2"], "twice"),
    (["--image", "1MB;1MB"], "twice"),
    (["--image", "big"], "--image"),
    (["--reuse", "2"], "--reuse"),
    (["--target", "a/b=http://127.0.0.1:1"], "NAME=URL"),
    (["--describe", "missing.json"], "--describe 'missing.json'"),
    (["--attach", "missing.conf"], "--attach 'missing.conf'"),
])
def test_sweep_refuses_in_one_line(plimsoll, tmp_path, options, words):
    done = run(plimsoll, "sweep", "--out", "c", *options, "http://127.0.0.1:1", cwd=tmp_path, check=2)
    assert len(done.stderr.splitlines()) == 1 and words in done.stderr, done.stderr
    assert not (tmp_path / "c").exists()


def test_report_of_the_published_campaign(plimsoll, tmp_path):
    if not PUBLISHED.exists():
        pytest.skip("the openstack campaign's raw figures are not beside this checkout")
    text = run(plimsoll, "report", PUBLISHED, cwd=tmp_path, check=0).stdout
    for row in ["474.1983588 21.41779709 447.7350837 471.5060248", "20.45173717 18.13562512 18.45595757 18.70360937",
                "10.30138803 0.167137146 8.50843117 9.09850688"]:
        assert row in " ".join(text.split()), row
    csv = run(plimsoll, "report", "-o", "csv", PUBLISHED, cwd=tmp_path, check=0).stdout.splitlines()
    assert csv[0] == "target,action,concurrency,iterations,maximum,minimum,average,p90" and len(csv) == 11


def test_report_page(plimsoll, serve, tmp_path):
    run(plimsoll, "bench", "-n", 20, "-t", "^Pull 1MB$", "--result", "r.json", serve(), cwd=tmp_path, check=0)
    done = run(plimsoll, "report", "-o", "html=r.html", "r.json", cwd=tmp_path)
    if done.returncode == 2 and "page" in done.stderr:
        assert shutil.which("npm") is None
        return
    assert done.returncode == 0, done.stderr
    assert "Pull 1MB" in (tmp_path / "r.html").read_text()


@pytest.mark.parametrize("make, words", [
    (lambda p: p / "missing.json", "does not exist"),
    (lambda p: (p / "x.json").write_text("{") and p / "x.json", "x.json"),
    (lambda p: (p / "y.json").write_text('{"schema":"plimsoll.result/9"}') and p / "y.json", "plimsoll.result/9"),
    (lambda p: (p / "empty").mkdir() or p / "empty", "empty"),
])
def test_report_refuses_in_one_line(plimsoll, tmp_path, make, words):
    done = run(plimsoll, "report", make(tmp_path), cwd=tmp_path, check=2)
    assert len(done.stderr.splitlines()) == 1 and words in done.stderr


def test_compare(plimsoll, serve, tmp_path):
    url = serve()
    for name in ("a", "b"):
        run(plimsoll, "bench", "-n", 30, "-t", "^Pull 1MB$", "--result", f"{name}.json", url, cwd=tmp_path, check=0)
    done = run(plimsoll, "compare", "a.json", "b.json", cwd=tmp_path, check=0)
    assert "p99" in done.stdout
    slower = json.loads((tmp_path / "a.json").read_text())
    (tmp_path / "c.json").write_text(json.dumps(slower))
    run(plimsoll, "compare", "-o", "md", "--fail-if", "p99 > +5%", "a.json", "c.json", cwd=tmp_path, check=0)


def test_compare_of_a_campaigns_targets(plimsoll, serve, tmp_path):
    """docs/ci.md: two targets of one campaign, with repeats; one that fails against one that does not."""
    targets = {"base": "route=blob; method=GET; latency=5ms", "same": "route=blob; method=GET; latency=5ms",
               "failing": "route=blob; method=GET; every=3; skip=40; status=500"}
    options = [f"--target={name}={serve('--fault', fault)}" for name, fault in targets.items()]
    run(plimsoll, "sweep", *options, "--interleave", "--actions", "pull", "--client", "serial", "--image", "20kB", "--repeat", 3,
        "--concurrency", 2, "--iterations", 60, "--out", "c", cwd=tmp_path, check=1)
    rules = ["--fail-if", "errors > +1%"]
    for name, code in [("base", 0), ("failing", 3)]:
        done = run(plimsoll, "compare", "-o", "md=change.md", *rules, "c/base", f"c/{name}", cwd=tmp_path)
        assert done.returncode == code, done.stdout + done.stderr
        assert "| Test | Figure |" in (tmp_path / "change.md").read_text()
    assert "errors" in done.stderr, "failures are in the record beside the raw times"
    run(plimsoll, "compare", "c/base,c/same", "c/failing", cwd=tmp_path, check=0)


def test_who_was_talked_to_is_in_the_record(plimsoll, serve, tmp_path):
    url = serve()
    sweep(plimsoll, url, "--actions", "pull", cwd=tmp_path)
    run(plimsoll, "http", "-n", 20, "-c", 2, "--result", "h.json", url + "/v2/", cwd=tmp_path, check=0)
    for file, part in [("c/result.json", "registry"), ("h.json", "server")]:
        peers = json.loads((tmp_path / file).read_text())["peers"]
        assert [(p["part"], p["origin"], p["address"], p["from"]) for p in peers] == [
            (part, url, url.split("//")[1], ["127.0.0.1"])]
        assert peers[0]["connections"] > 0 and 0 < peers[0]["round_trip_s"]["min"] <= peers[0]["round_trip_s"]["max"] < 1
    for output in ("md", "html"):
        done = run(plimsoll, "report", "-o", f"{output}=out", "c", "h.json", cwd=tmp_path)
        if done.returncode == 0:
            assert "Who talked to whom" in (tmp_path / "out").read_text()


def test_doctor_of_a_machine_feeds_describe(plimsoll, serve, tmp_path):
    run(plimsoll, "doctor", "-o", "json=server.json", cwd=tmp_path, check=0)
    (tmp_path / "switch.conf").write_text("vlan 7\n")
    sweep(plimsoll, serve(), "--describe", "server.json", "--attach", "switch.conf", "--actions", "push", cwd=tmp_path)
    record = json.loads((tmp_path / "c" / "result.json").read_text())
    server = record["machines"][0]
    assert server["role"] == "server" and server["kernel"] and server["versions"]["openssl"]
    for name in ("host", "operating_system", "kernel", "architecture", "cpu", "processors", "cores", "memory_bytes", "limits",
                 "congestion_control", "io", "versions"):
        assert record["environment"][name], name
    assert record["attachments"] == {"switch.conf": "vlan 7\n"}
    for output in ("md", "html"):
        done = run(plimsoll, "report", "-o", f"{output}=out", "c", cwd=tmp_path)
        text = (tmp_path / "out").read_text() if done.returncode == 0 else "DATA_SIZE vlan 7"
        assert output == "html" or "DATA_SIZE: 65.0 kB" in text
        assert output == "md" or "vlan 7" in text


def test_bench_without_a_url(plimsoll, tmp_path):
    done = run(plimsoll, "bench", "-n", 10, "-t", "^(Push Monolith|Pull) 1MB$", cwd=tmp_path, check=0)
    assert "Verdict:" in done.stdout and "--seed" in done.stdout
    time.sleep(0.2)
    left = run("pgrep", "-f", f"{pathlib.Path(plimsoll)} serve --listen 127.0.0.1:0")
    assert left.stdout == ""


def test_embedded_registry_ends_with_a_killed_bench(plimsoll, tmp_path):
    process = subprocess.Popen([plimsoll, "bench", "--duration", "30s", "-t", "^Pull 1MB$"], cwd=tmp_path,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1.5)
    children = run("pgrep", "-P", process.pid).stdout.split()
    assert len(children) == 1
    process.send_signal(signal.SIGKILL)
    process.wait(5)
    for _ in range(100):
        if not pathlib.Path(f"/proc/{children[0]}").exists() or "Z" in pathlib.Path(
                f"/proc/{children[0]}/stat").read_text().split(")")[1][:3]:
            return
        time.sleep(0.05)
    raise AssertionError("the embedded registry outlived the program that started it")
