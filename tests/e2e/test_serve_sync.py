"""`plimsoll serve --sync-from`: real clients through a server that copies from another on demand."""
import json
import os
import re
import subprocess
import time

import pytest

from conftest import free_port, run
from serving import Client, digest_of, serve, tar_layer  # noqa: F401 (serve is a fixture)

SKOPEO = ["skopeo", "--insecure-policy"]


def figure(server, name):
    found = re.search(rf"^{name} (\d+)$", server.request("GET", "/metrics").content.decode(), re.M)
    return int(found[1])


def pull(server, image, folder):
    run(*SKOPEO, "copy", "--src-tls-verify=false", f"docker://{server.host}/{image}", f"dir:{folder}", check=0)


@pytest.mark.parametrize("storage", ["memory", "disk"])
def test_skopeo_pulls_through_it(serve, tmp_path, storage):
    upstream = serve()
    manifest = Client(upstream.port).push_image("team/app", "v1", tar_layer(tmp_path, 3_000_000))
    target = serve("--sync-from", upstream.url, *(["--root", tmp_path / "root"] if storage == "disk" else []))
    pull(target, "team/app:v1", tmp_path / "cold")
    assert figure(target, "plimsoll_sync_images_total") == 1
    upstream.end()
    pull(target, "team/app:v1", tmp_path / "warm")
    assert (tmp_path / "warm" / "manifest.json").read_bytes() == manifest
    assert figure(target, "plimsoll_sync_images_total") == 1


def test_it_copies_from_docker_registry(serve, docker_registry, tmp_path):
    upstream = docker_registry()
    manifest = Client(upstream.port).push_image("app", "v1", tar_layer(tmp_path, 100_000))
    target = serve("--sync-from", upstream.url)
    pull(target, "app:v1", tmp_path / "out")
    assert (tmp_path / "out" / "manifest.json").read_bytes() == manifest


@pytest.mark.parametrize("mode", ["basic", "token"])
def test_it_logs_in_upstream(serve, htpasswd, tmp_path, mode):
    upstream = serve("--htpasswd", htpasswd, *(["--token-auth"] if mode == "token" else []))
    source = serve()
    Client(source.port).push_image("app", "v1", tar_layer(tmp_path, 1000))
    run(*SKOPEO, "copy", "--src-tls-verify=false", "--dest-tls-verify=false", "--dest-creds", "ann:s:e:c",
        f"docker://{source.host}/app:v1", f"docker://{upstream.host}/app:v1", check=0)
    pull(serve("--sync-from", f"{upstream.url},auth=ann:s:e:c"), "app:v1", tmp_path / "out")
    stranger = serve("--sync-from", f"{upstream.url},auth=ann:wrong")
    refused = stranger.request("GET", "/v2/app/manifests/v1")
    assert refused.status == 502
    assert "401" in json.loads(refused.content)["errors"][0]["message"]


def test_it_trusts_the_upstreams_certificate_when_told(serve, certificate, tmp_path):
    ca, cert, key = certificate
    upstream = serve("--tls-cert", cert, "--tls-key", key)
    layer = tar_layer(tmp_path, 1000)
    source = serve()
    Client(source.port).push_image("app", "v1", layer)
    run(*SKOPEO, "copy", "--src-tls-verify=false", "--dest-tls-verify=false",
        f"docker://{source.host}/app:v1", f"docker://{upstream.host}/app:v1", check=0)
    pull(serve("--sync-from", f"{upstream.url},cacert={ca}"), "app:v1", tmp_path / "out")
    assert serve("--sync-from", upstream.url).request("GET", f"/v2/app/manifests/{digest_of(b'x')}").status == 502


def test_bench_brings_an_upstream_along(plimsoll, tmp_path):
    done = run(plimsoll, "bench", "-n", "1", "-t", "^On-demand Sync 100MB$", "-o", "text", "-o", f"json={tmp_path}/result.json", cwd=tmp_path, check=0)
    assert re.search(r"Failed requests: +0\n", done.stdout), done.stdout
    assert re.search(r"Part cold: +1 requests", done.stdout), done.stdout
    assert re.search(r"Part warm: +1 requests", done.stdout), done.stdout
    assert re.search(r"Upstream Registry URL: http://127", done.stdout), done.stdout
    assert json.loads((tmp_path / "result.json").read_text())["tests"][0]["bytes"]["body_received"] > 100 << 20


def eventually(holds):
    for _ in range(1000):
        if holds():
            return True
        time.sleep(0.02)
    return False


def test_what_does_not_fit_into_memory_lies_in_files_that_go(plimsoll, tmp_path):
    """Images that no memory holds are said to be on disk before anything is pushed; a killed bench leaves none there."""
    program = subprocess.Popen([plimsoll, "bench", "-n", "100000", "-t", "^On-demand Sync 1GB$"], cwd=tmp_path, text=True,
                               env=os.environ | {"TMPDIR": str(tmp_path)}, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    try:
        line = program.stderr.readline()
        assert "do not fit into memory" in line and str(tmp_path) in line, line
        assert eventually(lambda: len(list(tmp_path.glob("plimsoll-serve-*"))) == 2)
    finally:
        program.kill()
        program.communicate(timeout=60)
    assert eventually(lambda: not list(tmp_path.glob("plimsoll-serve-*")))


@pytest.mark.parametrize("setting, why", [
    ("nonsense", "expected URL"),
    ("http://127.0.0.1:9,speed=3", "'speed' is not known"),
    ("http://127.0.0.1:9,fresh=soon", "soon"),
    ("http://127.0.0.1:9,cacert=absent.pem", "absent.pem"),
])
def test_bad_settings_are_one_line(plimsoll, tmp_path, setting, why):
    done = run(plimsoll, "serve", "--listen", "0", "--sync-from", setting, cwd=tmp_path, check=2)
    assert why in done.stderr and done.stderr.count("\n") == 1


def test_a_server_cannot_copy_from_itself(plimsoll, tmp_path):
    port = free_port()
    done = run(plimsoll, "serve", "--listen", f"0.0.0.0:{port}", "--sync-from", f"http://127.0.0.1:{port}", cwd=tmp_path, check=2)
    assert "this server itself" in done.stderr and done.stderr.count("\n") == 1
