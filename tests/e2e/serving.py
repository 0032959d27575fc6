"""`plimsoll serve` as a fixture, and a small client of our own that shares no code with it."""
import contextlib
import hashlib
import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import threading

import pytest

from conftest import end

OCI_MANIFEST = "application/vnd.oci.image.manifest.v1+json"


class Serving:
    """A running server; its address is read from what it prints."""

    def __init__(self, program, options, cwd):
        self.process = subprocess.Popen([program, "serve", "--listen", "0", *map(str, options)], cwd=cwd, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        line = self.process.stdout.readline()
        found = re.search(r"listening on (https?)://127\.0\.0\.1:(\d+)", line)
        if not found:
            self.process.kill()
            raise AssertionError(f"it did not start: {line}{self.process.stderr.read()}")
        self.scheme, self.port = found[1], int(found[2])
        self.host = f"127.0.0.1:{self.port}"
        self.url = f"{self.scheme}://{self.host}"
        # What it prints later must not fill the pipe.
        self.lines = []
        self.reader = threading.Thread(target=self._read, daemon=True)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line)

    def request(self, method, path, body=None, headers=None):
        with contextlib.closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)) as connection:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            answer.content = answer.read()
            return answer

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)
        self.reader.join(10)
        self.process.stdout.close()
        self.process.stderr.close()

    def end(self):
        end(self.process)
        self.reader.join(10)
        self.process.stdout.close()
        self.process.stderr.close()


@pytest.fixture
def serve(plimsoll, tmp_path):
    """serve(*options) -> Serving"""
    running = []

    def start(*options):
        running.append(Serving(plimsoll, options, tmp_path))
        return running[-1]

    yield start
    for server in running:
        if server.process.returncode is None:
            server.end()


def digest_of(content, algorithm="sha256"):
    return f"{algorithm}:{hashlib.new(algorithm, content).hexdigest()}"


class Client:
    """One keep-alive connection that pushes and pulls."""

    def __init__(self, port):
        self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)

    def call(self, method, path, body=None, headers=None):
        self.connection.request(method, path, body, headers or {})
        answer = self.connection.getresponse()
        answer.content = answer.read()
        return answer

    def push_blob(self, repository, content):
        digest = digest_of(content)
        started = self.call("POST", f"/v2/{repository}/blobs/uploads/")
        assert started.status == 202, started.content
        location = started.headers["Location"]
        done = self.call("PUT", f"{location}{'&' if '?' in location else '?'}digest={digest}", content)
        assert done.status == 201, done.content
        return digest

    def push_image(self, repository, tag, layer):
        config = json.dumps({"architecture": "amd64", "os": "linux", "rootfs": {"type": "layers", "diff_ids": [digest_of(layer)]}}).encode()
        manifest = json.dumps({
            "schemaVersion": 2, "mediaType": OCI_MANIFEST,
            "config": {"mediaType": "application/vnd.oci.image.config.v1+json", "digest": self.push_blob(repository, config), "size": len(config)},
            "layers": [{"mediaType": "application/vnd.oci.image.layer.v1.tar", "digest": self.push_blob(repository, layer), "size": len(layer)}],
        }).encode()
        done = self.call("PUT", f"/v2/{repository}/manifests/{tag}", manifest, {"Content-Type": OCI_MANIFEST})
        assert done.status == 201, done.content
        return manifest


def tar_layer(folder, size):
    """A layer that image tools can unpack."""
    content = pathlib.Path(folder) / "content"
    content.write_bytes(os.urandom(size))
    return subprocess.run(["tar", "-C", str(folder), "-cf", "-", "content"], check=True, capture_output=True).stdout
