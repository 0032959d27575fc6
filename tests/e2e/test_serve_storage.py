"""What was acknowledged is there, whole, whatever happens to the server."""
import http.client
import os
import random
import subprocess
import threading
import time

import pytest

from conftest import run
from serving import Client, Serving, digest_of, serve  # noqa: F401 (serve is a fixture)


class Pusher(threading.Thread):
    """Pushes images until the server is gone, and keeps what was acknowledged."""

    def __init__(self, port, number, seed):
        super().__init__(daemon=True)
        self.port, self.number, self.random = port, number, random.Random(seed)
        self.blobs, self.tags = [], {}

    def run(self):
        client = Client(self.port)
        try:
            for turn in range(100_000):
                repository = f"repo{self.random.randrange(4)}"
                layer = self.random.randbytes(self.random.choice([100, 5_000, 200_000, 2_000_000]))
                if self.random.random() < 0.3:
                    layer = b"shared by all" * 1000
                digest = client.push_blob(repository, layer)
                self.blobs.append((repository, digest))
                tag = f"t{self.number}-{turn}"
                manifest = client.push_image(repository, tag, layer)
                self.tags[repository, tag] = manifest
        except (OSError, http.client.HTTPException):
            pass


def check_all(port, blobs, tags, root):
    client = Client(port)
    for repository, digest in blobs:
        answer = client.call("GET", f"/v2/{repository}/blobs/{digest}")
        assert answer.status == 200 and digest_of(answer.content) == digest, f"{repository} {digest}: {answer.status}"
    for (repository, tag), manifest in tags.items():
        answer = client.call("GET", f"/v2/{repository}/manifests/{tag}")
        assert answer.status == 200 and answer.content == manifest, f"{repository}:{tag}: {answer.status}"
    # Nothing is there under a digest that it does not have.
    for folder, _, files in os.walk(root / ".plimsoll" / "content"):
        for file in files:
            with open(os.path.join(folder, file), "rb") as content:
                assert digest_of(content.read()) == f"sha256:{file}"
    assert os.listdir(root / ".plimsoll" / "uploads") == []


def test_acknowledged_pushes_survive_kill(plimsoll, tmp_path):
    """PLIMSOLL_KILLS says how often (200 by scripts); else as many as fit into 20 s."""
    kills = int(os.environ.get("PLIMSOLL_KILLS", "0"))
    until = time.monotonic() + 20
    chance = random.Random(4)
    root = tmp_path / "root"
    done = 0
    blobs, tags = [], {}
    while done < kills or (kills == 0 and time.monotonic() < until):
        server = Serving(plimsoll, ["--root", root, "--threads", "2"], tmp_path)
        pushers = [Pusher(server.port, f"{done}-{i}", done * 10 + i) for i in range(4)]
        for pusher in pushers:
            pusher.start()
        time.sleep(chance.uniform(0.02, 0.4))
        server.kill()
        for pusher in pushers:
            pusher.join(30)
            blobs += pusher.blobs
            tags.update(pusher.tags)
        done += 1
        check = Serving(plimsoll, ["--root", root], tmp_path)
        try:
            check_all(check.port, blobs, tags, root)
        finally:
            check.end()
        if done % 10 == 0:  # keep the directory small
            subprocess.run(["rm", "-rf", str(root)], check=True)
            blobs, tags = [], {}
    assert done >= max(kills, 3)


def test_the_same_blob_from_many_at_once(serve, tmp_path):
    server = serve("--root", tmp_path / "root", "--threads", "2")
    content = os.urandom(1_000_000)
    results = []

    def push(i):
        results.append(Client(server.port).push_blob(f"repo{i % 3}", content))

    threads = [threading.Thread(target=push, args=(i,)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert results == [digest_of(content)] * 16
    assert sum(len(files) for _, _, files in os.walk(tmp_path / "root" / ".plimsoll" / "content")) == 1


def test_a_full_disk_is_a_5xx_and_the_store_is_intact(serve, tmp_path):
    disk = tmp_path / "disk"
    disk.mkdir()
    if run("mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", disk).returncode != 0:
        pytest.skip("mounting a small file system is not allowed here")
    try:
        server = serve("--root", disk / "root")
        client = Client(server.port)
        kept = client.push_blob("kept", os.urandom(3_000_000))
        large = os.urandom(8_000_000)
        refused = server.request("POST", f"/v2/large/blobs/uploads/?digest={digest_of(large)}", large)
        assert refused.status == 507
        assert server.request("GET", f"/v2/kept/blobs/{kept}").status == 200
        client = Client(server.port)
        client.push_image("fits", "v1", os.urandom(1_000_000))
        server.end()
    finally:
        run("umount", "-l", disk, check=0)


def test_ten_thousand_tags_stay_linear(serve, tmp_path):
    server = serve("--root", tmp_path / "root")
    client = Client(server.port)
    client.push_image("many", "first", b"layer")
    manifest = client.call("GET", "/v2/many/manifests/first").content

    def push(begin, count):
        start = time.monotonic()
        for i in range(begin, begin + count):
            answer = client.call("PUT", f"/v2/many/manifests/t{i}", manifest,
                                 {"Content-Type": "application/vnd.oci.image.manifest.v1+json"})
            assert answer.status == 201
        return time.monotonic() - start

    early = push(0, 1000)
    push(1000, 8000)
    late = push(9000, 1000)
    assert late < early * 4 + 1, f"the last thousand took {late:.2f} s, the first {early:.2f} s"
    server.end()
    run("skopeo", "--insecure-policy", "inspect", "--raw", f"oci:{tmp_path}/root/many:t9999", check=0)


def test_fsync_and_upload_expiry(serve, tmp_path):
    server = serve("--root", tmp_path / "root", "--fsync", "--upload-expiry", "400ms")
    client = Client(server.port)
    client.push_image("app", "v1", b"layer")
    started = client.call("POST", "/v2/app/blobs/uploads/")
    url = started.headers["Location"]
    assert client.call("PATCH", url, b"some bytes").status == 202
    deadline = time.monotonic() + 10
    while Client(server.port).call("GET", url).status != 404 and time.monotonic() < deadline:
        time.sleep(0.1)
    assert os.listdir(tmp_path / "root" / ".plimsoll" / "uploads") == []


def test_memory_full_is_a_5xx(serve):
    server = serve("--memory", "1MB")
    content = os.urandom(2_000_000)
    answer = server.request("POST", f"/v2/a/blobs/uploads/?digest={digest_of(content)}", content)
    assert answer.status == 507
    Client(server.port).push_image("fits", "v1", b"layer")
