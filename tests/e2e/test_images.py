"""`plimsoll bench --images`: pulls of what a registry has already."""
import json
import os

import pytest

from conftest import run
from serving import OCI_MANIFEST, Client, digest_of, serve  # noqa: F401: a fixture

OCI_INDEX = "application/vnd.oci.image.index.v1+json"


def pull(plimsoll, *options, cwd, check=0):
    done = run(plimsoll, "bench", "-o", "json", *options, cwd=cwd, check=check)
    record = json.loads(done.stdout)
    assert len(record["tests"]) == 1
    return record["tests"][0]


def counts(test):
    return {step["name"]: step["count"] for step in test["steps"]}


def tree(folder):
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*")}


def put(client, repository, reference, document, media_type):
    body = document if isinstance(document, bytes) else json.dumps(document).encode()
    done = client.call("PUT", f"/v2/{repository}/manifests/{reference}", body, {"Content-Type": media_type})
    assert done.status == 201, done.content
    return {"mediaType": media_type, "digest": digest_of(body), "size": len(body)}


def descriptor(client, repository, content, media_type, **more):
    return {"mediaType": media_type, "digest": client.push_blob(repository, content), "size": len(content), **more}


def image(client, repository, layers, reference, architecture="amd64"):
    """An image of these layers; its descriptor."""
    config = json.dumps({"architecture": architecture, "os": "linux", "n": os.urandom(8).hex()}).encode()
    return put(client, repository, reference, {
        "schemaVersion": 2, "mediaType": OCI_MANIFEST,
        "config": descriptor(client, repository, config, "application/vnd.oci.image.config.v1+json"),
        "layers": [descriptor(client, repository, layer, "application/vnd.oci.image.layer.v1.tar") for layer in layers],
    }, OCI_MANIFEST)


def test_a_storm_on_one_image_leaves_the_registry_as_it_was(plimsoll, docker_registry, tmp_path):
    registry = docker_registry(storage="disk")
    client = Client(registry.port)
    layers = [os.urandom(100_000 + i) for i in range(5)]
    image(client, "team/app", layers, "1.2")
    before = tree(registry.root)
    test = pull(plimsoll, "-c", 6, "--images", f"127.0.0.1:{registry.port}/team/app:1.2", cwd=tmp_path)
    assert tree(registry.root) == before
    assert test["name"] == "Pull Images" and test["action"] == "pull" and test["concurrency"] == 6
    assert test["operations"] == {"started": 6, "ok": 6, "failed": 0, "aborted": 0}
    assert test["statuses"] == {"200": 6}
    assert counts(test) == {"ping GET": 6, "manifest HEAD": 6, "manifest GET": 6, "config GET": 6, "layer GET": 30}
    assert test["bytes"]["body_received"] > 6 * sum(map(len, layers))
    # Every pull is a client with connections of its own: three for layers, one for the configuration.
    assert test["connections"]["opened"] == 24


@pytest.mark.parametrize("client, steps, connections", [
    ("docker", {"ping GET": 8, "manifest HEAD": 8, "manifest GET": 8, "config GET": 8, "layer GET": 16}, 24),
    ("containerd", {"manifest HEAD": 8, "manifest GET": 8, "config GET": 8, "layer GET": 16}, 24),
    ("serial", {"ping GET": 8, "manifest GET": 8, "config GET": 8, "layer GET": 16}, 8),
])
def test_clients_differ(plimsoll, docker_registry, tmp_path, client, steps, connections):
    registry = docker_registry()
    image(Client(registry.port), "app", [os.urandom(3000), os.urandom(4000)], "latest")
    test = pull(plimsoll, "--images", "app", registry.url, "--client", client, "-c", 2, "-n", 8, cwd=tmp_path)
    assert counts(test) == steps and test["connections"]["opened"] == connections
    assert test["details"]["client"] == client and test["details"]["clients"] == "new"
    kept = pull(plimsoll, "--images", "app", registry.url, "--client", client, "-c", 2, "-n", 8, "--keep-clients",
                cwd=tmp_path)
    assert kept["connections"]["opened"] == connections // 4
    assert counts(kept).get("ping GET", 0) == (0 if client == "containerd" else 2)


