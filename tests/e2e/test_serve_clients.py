"""Real clients against `plimsoll serve`: skopeo, buildah, curl, and `plimsoll bench` itself."""
import hashlib
import json
import os
import re
import shutil

import pytest

from conftest import run
from serving import Client, digest_of, serve, tar_layer  # noqa: F401 (serve is a fixture)

SKOPEO = ["skopeo", "--insecure-policy"]
TLS_OFF_TO = "--dest-tls-verify=false"
TLS_OFF_FROM = "--src-tls-verify=false"


@pytest.fixture
def image(serve, tmp_path):
    """A server with one image, app:v1."""
    server = serve()
    manifest = Client(server.port).push_image("team/app", "v1", tar_layer(tmp_path, 300_000))
    return server, manifest


@pytest.mark.parametrize("storage", ["memory", "disk"])
def test_skopeo_copies_in_and_out(serve, tmp_path, storage):
    server = serve(*(["--root", tmp_path / "root"] if storage == "disk" else []))
    client = Client(server.port)
    client.push_image("first", "v1", tar_layer(tmp_path, 2_000_000))
    run(*SKOPEO, "copy", TLS_OFF_FROM, f"docker://{server.host}/first:v1", f"oci:{tmp_path}/out:v1", check=0)
    run(*SKOPEO, "copy", TLS_OFF_TO, f"oci:{tmp_path}/out:v1", f"docker://{server.host}/deep/er/second:v2", check=0)
    run(*SKOPEO, "copy", TLS_OFF_TO, "--format", "v2s2", f"oci:{tmp_path}/out:v1", f"docker://{server.host}/third:v3", check=0)
    first = json.loads(run(*SKOPEO, "inspect", "--tls-verify=false", "--raw", f"docker://{server.host}/first:v1", check=0).stdout)
    third = json.loads(run(*SKOPEO, "inspect", "--tls-verify=false", "--raw", f"docker://{server.host}/third:v3", check=0).stdout)
    assert third["mediaType"] == "application/vnd.docker.distribution.manifest.v2+json"
    assert first["config"]["mediaType"] == "application/vnd.oci.image.config.v1+json"


def test_skopeo_inspects_lists_and_deletes(image):
    server, manifest = image
    seen = json.loads(run(*SKOPEO, "inspect", "--tls-verify=false", f"docker://{server.host}/team/app:v1", check=0).stdout)
    assert seen["Digest"] == digest_of(manifest)
    assert seen["RepoTags"] == ["v1"]
    tags = json.loads(run(*SKOPEO, "list-tags", "--tls-verify=false", f"docker://{server.host}/team/app", check=0).stdout)
    assert tags["Tags"] == ["v1"]
    run(*SKOPEO, "delete", "--tls-verify=false", f"docker://{server.host}/team/app:v1", check=0)
    assert server.request("GET", "/v2/team/app/manifests/v1").status == 404


def test_buildah_pulls_and_pushes(image, tmp_path):
    if shutil.which("buildah") is None:
        pytest.skip("buildah is not installed")
    server, _ = image
    store = ["--root", tmp_path / "storage", "--runroot", tmp_path / "run", "--storage-driver", "vfs"]
    run("buildah", *store, "pull", "--tls-verify=false", f"{server.host}/team/app:v1", check=0)
    run("buildah", *store, "push", "--tls-verify=false", f"{server.host}/team/app:v1", f"docker://{server.host}/team/again:v2", check=0)
    assert server.request("GET", "/v2/team/again/tags/list").content == b'{"name":"team/again","tags":["v2"]}\n'


def test_curl_pushes_large_bodies_with_expect(serve, tmp_path):
    server = serve("--root", tmp_path / "root")
    content = os.urandom(20_000_000)
    (tmp_path / "blob").write_bytes(content)
    digest = digest_of(content)
    for options in (["-H", "Expect: 100-continue"], ["-H", "Transfer-Encoding: chunked"], ["--http1.0"]):
        run("curl", "-fsS", *options, "-X", "POST", "-H", "Content-Type: application/octet-stream", "-T", tmp_path / "blob",
            f"{server.url}/v2/curl/blobs/uploads?digest={digest}", check=0)
        run("curl", "-fsS", "-o", tmp_path / "back", f"{server.url}/v2/curl/blobs/{digest}", check=0)
        assert hashlib.sha256((tmp_path / "back").read_bytes()).hexdigest() == digest[7:]
        assert server.request("DELETE", f"/v2/curl/blobs/{digest}").status == 202