def test_a_list_with_weights_drawn_and_in_turn(plimsoll, docker_registry, tmp_path):
    registry = docker_registry()
    client = Client(registry.port)
    digests = [image(client, "app", [os.urandom(2000)], f"v{i}")["digest"] for i in range(3)]
    (tmp_path / "images.txt").write_text(f"# of the test\napp:v0 98\n\napp:v1\t1\napp@{digests[2]}\n")
    drawn = pull(plimsoll, "--images", "images.txt", registry.url, "-c", 3, "-n", 200, "--seed", 5, cwd=tmp_path)
    names = ["app:v0", "app:v1", f"app@{digests[2]}"]
    assert list(drawn["mix"]) == names
    assert drawn["mix"]["app:v0"] > 180 and sum(drawn["mix"].values()) == 200
    assert {name: part["count"] for name, part in drawn["parts"].items()} == drawn["mix"]
    assert drawn["details"]["order"] == "drawn"
    turn = pull(plimsoll, "--images", "images.txt", registry.url, "-c", 3, "--cold", cwd=tmp_path)
    assert turn["mix"] == dict.fromkeys(names, 1) and turn["operations"]["ok"] == 3
    more = pull(plimsoll, "--images", "images.txt", registry.url, "-c", 2, "-n", 7, "--cold", cwd=tmp_path)
    assert more["mix"] == dict(zip(names, [3, 2, 2]))


def test_every_client_asks_the_token_server(plimsoll, serve, htpasswd, tmp_path):  # noqa: F811
    server = serve("--token-auth")
    token = json.loads(server.request("GET", "/token?service=plimsoll&scope=repository:app:pull,push").content)
    client = Client(server.port)
    client.call = lambda method, path, body=None, headers=None, call=client.call: call(
        method, path, body, {**(headers or {}), "Authorization": f"Bearer {token['token']}"})
    image(client, "app", [os.urandom(3000), os.urandom(3000)], "1")
    for kind, refused in [("docker", "ping GET"), ("containerd", "manifest HEAD")]:
        test = pull(plimsoll, "--images", "app:1", server.url, "--client", kind, "-c", 5, "-n", 10, cwd=tmp_path)
        assert test["operations"]["ok"] == 10 and test["errors"] == []
        steps = {step["name"]: step for step in test["steps"]}
        assert steps["token"]["count"] == 10 and steps["token"]["statuses"] == {"200": 10}
        # One 401 tells a client what it needs; everything after it carries a token.
        assert steps[refused]["statuses"]["401"] == 10
        assert sum(step["statuses"].get("401", 0) for step in test["steps"]) == 10
        assert steps["layer GET"]["statuses"] == {"200": 20}
    kept = pull(plimsoll, "--images", "app:1", server.url, "-c", 5, "-n", 50, "--keep-clients", cwd=tmp_path)
    assert counts(kept)["token"] <= 5


def test_indexes_are_followed_to_one_platform_or_to_all(plimsoll, serve, tmp_path):  # noqa: F811
    server = serve()
    client = Client(server.port)
    shared = os.urandom(5000)
    built = {}
    for architecture in ["amd64", "arm64", "s390x"]:
        built[architecture] = image(client, "app", [shared, os.urandom(1000), b"", shared], architecture, architecture)
        built[architecture]["platform"] = {"os": "linux", "architecture": architecture}
    inner = put(client, "app", "inner", {"schemaVersion": 2, "mediaType": OCI_INDEX,
                                         "manifests": [built["s390x"]]}, OCI_INDEX)
    unknown = {"schemaVersion": 2, "mediaType": "application/vnd.example.odd+json"}
    odd = put(client, "app", "odd", unknown, "application/vnd.example.odd+json")
    put(client, "app", "all", {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": [
        built["amd64"], built["arm64"], inner, odd, built["amd64"]]}, OCI_INDEX)
    put(client, "app", "empty", {"schemaVersion": 2, "mediaType": OCI_INDEX, "manifests": []}, OCI_INDEX)

    whole = pull(plimsoll, "--images", "app:all", server.url, cwd=tmp_path)
    # Two indexes, three images, one other; each image has a layer of its own, and two that all share.
    assert counts(whole) == {"ping GET": 1, "manifest HEAD": 1, "manifest GET": 6, "config GET": 3, "layer GET": 5}
    for platform, manifests in [("linux/arm64", 2), ("linux/arm64/v8", 2), ("linux/s390x", 3)]:
        one = pull(plimsoll, "--images", "app:all", server.url, "--platform", platform, cwd=tmp_path)
        assert counts(one)["manifest GET"] == manifests
        assert counts(one)["config GET"] == 1 and counts(one)["layer GET"] == 3
        assert one["details"]["platform"] == platform
    none = pull(plimsoll, "--images", "app:all", server.url, "--platform", "linux/riscv64", cwd=tmp_path, check=1)
    assert none["errors"][0]["kind"] == "protocol" and "platform" in none["errors"][0]["sample"]["text"]
    assert pull(plimsoll, "--images", "app:empty", server.url, cwd=tmp_path)["operations"]["ok"] == 1


def test_what_is_rarely_met(plimsoll, serve, tmp_path):  # noqa: F811
    """Schema 1, foreign layers, digests of sha512."""
    server = serve()
    client = Client(server.port)
    signed = {"schemaVersion": 1, "name": "app", "tag": "old", "architecture": "amd64",
              "fsLayers": [{"blobSum": digest_of(b"x")}] * 2, "history": []}
    put(client, "app", "old", signed, "application/vnd.docker.distribution.manifest.v1+prettyjws")
    old = pull(plimsoll, "--images", "app:old", server.url, cwd=tmp_path, check=1)
    assert old["errors"][0]["kind"] == "protocol" and "schema 1" in old["errors"][0]["sample"]["text"]
    assert old["errors"][0]["sample"]["request"].startswith("GET /v2/app/manifests/")

    config = descriptor(client, "app", b"{}", "application/vnd.docker.container.image.v1+json")
    docker_type = "application/vnd.docker.distribution.manifest.v2+json"
    foreign = {"mediaType": "application/vnd.docker.image.rootfs.foreign.diff.tar.gzip", "size": 7,
               "digest": digest_of(b"foreign"), "urls": ["http://127.0.0.1:9/never-asked"]}
    own = descriptor(client, "app", b"own layer", "application/vnd.docker.image.rootfs.diff.tar.gzip")
    put(client, "app", "foreign", {"schemaVersion": 2, "mediaType": docker_type, "config": config,
                                   "layers": [foreign, own]}, docker_type)
    test = pull(plimsoll, "--images", "app:foreign", server.url, "-n", 3, cwd=tmp_path)
    assert test["operations"]["ok"] == 3 and test["details"]["skipped_foreign"] == "3"
    assert test["statuses"] == {"200": 3}
    steps = {step["name"]: step["statuses"] for step in test["steps"]}
    assert steps["layer GET"] == {"200": 3, "404": 3}
    client.push_blob("app", b"foreign")
    assert "skipped_foreign" not in pull(plimsoll, "--images", "app:foreign", server.url, cwd=tmp_path)["details"]

    started = client.call("POST", "/v2/app/blobs/uploads/")
    long = digest_of(b"long", "sha512")
    done = client.call("PUT", f"{started.headers['Location']}?digest={long}", b"long")
    assert done.status == 201, done.content
    manifest = json.dumps({"schemaVersion": 2, "mediaType": OCI_MANIFEST, "config": config, "layers": [
        {"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": long, "size": 4}]}).encode()
    by = digest_of(manifest, "sha512")
    done = client.call("PUT", f"/v2/app/manifests/{by}", manifest, {"Content-Type": OCI_MANIFEST})
    assert done.status == 201, done.content
    test = pull(plimsoll, "--images", f"app@{by}", server.url, cwd=tmp_path)
    assert test["operations"]["ok"] == 1 and test["bytes"]["body_received"] >= len(manifest) + 4 + 2


@pytest.mark.parametrize("fault, notes", [
    ("route=manifest; digest=missing", {"digest_header_missing": 4}),
    ("digest=sha512", {}),
    ("method=HEAD; status=405", {"head_unsupported": 2}),
    ("route=blob; no_length", {}),
    ("route=blob; chunked=1000; trailer=ETag: x", {}),
    ("route=blob; header=Content-Encoding: x-gzip", {"content_coding_ignored": 4}),
    ("route=manifest; header=Content-Type: application/json; without=Docker-Content-Digest", {"digest_header_missing": 4}),
])
def test_what_strays_is_survived_and_noted(plimsoll, serve, tmp_path, fault, notes):  # noqa: F811
    server = serve("--fault", fault)
    Client(server.port).push_image("app", "1", os.urandom(5000))
    test = pull(plimsoll, "--images", "app:1", server.url, "-n", 2, cwd=tmp_path)
    assert test["operations"]["ok"] == 2 and test["bytes"]["body_received"] > 10_000
    assert {note["kind"]: note["count"] for note in test["notes"]} == notes