def test_the_layout_on_disk_is_read_by_others(serve, tmp_path):
    root = tmp_path / "root"
    server = serve("--root", root)
    client = Client(server.port)
    for name in ("app", "app/blobs/index.json"):
        client.push_image(name, "v1", tar_layer(tmp_path, 100_000))
    server.end()
    run(*SKOPEO, "inspect", f"oci:{root}/app:v1", check=0)
    run(*SKOPEO, "copy", f"oci:{root}/app/_blobs/_index.json:v1", f"dir:{tmp_path}/out", check=0)


def test_bench_runs_against_it(plimsoll, serve, tmp_path):
    server = serve("--root", tmp_path / "root")
    done = run(plimsoll, "bench", "-c", "4", "-n", "40", "-t", "1MB$|Catalog", server.url, cwd=tmp_path, check=0, timeout=300)
    assert set(re.findall(r"Failed requests: +(\d+)", done.stdout)) == {"0"}
    assert server.request("GET", "/v2/_catalog").content == b'{"repositories":[]}\n'


def test_crane_as_go_client(image, tmp_path):
    if shutil.which("crane") is None:
        pytest.skip("crane is not installed: it is a Go module, github.com/google/go-containerregistry/cmd/crane")
    server, manifest = image
    ref = f"{server.host}/team/app"
    assert run("crane", "digest", "--insecure", f"{ref}:v1", check=0).stdout.strip() == digest_of(manifest)
    run("crane", "pull", "--insecure", "--format", "oci", f"{ref}:v1", tmp_path / "out", check=0)
    run("crane", "push", "--insecure", tmp_path / "out", f"{ref}/again:v2", check=0)
    run("crane", "copy", "--insecure", f"{ref}:v1", f"{ref}:v3", check=0)
    assert run("crane", "ls", "--insecure", ref, check=0).stdout.split() == ["v1", "v3"]
    assert "team/app/again" in run("crane", "catalog", "--insecure", server.host, check=0).stdout
    run("crane", "delete", "--insecure", f"{ref}:v3", check=0)


def test_oras_as_go_client(image, tmp_path):
    if shutil.which("oras") is None:
        pytest.skip("oras is not installed: it is a Go module, oras.land/oras/cmd/oras")
    server, manifest = image
    subject = f"{server.host}/team/app@{digest_of(manifest)}"
    (tmp_path / "sbom.json").write_text('{"a":1}')
    run("oras", "attach", "--plain-http", "--artifact-type", "example/sbom", subject, "sbom.json:application/json", cwd=tmp_path, check=0)
    assert "example/sbom" in run("oras", "discover", "--plain-http", subject, check=0).stdout
    run("oras", "push", "--plain-http", f"{server.host}/files:v1", "sbom.json:application/json", cwd=tmp_path, check=0)
    (tmp_path / "out").mkdir()
    run("oras", "pull", "--plain-http", f"{server.host}/files:v1", "-o", tmp_path / "out", check=0)
    assert (tmp_path / "out" / "sbom.json").read_text() == '{"a":1}'
    assert run("oras", "repo", "tags", "--plain-http", f"{server.host}/files", check=0).stdout.split() == ["v1"]


@pytest.mark.parametrize("mode", ["basic", "token"])
def test_clients_log_in(serve, htpasswd, tmp_path, mode):
    server = serve("--htpasswd", htpasswd, *(["--token-auth"] if mode == "token" else []))
    layer = tar_layer(tmp_path, 1000)
    source = serve()
    Client(source.port).push_image("app", "v1", layer)
    copy = [*SKOPEO, "copy", TLS_OFF_FROM, TLS_OFF_TO]
    there = f"docker://{server.host}/app:v1"
    assert run(*copy, f"docker://{source.host}/app:v1", there).returncode != 0
    assert run(*copy, "--dest-creds", "ann:wrong", f"docker://{source.host}/app:v1", there).returncode != 0
    run(*copy, "--dest-creds", "ann:s:e:c", f"docker://{source.host}/app:v1", there, check=0)
    run(*copy, "--src-creds", "ann:s:e:c", there, f"dir:{tmp_path}/out", check=0)
    assert server.request("GET", "/v2/app/tags/list").status == 401


def test_it_speaks_tls(serve, certificate, tmp_path):
    ca, cert, key = certificate
    server = serve("--tls-cert", cert, "--tls-key", key)
    done = run("curl", "-fsS", "--cacert", ca, f"{server.url}/v2/", check=0)
    assert done.stdout == "{}"
    content = os.urandom(5_000_000)
    (tmp_path / "blob").write_bytes(content)
    run("curl", "-fsS", "--cacert", ca, "-X", "POST", "-T", tmp_path / "blob", f"{server.url}/v2/tls/blobs/uploads?digest={digest_of(content)}", check=0)
    run("curl", "-fsS", "--cacert", ca, "-o", tmp_path / "back", f"{server.url}/v2/tls/blobs/{digest_of(content)}", check=0)
    assert (tmp_path / "back").read_bytes() == content