@pytest.mark.parametrize("fault, kind", [
    ("route=manifest; digest=wrong", "digest_mismatch"),
    ("route=blob; digest=wrong", "digest_mismatch"),
    ("route=blob; truncate=100", "short_body"),
    ("route=manifest; method=GET; status=503", "unexpected_status"),
    ("route=ping; status=429; skip=1", "throttled"),
])
def test_failures_are_classified(plimsoll, serve, tmp_path, fault, kind):  # noqa: F811
    good = serve("--root", tmp_path / "data")
    image(Client(good.port), "app", [os.urandom(5000)], "1")
    good.end()
    server = serve("--root", tmp_path / "data", "--fault", fault)
    test = pull(plimsoll, "--images", "app:1", server.url, "-n", 2, cwd=tmp_path, check=1)
    assert [(error["kind"], error["count"]) for error in test["errors"]] == [(kind, 2)]
    assert test["latency_s"]["count"] == 0 and test["failed_latency_s"]["count"] == 2


def test_missing_images_and_the_report(plimsoll, docker_registry, tmp_path):
    registry = docker_registry()
    image(Client(registry.port), "app", [os.urandom(2000)], "1")
    done = run(plimsoll, "bench", "--images", "app:1", "app:2", "no/such", "--cold", registry.url, cwd=tmp_path, check=1)
    assert "Test name:            Pull Images" in done.stdout
    assert "Complete requests:    1" in done.stdout and "Failed requests:      2" in done.stdout
    assert "unexpected_status count: 2" in done.stdout and "manifests/2: 404" in done.stdout
    assert "3, as docker, platform all, order cold, clients new" in done.stdout
    assert "1MB:" not in done.stdout and "Layer TTFB p99:" in done.stdout


def test_a_mirror_is_told_the_origin(plimsoll, serve, tmp_path):  # noqa: F811
    log = tmp_path / "log"
    server = serve("--access-log", log, "--access-log-json")
    image(Client(server.port), "library/app", [os.urandom(2000)], "1")
    pull(plimsoll, "--images", "docker.io/app:1", server.url, "--ns", "docker.io", cwd=tmp_path)
    server.end()
    ours = [json.loads(line)["target"] for line in log.read_text().splitlines() if '"plimsoll/' in line]
    reads = [target for target in ours if target != "/v2/"]
    assert len(reads) == 4 and all(target.endswith("?ns=docker.io") for target in reads)


@pytest.mark.parametrize("options, words", [
    (["--images", "UPPER"], "UPPER"),
    (["--images", "app@sha256:12"], "no digest"),
    (["--images", "app:1"], "names no registry"),
    (["--images", "list"], "list, line 2"),
    (["--images", "@missing"], "missing"),
    (["--images", "."], "directory"),
    (["--images", "one.example/a", "two.example/a"], "one registry at a time"),
    (["--images", "http://127.0.0.1:1"], "which?"),
    (["--images", "app", "http://127.0.0.1:1", "--platform", "arm"], "--platform"),
    (["--images", "app", "http://127.0.0.1:1", "--client", "podman"], "--client"),
    (["--images", "app", "http://127.0.0.1:1", "-t", "Pull"], "--images"),
    (["--images", "app", "http://127.0.0.1:1", "--upload", "put"], "--images"),
    (["--cold", "http://127.0.0.1:1"], "--images"),
])
def test_bad_input_is_one_line(plimsoll, tmp_path, options, words):
    (tmp_path / "list").write_text("app:1\napp:2 many\n")
    done = run(plimsoll, "bench", *options, cwd=tmp_path, check=2)
    assert len(done.stderr.splitlines()) == 1 and words in done.stderr, done.stderr


def test_images_of_another_registry_are_refused(plimsoll, docker_registry, tmp_path):
    registry = docker_registry()
    done = run(plimsoll, "bench", "--images", "other.example/app", registry.url, cwd=tmp_path, check=2)
    assert len(done.stderr.splitlines()) == 1 and "--ns other.example" in done.stderr
